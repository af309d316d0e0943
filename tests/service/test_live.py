"""A live study and its desks: who is asked when somebody has time, and what happens beside another program."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy import event

from quorate.assembly import Options
from quorate.core.panel import Panel
from quorate.core.rules import Rules
from quorate.errors import NotFoundError, StaleJournalError, StorageError, StudyError
from quorate.service.desk import Desk, Question
from quorate.service.hall import Hall
from quorate.service.live import REFILLS, TRIES, Arrival, LiveStudy, Watcher
from quorate.storage import studies
from quorate.storage.config import ServiceSettings, StudyConfig
from quorate.storage.database import Database
from quorate.study.events import Leased
from tests.service.conftest import Service

EXPERTS = ("ann", "ben", "cho")


@dataclass
class Time:
    """Stands still unless moved."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Table:
    """A live study, and what it has told others."""

    live: LiveStudy
    clock: Time
    told: list[frozenset[str]] = field(default_factory=list)

    def open(self, *keys: str) -> list[str]:
        return self.live.open([Arrival(key, {"net": (0.5, 0.5)}) for key in keys])

    def desk(self, expert: str) -> list[str]:
        return [one.case for one in self.live.questions(expert)]

    def desks(self) -> dict[str, list[str]]:
        return {expert: self.desk(expert) for expert in self.live.study.experts}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(f"sqlite:///{tmp_path}/quorate.db", create=True) as db:
        yield db


Make = Callable[..., Table]


@pytest.fixture
def make(database: Database) -> Make:
    def table(
        *,
        method: str = "all",
        experts: tuple[str, ...] = EXPERTS,
        in_flight: int = 1,
        max_open: int = 1,
        rules: Rules | None = None,
        lease_seconds: float = 100.0,
        costs: dict[str, float] | None = None,
    ) -> Table:
        config = StudyConfig(
            Panel(["no", "yes"], experts, ["net"], costs),
            Options(method, rules=rules or Rules(), in_flight=in_flight),
            service=ServiceSettings(lease_seconds=lease_seconds, max_open=max_open),
        )
        told: list[frozenset[str]] = []
        clock = Time()
        stored = studies.create(database, "heart", config)
        live = LiveStudy(stored, Watcher(lambda _, experts: told.append(experts)), clock=clock)
        live.start()
        return Table(live, clock, told)

    return table


def again(table: Table, database: Database) -> LiveStudy:
    """The study after a crash."""
    live = LiveStudy(studies.load(database, "heart"), table.live.watcher, clock=table.clock)
    live.start()
    return live


# Handing out


def test_a_slot_that_frees_goes_to_the_case_that_waits_longest(make: Make) -> None:
    table = make()
    table.open(*(f"c{number}" for number in range(6)))
    assert table.desks() == {"ann": ["c0"], "ben": ["c1"], "cho": ["c2"]}
    assert table.live.desk.waiting == 3
    table.live.vote("c1", "ben", "no")  # c1 waits for ann and cho now
    table.live.refill()
    assert table.desk("ben") == ["c3"]
    assert table.live.desk.waiting == 3


def test_a_freed_slot_is_filled_by_the_best_who_has_time(make: Make) -> None:
    table = make(method="bayes", costs={"ann": 9.0, "ben": 5.0, "cho": 1.0}, rules=Rules(max_votes=1))
    live = table.live
    table.open("c1", "c2", "c3")
    for expert in ("ann", "cho"):
        (key,) = table.desk(expert)
        live.vote(key, expert, "yes")
    assert table.desks() == {"ann": [], "ben": table.desk("ben"), "cho": []}, "both settled with their only vote"
    table.open("c4")
    assert table.desk("cho") == ["c4"], "the one who costs least for what the vote tells, though ann comes first"
    (asked,) = [event for event in live.study.journal if isinstance(event, Leased) and event.key == "c4"]
    assert asked.why is not None
    assert asked.expert == max(asked.why.gains, key=lambda one: one[1])[0]


def test_a_vote_brings_the_next_case_with_it_or_neither(make: Make, database: Database) -> None:
    table = make()
    table.open("c1", "c2", "c3", "c4")
    events = len(table.live.study.journal)
    table.live.vote("c1", "ann", "yes")
    assert table.desk("ann") == ["c4"]
    assert not table.live.more, "and there is nothing left to hand out"
    written = list(table.live.study.journal)[events:]
    assert [type(event).__name__ for event in written] == ["Voted", "Leased"]
    table.live.vote("c1", "ann", "yes")
    assert len(table.live.study.journal) == events + 2, "the same vote twice is one vote, and brings nothing"
    assert database.verify() == []


def test_a_case_that_waits_keeps_its_turn() -> None:
    desk = Desk(1)
    desk.wait("old", ("ann", "ben"))
    desk.wait("new", ("ann",))
    desk.wait("old", ("ann",))
    assert desk.next_for("ann") == "old"
    assert desk.waits_for("old") == ("ann",)
    assert desk.next_for("ben") is None
    desk.wait("old", ())
    assert not desk.waits("old")
    assert desk.waiting == 1


def test_who_is_first_choice_is_found_before_who_would_do() -> None:
    desk = Desk(1)
    desk.wait("one", ("ann", "ben"))
    desk.wait("two", ("ben",))
    assert desk.next_for("ben") == "two"
    assert desk.next_for("ann") == "one"


def test_a_desk_lists_its_questions_oldest_first_and_knows_which_have_lapsed(make: Make) -> None:
    table = make(max_open=3, lease_seconds=10)
    table.open("c1")
    table.clock.now += 6
    table.open("c2")
    first = table.live.questions("ann")
    assert first == (Question("c1", "ann", 1010.0), Question("c2", "ann", 1016.0))
    assert table.live.desk.lapsed(1009.9) == []
    assert table.live.desk.lapsed(1010.0) == [first[0]]
    assert table.live.desk.full() == ()
    assert list(table.live.desk.idle(EXPERTS)) == list(EXPERTS)


def test_many_cases_are_handed_out_a_few_at_a_time(make: Make) -> None:
    table = make(max_open=1000)
    keys = [f"c{number}" for number in range(REFILLS + 5)]
    table.open(*keys)
    assert len(table.desk("ann")) == REFILLS
    assert table.live.desk.waiting == 5
    table.live.tick()
    assert table.desk("ann") == keys


def test_nobody_gets_more_questions_than_they_may_when_a_colleague_leaves(make: Make) -> None:
    table = make(experts=("ann", "ben"), max_open=2)
    table.open("c1", "c2", "c3")
    assert table.desks() == {"ann": ["c1", "c2"], "ben": ["c3"]}
    table.live.set_away("ann", away=True)
    assert len(table.desk("ben")) == 2
    assert table.desk("ann") == []
    assert table.live.desk.waiting == 1
    table.live.vote("c3", "ben", "no")
    table.live.refill()
    assert sorted(table.desk("ben")) == ["c1", "c2"]


def test_nothing_is_asked_of_the_absent_until_they_are_back(make: Make) -> None:
    table = make(max_open=5)
    for expert in EXPERTS:
        table.live.set_away(expert, away=True)
    table.open("c1")
    assert table.live.desk.waits("c1")
    table.live.set_away("cho", away=False)
    assert table.desk("cho") == ["c1"]


def test_a_case_that_needs_nobody_waits_for_nobody(make: Make) -> None:
    table = make(method="classifier")
    for expert in EXPERTS:
        table.live.set_away(expert, away=True)
    table.open("c1")
    settled = table.live.study.state.settling("c1")
    assert settled is not None
    assert settled.human_votes == 0
    assert table.live.desk.waiting == 0


def test_a_case_that_needs_somebody_is_looked_at_once(make: Make) -> None:
    table = make()
    for expert in EXPERTS:
        table.live.set_away(expert, away=True)
    table.open("c1")
    assert table.live.desk.waits_for("c1") == EXPERTS
    before = table.live.version
    table.live.refill()
    assert table.live.version == before


def test_a_question_lapses_by_the_clock_and_the_next_is_asked(make: Make) -> None:
    table = make(lease_seconds=10)
    table.open("c1")
    table.clock.now += 9.9
    table.live.tick()
    assert table.desk("ann") == ["c1"]
    table.clock.now += 0.1
    table.live.tick()
    assert table.desks() == {"ann": [], "ben": ["c1"], "cho": []}


def test_a_settled_case_takes_its_questions_back(make: Make) -> None:
    table = make(method="until-determined", in_flight=3)
    table.open("c1")
    assert len(table.live.study.pending("c1")) == 3
    for expert in table.live.study.pending("c1")[:2]:
        table.live.vote("c1", expert, "yes")
    assert table.live.study.state.settling("c1") is not None
    assert all(not keys for keys in table.desks().values())


def test_a_retired_expert_leaves_their_cases_to_others(make: Make) -> None:
    table = make(max_open=5)
    table.open("c1", "c2")
    table.live.change_panel(lambda study: study.retire_expert("ann"))
    assert table.desks() == {"ben": ["c1", "c2"], "cho": []}


# Who is told


def test_only_those_whose_desk_has_changed_are_told(make: Make) -> None:
    table = make(in_flight=3)
    table.open("c1")
    assert table.desks() == {"ann": ["c1"], "ben": ["c1"], "cho": ["c1"]}
    table.told.clear()
    table.live.vote("c1", "ben", "yes")
    assert table.told == [frozenset({"ben"})], "ann and cho must not learn that ben has voted"
    table.told.clear()
    table.live.abstain("c1", "cho")
    assert table.told == [frozenset({"cho"})]


def test_a_change_of_the_study_is_told_to_those_who_watch_it(make: Make) -> None:
    table = make()
    before = table.live.version
    table.open("c1")
    assert table.live.version > before
    assert frozenset({"ann"}) in table.told


# Beside another program


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
    assert table.told[-1] == frozenset(EXPERTS), "any desk may have changed"
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
    refresh = live.stored.refresh

    def disturbed() -> int:
        nonlocal tries
        tries += 1
        found = refresh()
        other.refresh()
        other.study.open(f"far{tries}", {"net": (0.4, 0.6)})
        return found

    other.study.open("far", {"net": (0.4, 0.6)})
    live.stored.refresh = disturbed  # type: ignore[method-assign]
    with pytest.raises(StaleJournalError):
        live.vote("c1", "ann", "yes")
    other.refresh()
    assert other.study.state.known("c1").votes == ()
    assert tries == TRIES - 1


def test_a_deleted_study_is_not_written_to(make: Make, database: Database) -> None:
    table = make()
    table.open("c1")
    studies.delete(database, "heart")
    with pytest.raises(NotFoundError):
        table.live.vote("c1", "ann", "yes")
    with pytest.raises(NotFoundError):
        table.live.tick()


# Where something fails


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


# A hall of studies


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
