"""A live study beside other programs and threads, and where something fails."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import event

from quorate.core.rules import Rules
from quorate.errors import NotFoundError, StaleJournalError, StorageError, StudyError
from quorate.service.changing import TRIES
from quorate.service.hall import Hall
from quorate.service.live import Ballot, LiveStudy
from quorate.storage import studies
from quorate.storage.database import Database
from quorate.study.events import Event, Leased
from tests.service.conftest import Service
from tests.service.desks import EXPERTS, Make, again


def test_a_stale_write_is_tried_again_and_nothing_is_lost(make: Make, database: Database) -> None:
    table = make()
    table.open("c1", "c2", "c3", "c4", "c5")
    other = studies.load(database, "heart")
    other.study.tell("c1", "ann", "yes")
    other.study.open("far", {"net": (0.4, 0.6)})
    table.told.clear()
    table.live.vote("c2", "ben", "no")
    known = table.live.study.state.known
    assert known("c1").votes == ((0, 1),)
    assert known("c2").votes == ((1, 0),)
    assert table.told[0] == frozenset(EXPERTS), "any desk may have changed"
    for key in ("c1", "c4", "c5", "far"):
        assert table.live.desk.asked(key) or table.live.desk.waits(key), key
    for _ in range(40):
        table.live.refill()
        for expert, keys in table.desks().items():
            for key in keys:
                table.live.vote(key, expert, "no")
    assert all(table.live.study.state.open_case(key) is None for key in ("c1", "c2", "c3", "c4", "c5", "far"))
    assert database.verify() == []


def test_what_others_wrote_is_followed(make: Make, database: Database) -> None:
    table = make()
    other = studies.load(database, "heart")
    other.study.open("far", {"net": (0.4, 0.6)})
    assert not table.live.desk.waits("far")
    table.live.tick()
    assert table.desk("ann") == ["far"]
    assert not table.live.follow()


def test_what_others_did_to_a_case_that_somebody_is_asked_about_is_acted_on(make: Make, database: Database) -> None:
    table = make(method="until-determined")
    table.open("c1", "c2")
    (asked,) = table.live.study.pending("c1")
    other = studies.load(database, "heart").study
    for name in {*EXPERTS} - {asked}:
        other.tell("c1", name, "yes")
    table.live.tick()
    assert table.live.study.state.settling("c1") is not None
    assert "c1" not in table.desk(asked), "nobody needs it any more"
    other.refresh()
    for name in {*EXPERTS} - {*table.live.study.pending("c2")}:
        other.tell("c2", name, "yes")
    other.settle("c2")
    table.open("c3")  # finds that another was first
    assert all("c2" not in keys for keys in table.desks().values())


def insist(live: LiveStudy, key: str, expert: str) -> None:
    """Vote as a client does who is told that others were faster."""
    for _ in range(100):
        try:
            live.vote(key, expert, "yes")
        except StaleJournalError:
            continue
        return


def test_two_services_on_one_file_lose_nothing(make: Make, database: Database) -> None:
    table = make(max_open=50, in_flight=3)
    keys = [f"c{number}" for number in range(8)]
    table.open(*keys)
    second = again(table, database)
    work = [
        (live, key, expert) for key in keys for live, expert in zip([table.live, second] * 2, EXPERTS, strict=False)
    ]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda one: insist(*one), work))
    table.live.follow()
    assert [len(table.live.study.state.known(key).votes) for key in keys] == [3] * 8
    assert database.verify() == []


def test_who_never_gets_a_turn_says_so_and_changes_nothing(make: Make, database: Database) -> None:
    table = make()
    table.open("c1")
    other = studies.load(database, "heart")
    tries = 0

    live = table.live
    take_in = live.stored.take_in

    def disturbed() -> list[Event]:
        nonlocal tries
        tries += 1
        found = take_in()
        other.refresh()
        other.study.open(f"far{tries}", {"net": (0.4, 0.6)})
        return found

    other.study.open("far", {"net": (0.4, 0.6)})
    live.stored.take_in = disturbed  # type: ignore[method-assign]
    with pytest.raises(StaleJournalError):
        live.vote("c1", "ann", "yes")
    other.refresh()
    assert other.study.state.known("c1").votes == ()
    assert tries == TRIES - 1


def test_very_many_cases_that_others_touched_or_that_wait_for_nobody_are_gone_through(
    make: Make, database: Database
) -> None:
    table = make(max_open=1000, rules=Rules(min_votes=1))
    other = studies.load(database, "heart")
    many = [f"far{number}" for number in range(600)]
    with other.batch():
        for key in many:
            other.study.open(key, {"net": (0.5, 0.5)})
            other.study.lease(key, "ann")
    assert table.live.follow()
    assert {*many} <= {*table.desk("ann")}
    other.refresh()
    left = [f"left{number}" for number in range(600)]
    with other.batch():
        for key in left:
            other.study.open(key, {"net": (0.5, 0.5)})
            for expert in EXPERTS:
                other.study.lease(key, expert)
                other.study.expire(key, expert)
    live = again(table, database)
    assert all(live.study.state.left_by_all(key) for key in left), "they need a person"
    live.vote(left[0], "ann", "yes")


def test_what_fails_after_another_was_first_leaves_no_case_waiting_for_nobody(make: Make, database: Database) -> None:
    table = make()
    table.open("c1")
    live, cast, tried = table.live, table.live._cast, 0
    other = studies.load(database, "heart")

    def beside(ballot: Ballot) -> Exception | None:
        nonlocal tried
        tried += 1
        if tried == 1:
            other.study.expire("c1", "ann")  # another program, while this one thinks
        return cast(ballot)

    def full(*_: object) -> None:
        if tried == 2:
            raise StorageError("the disk is full")

    live._cast = beside  # type: ignore[method-assign]
    event.listen(database._engines.writer, "commit", full)
    with pytest.raises(StorageError):
        live.vote("c1", "ann", "yes")
    event.remove(database._engines.writer, "commit", full)
    live.tick()
    assert live.desk.asked("c1"), "of those who are left"
    assert "c1" not in table.desk("ann")


def test_what_others_wrote_is_taken_in_another_time_where_it_cannot_be_read(
    make: Make, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make()
    table.open("c1")
    journal, read = table.live.stored.journal, table.live.stored.journal._from
    other = studies.load(database, "heart")
    other.study.open("far", {"net": (0.5, 0.5)})

    def gone(*_: object) -> None:
        raise StorageError("the database has gone away")

    monkeypatch.setattr(journal, "_from", gone)
    with pytest.raises(StorageError):
        table.live.tick()
    monkeypatch.setattr(journal, "_from", read)
    table.live.tick()
    assert table.live.desk.asked("far")


def test_a_change_is_stored_although_what_others_did_cannot_be_followed_up(
    make: Make, database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table = make(method="until-determined")
    table.open("c1", "c2")
    live, advance = table.live, table.live._advance
    (asked,) = live.study.pending("c1")
    other = studies.load(database, "heart").study
    for name in {*EXPERTS} - {asked}:
        other.tell("c1", name, "yes")

    def fails(key: str) -> None:
        if key == "c1":
            raise StorageError("the database has gone away")
        advance(key)

    monkeypatch.setattr(live, "_advance", fails)
    (other_asked,) = live.study.pending("c2")
    live.vote("c2", other_asked, "yes")
    assert live.study.state.known("c2").votes, "it is stored, and said to be"
    assert "a case could not go on" in caplog.text
    with pytest.raises(StorageError):
        live.tick()  # the clock tries again, and says why
    monkeypatch.setattr(live, "_advance", advance)
    live.tick()
    assert live.study.state.settling("c1") is not None


def test_a_deleted_study_is_not_written_to(make: Make, database: Database) -> None:
    table = make()
    table.open("c1")
    studies.delete(database, "heart")
    with pytest.raises(NotFoundError):
        table.live.vote("c1", "ann", "yes")
    with pytest.raises(NotFoundError):
        table.live.tick()


def test_a_write_that_fails_leaves_cases_waiting_as_they_were(make: Make, database: Database) -> None:
    table = make()
    table.open("c1", "c2", "c3", "c4")
    live = table.live
    live.expire("c1", "ann")  # who has time for c4 now
    failing = True

    def full(*_: object) -> None:
        if failing:
            raise StorageError("the disk is full")

    event.listen(database._engines.writer, "commit", full)
    before = (table.desks(), live.study.state, live.desk.waits("c4"))
    for change in (live.refill, lambda: live.vote("c2", "ben", "yes")):
        with pytest.raises(StorageError):
            change()
        assert (table.desks(), live.study.state, live.desk.waits("c4")) == before
    failing = False
    live.refill()
    assert table.desk("ann") == ["c4"]
    assert database.verify() == []


def test_what_fails_leaves_every_question_and_every_case_in_its_turn(make: Make, database: Database) -> None:
    table = make(max_open=3, experts=("ann",))
    table.open("c1", "c2", "c3", "c4", "c5", "c6")
    live = table.live

    def full(*_: object) -> None:
        raise StorageError("the disk is full")

    event.listen(database._engines.writer, "commit", full)
    for key in ("c1", "c2"):
        with pytest.raises(StorageError):
            live.vote(key, "ann", "yes")
    assert table.desk("ann") == [one.case for one in live.desk.questions("ann")] == ["c1", "c2", "c3"]
    event.remove(database._engines.writer, "commit", full)
    for key, after in (("c2", "c4"), ("c1", "c5"), ("c3", "c6")):
        live.vote(key, "ann", "yes")
        assert table.desk("ann")[-1] == after
    assert database.verify() == []


def test_a_refused_change_leaves_everything_as_it_was(make: Make) -> None:
    table = make()
    table.open("c1", "c2", "c3", "c4")
    before = (table.desks(), table.live.study.state, table.live.version)
    refused: list[Callable[[], None]] = [
        lambda: table.live.vote("nope", "ann", "yes"),
        lambda: table.live.expire("c4", "ann"),
        lambda: table.live.reopen("c1", whole=False),
    ]
    for change in refused:
        with pytest.raises(StudyError):
            change()
    with pytest.raises(NotFoundError):
        table.live.withdraw("c1", "ann")
    with pytest.raises(NotFoundError):
        table.live.questions("nobody")
    assert (table.desks(), table.live.study.state, table.live.version) == before
    assert table.live.desk.waits("c4")


def test_a_study_goes_on_after_a_crash_where_it_was(make: Make, database: Database) -> None:
    table = make()
    table.open("c1", "c2", "c3", "c4")
    table.live.vote("c1", "ann", "yes")
    live = again(table, database)
    assert live.study.state == studies.load(database, "heart").study.state
    desks = {expert: [one.case for one in live.questions(expert)] for expert in EXPERTS}
    assert desks == {"ann": ["c4"], "ben": ["c2"], "cho": ["c3"]}
    assert live.desk.waits("c1")


def test_many_threads_leave_no_desk_too_full_and_nobody_asked_twice(make: Make, database: Database) -> None:
    table = make(method="until-determined", max_open=2, in_flight=2)
    live = table.live
    keys = [f"c{number}" for number in range(12)]
    table.open(*keys)
    stop = threading.Event()
    broken: list[str] = []

    def vote(expert: str) -> None:
        while not stop.is_set() and any(live.study.state.open_case(key) for key in keys):
            for one in live.questions(expert)[:1]:
                live.vote(one.case, expert, "yes")
            live.refill()

    def watch() -> None:
        while not stop.wait(0.01):
            live.tick()
            broken.extend(name for name in EXPERTS if live.read(lambda _, name=name: live.desk.load(name)) > 2)  # type: ignore[misc]

    watcher = threading.Thread(target=watch)
    watcher.start()
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(vote, EXPERTS, timeout=60))
    stop.set()
    watcher.join()
    assert broken == []
    asked = [(event.key, event.expert) for event in live.study.journal if isinstance(event, Leased)]
    assert len(asked) == len(set(asked))
    assert database.verify() == []


def test_a_study_that_another_program_deleted_is_forgotten(service: Service) -> None:
    service.create()
    hall: Hall = service.hall
    studies.delete(hall.db, "heart")
    deadline = threading.Event()
    for _ in range(100):
        if "heart" not in hall._lives:
            break
        deadline.wait(0.1)
    with pytest.raises(NotFoundError, match="no study 'heart'"):
        hall.study("heart")
