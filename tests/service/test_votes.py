"""Votes over HTTP: what each of them changes, and what is refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.service.asking import HEART, error, pending, vote_on
from tests.service.conftest import Service


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


def test_a_seat_may_vote_late_though_it_was_away_or_not_needed(service: Service) -> None:
    service.create(min_votes=2, in_flight=2, max_error=0.4)
    service.open("c1", p=0.9)
    first, second = pending(service, "c1")
    service.ask("PUT", f"{HEART}/experts/{first}/away", {"away": True})
    (third,) = {*pending(service, "c1")} - {second}
    service.ask("PUT", f"{HEART}/experts/{first}/away", {"away": False})
    for name in (second, third):
        service.vote("c1", name, "abnormal")
    assert service.case("c1")["line"]["state"] == "settled"
    service.join(first, seats=(("heart", first),))
    assert service.vote("c1", first, "normal", by=first).status_code == 200
    assert service.case("c1")["votes"][first] == "normal"

    service.open("c2", p=0.9)
    fast, slow = pending(service, "c2")
    service.ask("POST", f"{HEART}/cases/c2/votes", {"expert": fast, "vote": "abnormal"})
    (other,) = {"ann", "ben", "cho"} - {fast, slow}
    service.vote("c2", other, "abnormal")
    assert service.case("c2")["line"]["state"] == "settled"
    service.join(f"seat-of-{slow}", seats=(("heart", slow),))
    assert service.vote("c2", slow, "normal", by=f"seat-of-{slow}").status_code == 200


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


def test_a_vote_after_the_question_lapsed_is_welcome(service: Service) -> None:
    service.create(min_votes=3)
    service.open("c1")
    (first,) = pending(service, "c1")
    service.join(first, seats=(("heart", first),))
    service.ask("POST", f"{HEART}/cases/c1/expire", {"expert": first})
    assert service.vote("c1", first, "normal", by=first).status_code == 200
    assert service.case("c1")["votes"] == {first: "normal"}


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
