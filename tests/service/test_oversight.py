"""Oversight over HTTP: audits, guards, and cases that a person must see."""

from __future__ import annotations

from tests.service.asking import HEART, error, pending, vote_on
from tests.service.conftest import Service


def test_where_everyone_abstains_a_person_is_needed(service: Service) -> None:
    service.create(min_votes=3)
    service.open("c1")
    for _ in range(3):
        (now,) = pending(service, "c1")
        service.ask("POST", f"{HEART}/cases/c1/abstentions", {"expert": now})
    found = service.case("c1")
    assert found["line"]["state"] == "open"
    assert found["next"]["step"] == "person"
    assert service.get(f"{HEART}/report")["needs_person"] == 1
    assert service.ask("POST", f"{HEART}/experts", {"name": "dan"}).status_code == 201
    assert pending(service, "c1") == [], "the panel of a case is the one it came to"
    service.vote("c1", now, "normal")
    found = service.case("c1")["line"]
    assert found["state"] == "settled"
    assert found["decision"]["human_votes"] == 1


def test_where_no_person_is_needed_a_case_ends_though_everyone_abstains(service: Service) -> None:
    service.create(min_votes=0, no_human_accepted=True, max_error=0.0)
    service.open("c1")
    for _ in range(3):
        (now,) = pending(service, "c1")
        service.ask("POST", f"{HEART}/cases/c1/abstentions", {"expert": now})
    found = service.case("c1")["line"]
    assert found["state"] == "settled"
    assert found["decision"]["no_human"]
    assert found["decision"]["reason"] == "nobody left"
    assert not found["decision"]["kept"]


def test_an_audited_case_goes_on_to_the_whole_panel(service: Service) -> None:
    service.create(max_error=0.4, audit_share=1)
    service.open("c1", "c2", p=0.9)
    (first,) = pending(service, "c1")
    service.vote("c1", first, "abnormal")
    found = service.case("c1")
    assert found["would_be"]["outcome"] == "abnormal"
    assert found["would_be"]["human_votes"] == 1
    assert found["line"]["state"] == "open"
    assert service.get(f"{HEART}/report")["under_audit"] == 1
    vote_on(service, "c1", "normal")
    vote_on(service, "c2", "abnormal")
    assert service.case("c1")["line"]["decision"]["outcome"] == "normal"
    assert service.case("c1")["would_be"]["outcome"] == "abnormal"
    report = service.get(f"{HEART}/report")
    assert report["under_audit"] == 0
    assert report["audit"]["cases"] == 2
    assert report["audit"]["errors"] == 1
    assert report["audit"]["rate"] == 0.5
    assert report["audit"]["low"] < 0.5 < report["audit"]["high"]
    assert report["stated_error"] is not None


def test_experts_cannot_tell_an_audited_case(service: Service) -> None:
    service.create(max_error=0.4, audit_share=1)
    service.open("c1")
    (first,) = pending(service, "c1")
    (question,) = service.get(f"{HEART}/experts/{first}/inbox")["questions"]
    assert question.keys() == {"study", "case", "expert", "classes", "show", "until"}


def test_a_guard_calls_for_more_votes_where_a_case_looks_grave(service: Service) -> None:
    service.create(max_error=0.4, guards=[{"class": "abnormal", "above": 0.3, "votes": 3}])
    service.open("grave", p=0.9)
    service.open("plain", p=0.1)
    assert len(vote_on(service, "grave", "abnormal")) == 3
    assert len(vote_on(service, "plain", "normal")) == 1


def test_no_human_at_all_must_be_chosen_knowingly(service: Service) -> None:
    study = {"name": "bold", "classes": ["a", "b"], "experts": ["ann"], "min_votes": 0, "max_error": 0.4}
    assert "no_human_accepted" in error(service.ask("POST", "/api/studies", study), 422, "invalid")
    accepted = study | {"no_human_accepted": True, "audit_share": 0}
    assert service.ask("POST", "/api/studies", accepted).status_code == 201
    body = {"key": "c1", "probabilities": {"classifier": [0.01, 0.99]}}
    assert service.ask("POST", "/api/studies/bold/cases", body).json() == {"opened": ["c1"], "known": []}
    decision = service.case("c1", "bold")["line"]["decision"]
    assert decision["human_votes"] == 0
    assert decision["no_human"] is True
    assert service.get("/api/studies/bold/report")["no_human"] == 1


def test_a_case_that_everyone_was_asked_about_before_is_no_audit(service: Service) -> None:
    service.create(audit_share=1.0)
    service.open("c1")
    service.ask("POST", f"{HEART}/cases/c1/reopen", {"whole": True})
    vote_on(service, "c1", "normal")
    assert service.case("c1")["line"]["state"] == "settled"
    assert service.case("c1")["would_be"] is None
    assert service.get(f"{HEART}/report")["audit"]["cases"] == 0


def test_a_report_does_not_tell_which_case_is_drawn(service: Service) -> None:
    service.create(audit_share=1.0, min_votes=2)
    service.open("c1")
    assert service.get(f"{HEART}/report")["under_audit"] == 0


def test_a_budget_is_accepted_knowingly(service: Service) -> None:
    body = {"name": "dear", "classes": ["a", "b"], "experts": ["ann", "ben"], "budget": 1}
    message = error(service.ask("POST", "/api/studies", body), 422, "invalid")
    assert "no person has seen" in message
    assert service.ask("POST", "/api/studies", {**body, "no_human_accepted": True}).status_code == 201


def test_money_that_is_promised_to_others_may_come_back(service: Service) -> None:
    service.create(experts=["ann", "ben"], budget=1, no_human_accepted=True)
    service.open("c1")
    service.open("c2")
    (first,) = pending(service, "c1")
    found = service.case("c2")
    assert (found["line"]["state"], found["next"]["step"], found["next"]["reason"]) == ("open", "wait", "budget")
    service.ask("POST", f"{HEART}/cases/c1/abstentions", {"expert": first})
    asked = [*pending(service, "c1"), *pending(service, "c2")]
    assert len(asked) == 1, "one coin, one question"
    for key in ("c1", "c2"):
        vote_on(service, key, "normal")
    for key in ("c1", "c2"):
        assert service.case(key)["line"]["state"] == "settled"


def test_a_vote_that_is_refused_lets_a_case_go_on_waiting_for_money(service: Service) -> None:
    service.create(experts=["ann", "ben"], budget=1, no_human_accepted=True)
    service.open("c1")
    service.open("c2")
    (first,) = pending(service, "c1")
    refused = service.ask("POST", f"{HEART}/cases/c2/votes", {"expert": first, "vote": "purple"})
    assert "purple" in error(refused, 422, "invalid")
    service.ask("POST", f"{HEART}/cases/c1/votes", {"expert": first, "vote": "normal"})
    for key in ("c1", "c2"):
        assert service.case(key)["line"]["state"] == "settled", key


def test_a_case_that_everyone_let_pass_can_be_asked_again_for_a_vote(service: Service) -> None:
    service.create()
    service.open("c1")
    while now := pending(service, "c1"):
        service.ask("POST", f"{HEART}/cases/c1/expire", {"expert": now[0]})
    assert service.case("c1")["next"]["step"] == "person"
    assert service.ask("POST", f"{HEART}/cases/c1/reopen", {"whole": False}).status_code == 200
    assert len(pending(service, "c1")) == 1
    refused = service.ask("POST", f"{HEART}/cases/c1/reopen", {"whole": False})
    assert "whole panel" in error(refused, 409, "conflict")
