"""Votes over HTTP: what each of them changes, and what is refused."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from quorate.storage import studies
from tests.service.conftest import ADDRESS, Service, serving

HEART = "/api/studies/heart"


def pending(service: Service, key: str) -> list[str]:
    found = service.case(key)["pending"]
    assert isinstance(found, list)
    return found


def vote_on(service: Service, key: str, vote: str) -> list[str]:
    """Answer every question about a case until it settles; gives who was asked, in order."""
    asked = []
    while now := pending(service, key):
        asked.append(now[0])
        assert service.vote(key, now[0], vote).status_code == 200
    return asked


def error(response: Any, status: int, code: str) -> str:
    """The message of an error of the one shape."""
    assert response.status_code == status, response.text
    body = response.json()
    assert body.keys() == {"error"}
    assert {"code", "message", "field"} <= body["error"].keys()
    assert body["error"]["code"] == code
    return str(body["error"]["message"])


def test_the_same_vote_twice_is_one_vote(service: Service) -> None:
    live = service.create(min_votes=3)
    service.open("c1")
    (first,) = pending(service, "c1")
    assert service.vote("c1", first, "normal").status_code == 200
    events = live.study.state.events
    assert service.vote("c1", first, "normal").status_code == 200
    assert live.study.state.events == events
    assert service.case("c1")["votes"] == {first: "normal"}


def test_another_vote_needs_amend_and_the_forecast_follows(service: Service) -> None:
    service.create(min_votes=3)
    service.open("c1")
    (first,) = pending(service, "c1")
    service.vote("c1", first, "normal")
    said = service.case("c1")["forecast"]["probabilities"]["normal"]
    assert "amend" in error(service.vote("c1", first, "abnormal"), 409, "conflict")
    assert service.case("c1")["votes"] == {first: "normal"}
    assert service.vote("c1", first, "abnormal", amend=True).status_code == 200
    assert service.case("c1")["votes"] == {first: "abnormal"}
    assert service.case("c1")["forecast"]["probabilities"]["normal"] < said


def test_a_withdrawn_vote_is_as_if_it_never_was_and_may_be_asked_for_again(service: Service) -> None:
    service.create(min_votes=3)
    service.open("c1")
    before = service.case("c1")["forecast"]["probabilities"]
    (first,) = pending(service, "c1")
    service.vote("c1", first, "abnormal")
    assert service.case("c1")["forecast"]["probabilities"] != before
    assert service.ask("DELETE", f"{HEART}/cases/c1/votes/{first}").status_code == 204
    assert service.case("c1")["votes"] == {}
    assert service.case("c1")["forecast"]["probabilities"] == pytest.approx(before)
    error(service.ask("DELETE", f"{HEART}/cases/c1/votes/{first}"), 404, "not_found")
    assert sorted(vote_on(service, "c1", "normal")) == ["ann", "ben", "cho"]


def test_a_case_settles_and_says_with_how_many_votes(service: Service) -> None:
    service.create()
    service.open("c1", p=0.9)
    asked = vote_on(service, "c1", "abnormal")
    line = service.case("c1")["line"]
    assert line["state"] == "settled"
    assert line["decision"]["outcome"] == "abnormal"
    assert line["decision"]["human_votes"] == len(asked) >= 1
    assert not line["decision"]["no_human"]
    assert line["decision"]["stated_error"] <= 0.05
    assert [one["expert"] for one in line["answers"]] == asked


def test_a_late_vote_is_kept_and_changes_no_outcome(service: Service) -> None:
    service.create(max_error=0.4)
    service.open("c1", p=0.9)
    asked = vote_on(service, "c1", "abnormal")
    late = [name for name in ("ann", "ben", "cho") if name not in asked]
    assert len(late) == 2, "one vote must be enough here"
    for name in late:
        assert service.vote("c1", name, "normal").status_code == 200
    found = service.case("c1")
    assert found["line"]["state"] == "settled"
    assert found["line"]["decision"]["outcome"] == "abnormal"
    assert found["line"]["decision"]["human_votes"] == 1
    assert found["line"]["contradicted"], "two of three voted otherwise"
    assert len(found["votes"]) == 3


def test_a_seat_may_vote_late_where_it_was_asked(service: Service) -> None:
    service.create(max_error=0.4)
    service.open("c1", p=0.9)
    (lapsed,) = pending(service, "c1")
    service.ask("POST", f"{HEART}/cases/c1/expire", {"expert": lapsed})
    voted = vote_on(service, "c1", "abnormal")
    assert service.case("c1")["line"]["state"] == "settled"
    (never,) = {"ann", "ben", "cho"} - {lapsed, *voted}
    for name in (lapsed, never):
        service.join(name, seats=(("heart", name),))
    assert service.vote("c1", lapsed, "normal", by=lapsed).status_code == 200
    assert service.vote("c1", never, "normal", by=never).status_code == 403, "as on any case they were not asked about"
    assert set(service.case("c1")["votes"]) == {lapsed, *voted}


def test_a_vote_that_nobody_asked_for_is_refused(service: Service) -> None:
    service.create(min_votes=3)
    service.open("c1")
    (first,) = pending(service, "c1")
    unasked = next(name for name in ("ann", "ben", "cho") if name != first)
    service.join(unasked, seats=(("heart", unasked),))
    assert "not asked" in error(service.vote("c1", unasked, "normal", by=unasked), 403, "forbidden")
    path = f"{HEART}/cases/c1/abstentions"
    error(service.ask("POST", path, {"expert": unasked}, by=unasked), 403, "forbidden")
    assert service.case("c1")["votes"] == {}


def test_who_abstains_leaves_the_panel_of_the_case(service: Service) -> None:
    service.create(min_votes=3)
    service.open("c1")
    (first,) = pending(service, "c1")
    path = f"{HEART}/cases/c1/abstentions"
    answer = service.ask("POST", path, {"expert": first})
    assert answer.status_code == 200
    assert answer.json()["vote"] is None
    assert service.ask("POST", path, {"expert": first}).status_code == 200, "twice is once"
    others = vote_on(service, "c1", "normal")
    assert sorted([first, *others]) == ["ann", "ben", "cho"]
    found = service.case("c1")
    assert found["line"]["decision"]["human_votes"] == 2
    assert [one["how"] for one in found["line"]["answers"]] == ["abstained", "voted", "voted"]
    error(service.ask("POST", path, {"expert": others[0]}), 409, "conflict")


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


def test_a_vote_by_mistake_does_not_decide(service: Service) -> None:
    service.create(max_error=0.4)
    service.open("c1", p=0.6)
    (first,) = pending(service, "c1")
    service.join(first, seats=(("heart", first),))
    service.vote("c1", first, "abnormal", by=first)
    assert service.case("c1")["line"]["decision"]["outcome"] == "abnormal"
    assert service.ask("DELETE", f"{HEART}/cases/c1/votes/{first}", by=first).status_code == 204
    assert service.case("c1")["line"]["state"] == "open", "what it settled with is gone"
    assert pending(service, "c1") == [first], "who is asked again"
    service.vote("c1", first, "normal", by=first)
    found = service.case("c1")["line"]
    assert found["decision"]["outcome"] == "normal"
    assert (
        service.ask(
            "POST", f"{HEART}/cases/c1/votes", {"expert": first, "vote": "abnormal", "amend": True}, by=first
        ).status_code
        == 200
    )
    again = service.case("c1")["line"]
    assert again["decision"]["outcome"] == "abnormal", "and so with a vote that is changed"
    assert not again["contradicted"]


def test_a_late_vote_that_is_changed_opens_nothing(service: Service) -> None:
    service.create(max_error=0.4)
    service.open("c1", p=0.9)
    asked = vote_on(service, "c1", "abnormal")
    late = next(name for name in ("ann", "ben", "cho") if name not in asked)
    service.vote("c1", late, "normal")
    service.ask("DELETE", f"{HEART}/cases/c1/votes/{late}")
    assert service.case("c1")["line"]["state"] == "settled"


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


def test_a_vote_after_the_question_lapsed_is_welcome(service: Service) -> None:
    service.create(min_votes=3)
    service.open("c1")
    (first,) = pending(service, "c1")
    service.join(first, seats=(("heart", first),))
    service.ask("POST", f"{HEART}/cases/c1/expire", {"expert": first})
    assert service.vote("c1", first, "normal", by=first).status_code == 200
    assert service.case("c1")["votes"] == {first: "normal"}


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


def test_an_audited_case_goes_on_to_the_whole_panel(service: Service) -> None:
    service.create(max_error=0.4, audit_share=1)
    service.open("c1", "c2", p=0.9)
    (first,) = pending(service, "c1")
    service.vote("c1", first, "abnormal")
    found = service.case("c1")
    assert found["would_be"]["outcome"] == "abnormal"
    assert found["would_be"]["human_votes"] == 1
    assert found["line"]["state"] == "open"
    assert service.get(f"{HEART}/report")["under_audit"] == 2
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


def test_opening_twice_is_opening_once(service: Service) -> None:
    live = service.create()
    case = {"key": "c1", "probabilities": {"net": [0.3, 0.7]}}
    path = f"{HEART}/cases"
    assert service.ask("POST", path, case).json() == {"opened": ["c1"], "known": []}
    events = live.study.state.events
    assert service.ask("POST", path, {"cases": [case, case]}).json() == {"opened": [], "known": ["c1", "c1"]}
    assert live.study.state.events == events
    other = {"key": "c1", "probabilities": {"net": [0.6, 0.4]}}
    new = {"key": "c2", "probabilities": {"net": [0.6, 0.4]}}
    error(service.ask("POST", path, {"cases": [new, other]}), 409, "conflict")
    error(service.ask("GET", f"{path}/c2"), 404, "not_found")


def test_past_votes_come_in_whole_or_not_at_all_with_a_report_of_each_row(service: Service) -> None:
    service.create()
    service.open("c1")
    path = f"{HEART}/import"
    bad = "item,ann,ben,p_0,p_1\na,normal,purple,.3,.7\nb,normal,,.3,.3\nc,normal,,.3,.7\n"
    response = service.ask("POST", path, content=bad)
    error(response, 422, "table")
    assert [problem["row"] for problem in response.json()["error"]["problems"]] == [1, 2]
    assert service.get(f"{HEART}/cases")["items"][-1]["key"] == "c1"
    known = "item,ann,ben,p_0,p_1\nc1,normal,,.3,.7\na/b,normal,,.3,.7\n..,normal,,.3,.7\n"
    response = service.ask("POST", path, content=known)
    assert [problem["row"] for problem in response.json()["error"]["problems"]] == [1, 2, 3]
    good = "item,ann,ben,p_0,p_1\na,normal,abnormal,.3,.7\nb,abnormal,,.3,.7\n"
    assert service.ask("POST", path, content=good).json() == {"cases": 2, "votes": 3}
    assert service.case("a")["votes"] == {"ann": "normal", "ben": "abnormal"}
    assert service.get(f"{HEART}/cases", state="imported")["items"][0]["key"] == "a"
    error(service.ask("POST", f"{HEART}/cases/a/reopen", {}), 409, "conflict")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"item\n", b"a,a\n1,2\n", b"\x00" * 50, b'{"item": 1}'])
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_a_broken_table_is_reported(shared: Service, content: bytes, kind: str) -> None:
    error(shared.ask("POST", f"{HEART}/import", content=content, params={"format": kind}), 422, "table")


def test_every_case_is_exported(service: Service) -> None:
    service.create(max_error=0.4)
    service.open("=1+1", 'ü, "x"', p=0.9)
    asked = vote_on(service, quote("=1+1"), "abnormal")
    response = service.ask("GET", f"{HEART}/export")
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert [row["case"] for row in rows] == ["'=1+1", 'ü, "x"'], "a spreadsheet must not take a key for a formula"
    assert rows[0]["outcome"] == "abnormal"
    assert rows[0]["human_votes"] == "1"
    assert rows[0]["asked"] == rows[0]["voted"] == asked[0]
    assert rows[0]["stopped"] == "sure"
    assert rows[1]["state"] == "open"
    lines = service.ask("GET", f"{HEART}/export", params={"format": "jsonl"}).text.splitlines()
    told = [json.loads(line) for line in lines]
    assert [one["case"] for one in told] == ["=1+1", 'ü, "x"']
    assert told[0]["low"] <= told[0]["probability"] <= told[0]["high"]


def test_cases_come_in_pages(service: Service) -> None:
    service.create()
    keys = [f"c{number}" for number in range(7)]
    service.open(*keys)
    seen, after = [], 0
    while after is not None:
        page = service.get(f"{HEART}/cases", after=after, limit=3)
        seen += [line["key"] for line in page["items"]]
        after = page["next"]
    assert seen == keys
    vote_on(service, "c3", "normal")
    assert [line["key"] for line in service.get(f"{HEART}/cases", state="settled")["items"]] == ["c3"]
    for bad in ({"limit": 0}, {"limit": 1001}, {"after": -1}, {"state": "lost"}):
        error(service.ask("GET", f"{HEART}/cases", params=bad), 422, "invalid")


def test_a_deleted_study_is_gone_at_once_and_its_name_is_free(service: Service) -> None:
    service.create()
    service.open("c1")
    (first,) = pending(service, "c1")
    assert service.ask("DELETE", HEART).status_code == 204
    assert "sqlite" not in error(service.ask("DELETE", HEART), 404, "not_found")
    error(service.vote("c1", first, "normal"), 404, "not_found")
    error(service.ask("GET", f"{HEART}/cases"), 404, "not_found")
    assert service.get("/api/studies") == []
    service.create()
    assert service.get(f"{HEART}/cases")["items"] == []


def test_a_name_that_is_taken_is_refused_without_the_address_of_the_database(service: Service) -> None:
    service.create()
    study = {"name": "heart", "classes": ["a", "b"], "experts": ["ann"]}
    assert "sqlite" not in error(service.ask("POST", "/api/studies", study), 409, "conflict")


ODD = ["ü 1", "a b", "?x=1", "#x", "a&b=c", "+", "a;b", "日本語", "🫀", "\u202eabc", "'--", '"><b>', "...", "x" * 200]


@pytest.mark.parametrize("key", ODD)
def test_odd_keys_work_everywhere(shared: Service, key: str) -> None:
    shared.open(key)
    path = f"{HEART}/cases/{quote(key, safe='')}"
    found = shared.get(path)
    assert found["line"]["key"] == key
    while now := shared.get(path)["pending"]:
        answer = shared.ask("POST", f"{path}/votes", {"expert": now[0], "vote": "normal"})
        assert answer.status_code == 200, answer.text
        assert answer.json()["case"] == key
    assert shared.get(path)["line"]["state"] == "settled"
    lines = shared.ask("GET", f"{HEART}/export", params={"format": "jsonl"}).text.split("\n")
    assert key in [json.loads(line)["case"] for line in lines if line]


@pytest.mark.parametrize("key", ["%2F", "%252e", "100%"])
def test_a_key_is_decoded_once(shared: Service, key: str) -> None:
    shared.open(key)

    async def look() -> int:  # the test client decodes an address twice, servers do not
        transport = httpx2.ASGITransport(app=shared.app)
        async with httpx2.AsyncClient(transport=transport, base_url=ADDRESS) as client:
            path = f"{HEART}/cases/{quote(key, safe='')}"
            found = await client.get(path, headers={"Authorization": f"Bearer {shared.tokens['root']}"})
            assert found.json()["line"]["key"] == key
            return found.status_code

    assert asyncio.run(look()) == 200


@pytest.mark.parametrize("key", ["", ".", "..", "a/b", "a\x00b", "a\nb", "\x7f", "x" * 201, "\ud800"])
def test_keys_that_have_no_address_are_refused(shared: Service, key: str) -> None:
    body = json.dumps({"key": key, "probabilities": {}})
    response = shared.ask("POST", f"{HEART}/cases", content=body)
    assert error(response, 422, "invalid")


STRANGE = ["%00", "a%00b", "%ff", "%2F", "a%2Fb", "%0a", "x" * 300, "%F0%9F", "%ED%A0%80"]


def check_nowhere(service: Service, part: str) -> None:
    """Whatever is done at an address that nothing has, it is not there."""
    vote = {"expert": "ann", "vote": "normal"}
    requests: list[tuple[str, str, object]] = [
        ("GET", f"/api/studies/{part}", None),
        ("DELETE", f"/api/studies/{part}", None),
        ("GET", f"{HEART}/cases/{part}", None),
        ("POST", f"{HEART}/cases/{part}/votes", vote),
        ("DELETE", f"{HEART}/cases/{part}/votes/ann", None),
        ("POST", f"{HEART}/cases/{part}/reopen", {}),
        ("GET", f"{HEART}/experts/{part}/inbox", None),
        ("DELETE", f"{HEART}/experts/{part}", None),
        ("PUT", f"/api/users/1/seats/{part}/ann", None),
        ("PUT", f"/api/users/1/seats/heart/{part}", None),
        ("DELETE", f"/api/users/1/seats/{part}/ann", None),
    ]
    for method, path, body in requests:
        assert service.ask(method, path, body).status_code in (307, 404, 405, 422), (method, path)


@pytest.mark.parametrize("part", STRANGE)
def test_odd_addresses_lead_nowhere(shared: Service, part: str) -> None:
    check_nowhere(shared, part)


def test_odd_addresses_lead_nowhere_in_postgresql_either(postgres_url: str) -> None:
    with serving(postgres_url) as service:
        service.create()
        for part in STRANGE:
            check_nowhere(service, part)
        service.open("\u00fc \U0001fac0")
        (line,) = service.get(f"{HEART}/cases")["items"]
        assert line["key"] == "\u00fc \U0001fac0"


def test_the_same_vote_from_many_threads_is_one(service: Service) -> None:
    live = service.create(min_votes=3)
    service.open("c1")
    (first,) = pending(service, "c1")

    def once(number: int) -> int:
        return int(service.vote("c1", first, ("normal", "abnormal")[number % 2]).status_code)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(once, range(16)))
    assert sorted(set(answers)) == [200, 409], "one of the two votes was first, the other needs amend"
    assert answers.count(200) == 8
    told = [step for step in service.case("c1")["story"] if step["what"] == "voted"]
    assert len(told) == 1
    assert live.stored.db.verify() == []


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


def test_a_study_that_another_program_deleted_is_not_found(service: Service) -> None:
    service.create(min_votes=3)
    service.open("c1")
    (first,) = pending(service, "c1")
    studies.delete(service.hall.db, "heart")
    for path in ("", "/cases", "/cases/c1", f"/experts/{first}/inbox", "/report", "/export"):
        assert service.ask("GET", f"{HEART}{path}").status_code in (200, 404), path
    error(service.vote("c1", first, "normal"), 404, "not_found")
