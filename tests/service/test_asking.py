"""Whom the service asks: lapses, absences, cases opened again, experts who join and retire."""

from __future__ import annotations

from tests.service.asking import HEART, error, pending, vote_on
from tests.service.conftest import Service


def test_a_lapsed_question_goes_to_the_next_and_to_nobody_twice(service: Service) -> None:
    service.create(min_votes=3)
    service.open("c1")
    asked = []
    while now := pending(service, "c1"):
        asked.append(now[0])
        assert service.ask("POST", f"{HEART}/cases/c1/expire", {"expert": now[0]}).status_code == 204
        error(service.ask("POST", f"{HEART}/cases/c1/expire", {"expert": now[0]}), 409, "conflict")
    assert sorted(asked) == ["ann", "ben", "cho"]
    found = service.case("c1")
    assert (found["line"]["state"], found["next"]["step"]) == ("open", "person")
    service.ask("POST", f"{HEART}/cases/c1/reopen", {"whole": True})
    assert len(pending(service, "c1")) == 1, "a manager may have them asked again"


def test_the_next_best_by_the_policy_is_asked(service: Service) -> None:
    service.create(experts=["ann", "ben", "cho", "dev"], costs={"ann": 4, "ben": 3, "cho": 2, "dev": 1})
    service.open("c1")
    found = service.case("c1")
    (first,) = found["pending"]
    asked = next(step for step in found["story"] if step["what"] == "asked")
    ranked = sorted(asked["gains"], key=lambda name: -asked["gains"][name])
    assert ranked[0] == first
    service.ask("POST", f"{HEART}/cases/c1/expire", {"expert": first})
    assert pending(service, "c1") == [ranked[1]]


def test_who_is_away_is_not_asked_and_leaves_an_empty_desk(service: Service) -> None:
    service.create(min_votes=3)
    service.open("c1")
    (first,) = pending(service, "c1")
    assert service.ask("PUT", f"{HEART}/experts/{first}/away", {"away": True}).json() == {"away": True}
    service.open("c2")
    assert service.ask("PUT", f"{HEART}/experts/{first}/away", {"away": True}).status_code == 200
    desk = service.get(f"{HEART}/experts/{first}/inbox")
    assert desk["away"]
    assert desk["questions"] == []
    assert pending(service, "c1") != [first]
    for key in ("c1", "c2"):
        assert first not in vote_on(service, key, "normal")
    assert service.case("c2")["line"]["state"] == "open", "it waits for its third vote"
    assert service.case("c1")["line"]["state"] == "open", "and so does the one that was asked about before"
    assert service.get(f"{HEART}/report")["waiting"] == 2
    service.ask("PUT", f"{HEART}/experts/{first}/away", {"away": False})
    assert pending(service, "c1") == pending(service, "c2") == [first]
    assert not service.get(f"{HEART}/experts/{first}/inbox")["away"]


def test_a_reopened_case_asks_the_whole_panel(service: Service) -> None:
    service.create(max_error=0.4)
    service.open("c1", p=0.9)
    asked = vote_on(service, "c1", "abnormal")
    assert len(asked) == 1
    error(service.ask("POST", f"{HEART}/cases/nope/reopen", {}), 404, "not_found")
    answer = service.ask("POST", f"{HEART}/cases/c1/reopen", {"whole": True})
    assert answer.json()["line"]["state"] == "open"
    error(service.ask("POST", f"{HEART}/cases/c1/reopen", {"whole": False}), 409, "conflict")
    later = vote_on(service, "c1", "normal")
    assert sorted([*asked, *later]) == ["ann", "ben", "cho"]
    found = service.case("c1")["line"]
    assert found["decision"]["outcome"] == "normal"
    assert found["decision"]["human_votes"] == 3
    assert not found["contradicted"]


def test_an_open_case_can_be_forced_on_the_whole_panel(service: Service) -> None:
    service.create(max_error=0.4)
    service.open("c1", p=0.9)
    assert service.ask("POST", f"{HEART}/cases/c1/reopen", {"whole": True}).status_code == 200
    assert sorted(vote_on(service, "c1", "abnormal")) == ["ann", "ben", "cho"]


def test_an_expert_who_retires_leaves_no_question_behind(service: Service) -> None:
    service.create(min_votes=3)
    service.open("c1")
    (first,) = pending(service, "c1")
    assert service.ask("DELETE", f"{HEART}/experts/{first}").status_code == 200
    assert sorted(vote_on(service, "c1", "normal")) == sorted({"ann", "ben", "cho"} - {first})
    service.join("gone", seats=(("heart", first),))
    away = service.ask("PUT", f"{HEART}/experts/{first}/away", {"away": True}, by="gone")
    said = error(away, 409, "conflict")
    assert not any(name in said for name in {"ann", "ben", "cho"} - {first})


def test_an_expert_who_joins_is_asked_about_new_cases(service: Service) -> None:
    service.create(min_votes=4, experts=["ann", "ben", "cho", "dev"])
    assert service.ask("POST", f"{HEART}/experts", {"name": "eve", "cost": 2}).status_code == 201
    error(service.ask("POST", f"{HEART}/experts", {"name": "eve"}), 409, "conflict")
    service.open("c1", available=["eve"])
    assert pending(service, "c1") == ["eve"]
    assert service.vote("c1", "eve", "normal").status_code == 200


def test_a_question_that_is_not_needed_any_more_did_not_lapse(service: Service) -> None:
    service.create(min_votes=2, in_flight=2, max_error=0.4)
    service.open("c1", p=0.9)
    asked = pending(service, "c1")
    (other,) = {"ann", "ben", "cho"} - {*asked}
    for name in (asked[0], other):
        service.vote("c1", name, "abnormal")
    found = service.case("c1")
    assert found["line"]["state"] == "settled"
    assert {one["expert"]: one["how"] for one in found["line"]["answers"]}[asked[1]] == "recalled"
    assert found["story"][-1]["said"] == f"the answer of {asked[1]} was not needed any more"
