"""What a case's story says of votes and questions that somebody else had a hand in."""

from __future__ import annotations

import pytest

from quorate.storage import studies
from quorate.study.events import Voted
from tests.service.asking import HEART, error, pending, vote_on
from tests.service.conftest import Service


@pytest.fixture
def staffed(service: Service) -> Service:
    """A study in which one case is asked of ann alone; mia manages, boss may do everything, ann has her seat."""
    service.create()
    service.join("boss", "admin")
    service.join("mia", "manager")
    service.join("anna", seats=(("heart", "ann"),))
    service.open("c1", available=["ann"])
    return service


def told(service: Service, what: str, key: str = "c1") -> tuple[str, str | None]:
    """The last step of a kind in a case's story, and who is behind it."""
    step = [one for one in service.case(key)["story"] if one["what"] == what][-1]
    return step["said"], step["by"]


def test_a_vote_that_was_cast_changed_and_taken_back_by_others_says_so(staffed: Service) -> None:
    assert staffed.vote("c1", "ann", "normal", by="boss").status_code == 200
    assert told(staffed, "voted") == ("boss voted normal for ann", "boss")
    assert staffed.vote("c1", "ann", "abnormal", by="mia", amend=True).status_code == 200
    assert told(staffed, "amended") == ("ann's vote was changed to abnormal by mia", "mia")
    assert told(staffed, "reopened") == ("reopened by mia", "mia"), "it had settled with that vote"
    assert staffed.ask("DELETE", f"{HEART}/cases/c1/votes/ann", by="mia").status_code == 204
    assert told(staffed, "withdrawn") == ("ann's vote was taken back by mia", "mia")


def test_what_an_expert_does_is_their_own(staffed: Service) -> None:
    assert staffed.vote("c1", "ann", "normal", by="anna").status_code == 200
    assert told(staffed, "voted") == ("ann voted normal", None)
    assert staffed.vote("c1", "ann", "abnormal", by="anna", amend=True).status_code == 200
    assert told(staffed, "amended") == ("ann changed the vote to abnormal", None)
    assert told(staffed, "reopened") == ("reopened", None)
    assert staffed.ask("DELETE", f"{HEART}/cases/c1/votes/ann", by="anna").status_code == 204
    assert told(staffed, "withdrawn") == ("ann took the vote back", None)
    assert staffed.ask("POST", f"{HEART}/cases/c1/abstentions", {"expert": "ann"}, by="anna").status_code == 200
    assert told(staffed, "abstained") == ("ann could not tell", None)


def test_an_abstention_for_another_says_so(staffed: Service) -> None:
    assert staffed.ask("POST", f"{HEART}/cases/c1/abstentions", {"expert": "ann"}, by="boss").status_code == 200
    assert told(staffed, "abstained") == ("boss abstained for ann", "boss")


def test_a_question_that_was_taken_back_did_not_lapse(staffed: Service) -> None:
    assert staffed.ask("POST", f"{HEART}/cases/c1/expire", {"expert": "ann"}, by="mia").status_code == 204
    assert told(staffed, "passed") == ("the question to ann was taken back by mia", "mia")
    staffed.open("c2", available=["ann"])
    live = staffed.hall.study("heart")
    live.clock = lambda: 1e12
    live.tick()
    assert told(staffed, "passed", "c2") == ("the question to ann lapsed", None)


@pytest.mark.parametrize(
    ("by", "said"),
    [("mia", ("the question to ann was taken back by mia", "mia")), ("anna", ("the question to ann lapsed", None))],
)
def test_a_desk_that_is_emptied_says_by_whom(staffed: Service, by: str, said: tuple[str, str | None]) -> None:
    assert staffed.ask("PUT", f"{HEART}/experts/ann/away", {"away": True}, by=by).status_code == 200
    assert told(staffed, "passed") == said


@pytest.mark.parametrize(("whole", "said"), [(False, "reopened by mia"), (True, "reopened by mia for the whole panel")])
def test_a_case_that_was_reopened_says_by_whom(service: Service, whole: bool, said: str) -> None:
    service.create(max_error=0.4)
    service.join("mia", "manager")
    service.open("c1", p=0.9)
    vote_on(service, "c1", "abnormal")
    assert service.ask("POST", f"{HEART}/cases/c1/reopen", {"whole": whole}, by="mia").status_code == 200
    assert told(service, "reopened") == (said, "mia")


def test_the_journal_holds_it_and_comes_to_the_same_study(staffed: Service) -> None:
    staffed.vote("c1", "ann", "normal", by="boss")
    live = staffed.hall.study("heart")
    assert live.stored.db.verify() == []
    assert Voted("c1", 0, 0, by="boss") in list(live.stored.journal)
    again = studies.load(live.stored.db, "heart").study
    assert again.state.known("c1") == live.study.state.known("c1")


def test_an_expert_who_is_asked_again_learns_nothing_of_it(staffed: Service) -> None:
    staffed.vote("c1", "ann", "normal", by="boss")
    staffed.ask("DELETE", f"{HEART}/cases/c1/votes/ann", by="mia")
    staffed.ask("POST", f"{HEART}/cases/c1/reopen", {"whole": True}, by="mia")
    assert pending(staffed, "c1") == ["ann"]
    error(staffed.ask("GET", f"{HEART}/cases/c1", by="anna"), 403, "forbidden")
    desk = staffed.ask("GET", f"{HEART}/experts/ann/inbox", by="anna").text
    assert "mia" not in desk
    assert "boss" not in desk
