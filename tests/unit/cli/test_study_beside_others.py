"""`quorate study` on a database that another program, such as a service, writes to at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from quorate.assembly import Options
from quorate.core.panel import Panel
from quorate.core.protocols import Predictor
from quorate.core.settings import EvidenceSettings
from quorate.storage import studies
from quorate.storage.config import StudyConfig
from quorate.storage.database import Database
from quorate.storage.studies import TRIES, StoredStudy
from quorate.study.method import Job
from tests.unit.cli.program import call

CONFIG = StudyConfig(
    Panel(["normal", "abnormal"], ["ann", "ben", "cho"], ["net"]), Options(settings=EvidenceSettings(particles=64))
)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/q.db"


@pytest.fixture
def other(url: str) -> Iterator[StoredStudy]:
    """The study as another program holds it, with one case open."""
    with Database.open(url, create=True) as db:
        stored = studies.create(db, "cxr", CONFIG)
        stored.study.open("c1", {"net": [0.2, 0.8]})
        yield stored


def open_another(other: StoredStudy) -> None:
    """A case is opened by the other program, which knows of everything before."""
    other.refresh()
    other.study.open(f"other-{len(other.journal)}", {"net": [0.5, 0.5]})


def before_each(monkeypatch: pytest.MonkeyPatch, times: int, write: Callable[[], None]) -> None:
    """Let another program write just before the first tries of whoever writes."""
    batch, left = StoredStudy.batch, [times]

    def interrupted(stored: StoredStudy) -> object:
        if left[0] > 0:
            left[0] -= 1
            with pytest.MonkeyPatch.context() as mine:
                mine.setattr(StoredStudy, "batch", batch)
                write()
        return batch(stored)

    monkeypatch.setattr(StoredStudy, "batch", interrupted)


@pytest.mark.parametrize("times", [1, TRIES - 1])
@pytest.mark.parametrize(
    ("verb", "event"),
    [
        (("tell", "cxr", "c1", "ann", "normal"), "Voted"),
        (("add-expert", "cxr", "dan"), "Joined"),
        (("retire-expert", "cxr", "ben"), "Retired"),
        (("open", "cxr", "c2"), "Opened"),
        (("abstain", "cxr", "c1", "ann"), "Abstained"),
        (("away", "cxr", "ann"), "Away"),
    ],
)
def test_who_was_not_first_tries_again(
    monkeypatch: pytest.MonkeyPatch, url: str, other: StoredStudy, times: int, verb: tuple[str, ...], event: str
) -> None:
    before_each(monkeypatch, times, lambda: open_another(other))
    assert call(monkeypatch, "study", *verb, "--db", url) == 0
    other.refresh()
    assert sum(key.startswith("other-") for key in other.study.state.places) == times
    assert event in [type(one).__name__ for one in other.journal]
    assert other.db.verify() == []


def test_past_votes_come_in_beside_others(
    monkeypatch: pytest.MonkeyPatch, url: str, other: StoredStudy, tmp_path: Path
) -> None:
    past = tmp_path / "past.csv"
    past.write_text("item,ann,ben,p_0,p_1\na,normal,abnormal,.3,.7\n", encoding="utf-8")
    before_each(monkeypatch, 1, lambda: open_another(other))
    assert call(monkeypatch, "study", "import", "cxr", past, "--db", url) == 0
    other.refresh()
    assert {"a", "other-1"} <= other.study.state.places.keys()


def test_a_change_that_no_longer_fits_is_refused_for_what_the_other_did(
    monkeypatch: pytest.MonkeyPatch, url: str, other: StoredStudy, capsys: pytest.CaptureFixture[str]
) -> None:
    before_each(monkeypatch, 1, lambda: other.study.tell("c1", "ann", "abnormal"))
    assert call(monkeypatch, "study", "tell", "cxr", "c1", "ann", "normal", "--db", url) == 1
    assert "has voted 'abnormal' on case 'c1' already" in capsys.readouterr().err


def test_who_is_never_first_gives_up_and_says_so(
    monkeypatch: pytest.MonkeyPatch, url: str, other: StoredStudy, capsys: pytest.CaptureFixture[str]
) -> None:
    before_each(monkeypatch, TRIES, lambda: open_another(other))
    assert call(monkeypatch, "study", "tell", "cxr", "c1", "ann", "normal", "--db", url) == 1
    assert "was changed by another program meanwhile" in capsys.readouterr().err


def while_learning(monkeypatch: pytest.MonkeyPatch, happen: Callable[[Job], None]) -> None:
    """Let something happen while a fit runs."""
    run = Job.run

    def slow(job: Job) -> Predictor:
        with pytest.MonkeyPatch.context() as mine:
            mine.setattr(Job, "run", run)
            learned = job.run()
            if job.fit > 0:
                happen(job)
        return learned

    monkeypatch.setattr(Job, "run", slow)


@pytest.fixture
def decided(other: StoredStudy) -> StoredStudy:
    """The study with a case that can settle, from which it will learn."""
    for expert in ("ann", "ben", "cho"):
        other.study.tell("c1", expert, "abnormal")
    return other


def test_what_was_learned_is_kept_although_others_write(
    monkeypatch: pytest.MonkeyPatch, url: str, decided: StoredStudy
) -> None:
    while_learning(monkeypatch, lambda _: open_another(decided))
    assert call(monkeypatch, "study", "settle", "cxr", "c1", "--db", url) == 0
    decided.refresh()
    assert (list(decided.study.state.settled), decided.study.state.fits) == (["c1"], 1)


def test_a_fit_that_another_was_quicker_with_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, url: str, decided: StoredStudy, capsys: pytest.CaptureFixture[str]
) -> None:
    def learn(_: Job) -> None:
        decided.refresh()
        job = decided.study.due()
        assert job is not None
        decided.adopt(job, job.run())

    while_learning(monkeypatch, learn)
    assert call(monkeypatch, "study", "settle", "cxr", "c1", "--db", url) == 0
    assert capsys.readouterr().err == ""
    decided.refresh()
    assert (list(decided.study.state.settled), decided.study.state.fits) == (["c1"], 1)


def test_a_fit_that_finds_no_gap_is_left_to_whoever_comes_next(
    monkeypatch: pytest.MonkeyPatch, url: str, decided: StoredStudy, capsys: pytest.CaptureFixture[str]
) -> None:
    while_learning(monkeypatch, lambda _: before_each(monkeypatch, TRIES, lambda: open_another(decided)))
    assert call(monkeypatch, "study", "settle", "cxr", "c1", "--db", url) == 0
    assert capsys.readouterr().err == ""
    decided.refresh()
    assert (list(decided.study.state.settled), decided.study.state.fits) == (["c1"], 0)
    assert decided.study.due() is not None


def test_who_leaves_leaves_their_questions_to_others(
    monkeypatch: pytest.MonkeyPatch, url: str, other: StoredStudy
) -> None:
    other.study.lease("c1", "ann")
    other.study.open("c2", {"net": [0.5, 0.5]})
    other.study.lease("c2", "ben")
    assert call(monkeypatch, "study", "away", "cxr", "ann", "--db", url) == 0
    other.refresh()
    assert (other.study.pending("c1"), other.study.pending("c2")) == ((), ("ben",))
    assert call(monkeypatch, "study", "back", "cxr", "ann", "--db", url) == 0
    assert call(monkeypatch, "study", "expire", "cxr", "c2", "ben", "--db", url) == 0
    other.refresh()
    assert not other.study.state.away
    assert other.study.state.waiting("c2").passed == ("ben",)
