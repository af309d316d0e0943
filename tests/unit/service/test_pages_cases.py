"""Cases as pages, and what a manager does to them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from quorate.service.live import LiveStudy
from quorate.service.pages_cases import PAGE
from quorate.study.events import Away
from tests.unit.service.visitors import House, Visitor, arrival, house


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("house")) as found:
        yield found


@pytest.fixture
def live(place: House) -> LiveStudy:
    return place.study()


@pytest.fixture
def manager(place: House) -> Visitor:
    return place.visitor("mia", "manager")


def votes_of(live: LiveStudy, key: str) -> dict[str, str]:
    return live.read(
        lambda study: {study.panel.experts[h]: study.panel.classes[vote] for h, vote in study.state.known(key).votes}
    )


def test_cases_are_listed_the_newest_first_page_by_page(live: LiveStudy, manager: Visitor) -> None:
    live.open([arrival(f"film-{number:03}", "ann") for number in range(1, PAGE + 11)])
    first = manager.page("/studies/heart/cases")
    assert f"film-{PAGE + 10:03}" in first
    assert "film-011" in first
    assert "film-010" not in first
    assert "?state=&amp;before=11" in first
    second = manager.page("/studies/heart/cases?state=&before=11")
    assert "film-010" in second
    assert "film-011" not in second


def test_cases_are_found_by_state_and_by_a_part_of_their_key(live: LiveStudy, manager: Visitor) -> None:
    live.open([arrival("Apple", "ann"), arrival("pear", "ann"), arrival("ap", "ann")])
    live.vote("pear", "ann", "normal")
    assert "pear" not in manager.page("/studies/heart/cases?state=open")
    assert "Apple" not in manager.page("/studies/heart/cases?state=settled")
    found = manager.page("/studies/heart/cases?key=ap")
    assert found.index(">ap<") < found.index(">Apple<")
    assert ">pear<" not in found
    assert "No case holds" in manager.page("/studies/heart/cases?key=plum")


def test_a_case_tells_its_story_with_the_gain_of_every_candidate(live: LiveStudy, manager: Visitor) -> None:
    live.open([arrival("film")])
    page = manager.page("/studies/heart/cases/film")
    (asked,) = live.read(lambda study: study.pending("film"))
    assert f"Why {asked}" in page
    for expert in ("ann", "ben", "cho"):
        assert f"<dt>{expert}</dt>" in page or f'<dt class="chosen">{expert} <span' in page
    assert "What the panel will decide" in page
    assert "How those who have not voted would vote" in page
    assert "Take the question back" in page
    assert page.count("<rect") >= 10
    assert "film" in manager.page("/studies/heart/cases/film/parts")


def test_a_case_without_any_vote_says_that_no_expert_saw_it(place: House, manager: Visitor) -> None:
    live = place.study("alone", min_votes=0, max_error=0.5)
    live.open([arrival("film", p=0.01)])
    assert "No expert saw this case" in manager.page("/studies/alone/cases/film")
    assert "no expert saw this case" in manager.page("/studies/alone/cases")
    assert "no expert saw this case" in manager.page("/studies/alone")
    live.vote("film", "ann", "normal")  # late
    assert "No expert saw this case" in manager.page("/studies/alone/cases/film")


def test_an_audited_case_tells_what_it_would_have_settled_as(place: House, manager: Visitor) -> None:
    live = place.study("audit", audit_share=1.0, max_error=0.5)
    live.open([arrival("film")])
    for expert in live.read(lambda study: study.pending("film")):
        live.vote("film", expert, "normal")
    assert "Asking would have stopped with <strong>normal</strong>" in manager.page("/studies/audit/cases/film")


def test_a_manager_corrects_and_takes_back_votes(live: LiveStudy, manager: Visitor) -> None:
    live.open([arrival("film", "ann")])
    live.vote("film", "ann", "normal")
    answer = manager.post("/studies/heart/cases/film/amend", expert="ann", vote="abnormal")
    assert (answer.status_code, answer.headers["location"]) == (303, "/studies/heart/cases/film")
    assert votes_of(live, "film") == {"ann": "abnormal"}
    assert "ann&#39;s vote was changed to abnormal by mia." in manager.page("/studies/heart/cases/film")
    settled = live.read(lambda study: study.state.settling("film"))
    assert settled is not None
    assert settled.outcome == "abnormal", "by the vote as it is now"
    assert manager.post("/studies/heart/cases/film/withdraw", expert="ann").status_code == 303
    assert votes_of(live, "film") == {}
    assert live.read(lambda study: study.state.settling("film")) is None, "nobody has voted on it any more"
    assert "ann&#39;s vote was taken back by mia." in manager.page("/studies/heart/cases/film")


def test_answers_from_the_desk_of_another_say_whose_they_are(place: House, live: LiveStudy) -> None:
    boss = place.visitor("boss", "admin")
    live.open([arrival("film", "ann"), arrival("scan", "ben")])
    assert boss.post("/studies/heart/inbox/ann", case="film", vote="normal").status_code == 303
    assert boss.post("/studies/heart/inbox/ben", case="scan", abstain="yes").status_code == 303
    assert "boss voted normal for ann." in boss.page("/studies/heart/cases/film")
    assert "boss abstained for ben." in boss.page("/studies/heart/cases/scan")
    live.open([arrival("slide", "cho")])
    assert boss.post("/studies/heart/inbox/cho/away", away="yes").status_code == 303
    assert Away(2, by="boss") in list(live.stored.journal)
    assert "the question to cho was taken back by boss." in boss.page("/studies/heart/cases/slide")


def test_votes_that_come_late_and_force_another_outcome_are_said(live: LiveStudy, manager: Visitor) -> None:
    live.open([arrival("film", p=0.99)])
    (first,) = live.read(lambda study: study.pending("film"))
    live.vote("film", first, "abnormal")
    assert live.read(lambda study: study.state.settling("film")) is not None, "one vote must be enough here"
    for other in {"ann", "ben", "cho"} - {first}:
        live.vote("film", other, "normal")
    assert "later votes disagree" in manager.page("/studies/heart/cases/film")


def test_a_manager_has_no_vote_of_their_own(live: LiveStudy, manager: Visitor) -> None:
    live.open([arrival("film", "ann")])
    answer = manager.post("/studies/heart/cases/film/amend", expert="ann", vote="abnormal")
    assert answer.status_code == 409
    assert "ann has no vote on case &#39;film&#39; to correct" in answer.text
    assert votes_of(live, "film") == {}


def test_a_question_is_taken_back_and_another_expert_asked(live: LiveStudy, manager: Visitor) -> None:
    live.open([arrival("film")])
    (asked,) = live.read(lambda study: study.pending("film"))
    assert manager.post("/studies/heart/cases/film/expire", expert=asked).status_code == 303
    (other,) = live.read(lambda study: study.pending("film"))
    assert other != asked
    assert manager.post("/studies/heart/cases/film/expire", expert=asked).status_code == 409
    assert f"the question to {asked} was taken back by mia." in manager.page("/studies/heart/cases/film")


def test_a_settled_case_is_asked_of_the_whole_panel(live: LiveStudy, manager: Visitor) -> None:
    live.open([arrival("film", "ann", "ben", p=0.01)])
    for expert in live.read(lambda study: study.pending("film")):
        live.vote("film", expert, "normal")
    while live.read(lambda study: study.state.open_case("film")) is not None:
        for expert in live.read(lambda study: study.pending("film")):
            live.vote("film", expert, "normal")
    assert manager.post("/studies/heart/cases/film/reopen", whole="yes").status_code == 303
    assert "Reopened by mia for the whole panel." in manager.page("/studies/heart/cases/film")
    assert manager.post("/studies/heart/cases/none/reopen", whole="yes").status_code == 404


def test_an_odd_key_is_found_by_its_address(live: LiveStudy, manager: Visitor) -> None:
    live.open([arrival("50 % #1? ä&b", "ann")])
    page = manager.page("/studies/heart/cases")
    assert "/studies/heart/cases/50%20%25%20%231%3F%20%C3%A4%26b" in page
    assert "50 % #1? ä&amp;b" in manager.page("/studies/heart/cases/50%20%25%20%231%3F%20%C3%A4%26b")
    live.vote("50 % #1? ä&b", "ann", "normal")
    address = "/studies/heart/cases/50%20%25%20%231%3F%20%C3%A4%26b"
    assert manager.post(f"{address}/amend", expert="ann", vote="abnormal").headers["location"] == address


@pytest.mark.parametrize("act", ["amend", "withdraw", "expire", "reopen"])
def test_an_expert_may_do_none_of_it(place: House, live: LiveStudy, act: str) -> None:
    live.open([arrival("film", "ann")])
    expert = place.visitor("ann", "expert", ("heart", "ann"))
    answer = expert.post(f"/studies/heart/cases/film/{act}", expert="ann", vote="normal", whole="yes")
    assert answer.status_code == 403


def test_the_page_says_whom_a_case_waits_for_and_why(live: LiveStudy, manager: Visitor) -> None:
    live.open([arrival("film-1", "ann")])
    assert "The answer of ann is waited for." in manager.page("/studies/heart/cases/film-1")
    live.set_away("ann", away=True)
    page = manager.page("/studies/heart/cases/film-1")
    assert "Nobody who could be asked has time: the case waits until ann is back" in page
    assert "is waited for" not in page
