"""The live service under load: how long a vote takes to bring the next case, and whether any vote is lost."""

from __future__ import annotations

import csv
import io
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from tests import postgres
from tests.faults.served import Client, Service, memory_of, path, spent_by

from benchmarks.figures import Figure, timed
from benchmarks.service_check import LostVoteError, checked
from benchmarks.service_store import Shape, filled, votes
from quorate.data.table import Table

KEPT = Path("out/service")
SHAPES = (Shape("six", studies=6, cases=3334), Shape("one", studies=1, cases=20_000, max_open=30))
QUICK = (Shape("quick", studies=2, cases=200),)
CLIENTS = 30
PAGES = 100  # of the list of cases
LONGEST = 900.0  # seconds that all votes may take
IDLE = 0.02  # seconds until a client whose desk is empty looks again


@dataclass(frozen=True)
class Pace:
    """How long clients look at a case before they vote, in seconds, how that is called, and their share of votes."""

    name: str
    pause: float
    share: float = 1.0


PACES = (
    Pace("at a vote in ten seconds each", 10.0, 0.05),
    Pace("at a vote a second each", 1.0),
    Pace("as fast as they can", 0.0),
)


@dataclass
class Taken:
    """The cases of a seat that one of its clients has taken: no two of them vote on the same."""

    clients: int
    cases: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def one_of(self, asked: Sequence[str]) -> str | None:
        """Take the first that nobody has taken."""
        with self.lock:
            found = next((case for case in asked if case not in self.cases), None)
            if found is not None:
                self.cases.add(found)
            return found

    def give_back(self, case: str | None) -> None:
        """Leave a case to others."""
        with self.lock:
            self.cases.discard(case or "")


@dataclass
class Voter:
    """One client in an expert's seat, who votes as soon as there is something to vote on."""

    client: Client
    study: str
    expert: str
    told: dict[str, str]  # what the expert votes, by case
    taken: Taken
    rng: random.Random
    acknowledged: dict[str, str] = field(default_factory=dict)
    waited: list[float] = field(default_factory=list)  # seconds from a vote to the next case

    def run(self, wanted: int, stop: threading.Event, pause: float) -> None:
        """Vote so many times, and look at each case for a while."""
        wanted += len(self.acknowledged)
        case = self._next(stop)
        while case is not None and len(self.acknowledged) < wanted:
            stop.wait(pause * self.rng.uniform(0.5, 1.5))
            began = time.perf_counter()
            answer = self.client(
                "POST", path(self.study, "cases", case, "votes"), {"expert": self.expert, "vote": self.told[case]}
            )
            if not answer.done:
                raise LostVoteError(f"a vote was refused: {answer.status} {answer.body}")
            self.acknowledged[case] = self.told[case]
            following = answer.body["next"]
            case = self.taken.one_of([following["case"]] if following else []) or self._next(stop)
            self.waited.append(time.perf_counter() - began)
        self.taken.give_back(case)

    def _next(self, stop: threading.Event) -> str | None:
        while not stop.is_set():
            answer = self.client(
                "GET", f"{path(self.study, 'experts', self.expert, 'inbox')}?limit={self.taken.clients}"
            )
            case = self.taken.one_of([one["case"] for one in answer.body["questions"]])
            if case is not None:
                return case
            time.sleep(IDLE)
        return None


def service(*, quick: bool) -> Iterator[Figure]:
    """Both databases, with six studies and with one."""
    shapes = QUICK if quick else SHAPES
    wanted = 200 if quick else 3000
    with tempfile.TemporaryDirectory() as folder, postgres.serving() as server:
        for shape in shapes:
            place = Path(folder) / shape.name
            place.mkdir()
            yield from _measured(f"sqlite:///{place / 'quorate.db'}", shape, wanted, f"SQLite, {_said(shape)}")
        for shape in shapes:
            with server.database() as url:
                yield from _measured(url, shape, wanted, f"PostgreSQL, {_said(shape)}")


def _said(shape: Shape) -> str:
    return f"{shape.studies} x {shape.cases} cases"


def _measured(url: str, shape: Shape, wanted: int, on: str) -> Iterator[Figure]:
    filled(shape, KEPT, url)
    with tempfile.TemporaryDirectory() as folder, Service(url, Path(folder)) as running:
        admin = running.issue("boss", "admin")
        yield Figure("service", "start", on, timed(running.start)[0], "s")
        with running.client(admin) as boss:
            told = _opened(boss, shape, votes(3 * wanted))
            voters = _seated(running, shape, told)
            began, ends = datetime.now(UTC), list[datetime]()
            for pace in PACES:
                yield from _voted(running, voters, boss, shape, round(pace.share * wanted), on, pace)
                ends.append(datetime.now(UTC))
            yield from _listed(boss, shape, on)
            yield from _exported(running, boss, shape, on)
    cast: dict[str, Counter[tuple[str, str]]] = {study: Counter() for study in shape.names}
    for voter in voters:
        cast[voter.study].update((case, voter.expert) for case in voter.acknowledged)
    lags = checked(url, cast)
    for pace, begin, end in zip(PACES, [began, *ends], ends, strict=False):
        own = [lag.seconds for lag in lags if begin <= lag.settled < end]
        for share, name in ((50, "p50"), (95, "p95")) if own else ():
            value = float(np.percentile(own, share))
            yield Figure("service", f"settled to learned {pace.name} {name}", on, value, "s")


def _opened(boss: Client, shape: Shape, table: Table) -> dict[str, dict[str, str]]:
    """Open enough new cases; gives by expert what they vote on each."""
    panel, each = table.panel, len(table) // shape.studies
    keys = [f"new-{row}" for row in range(each)]
    for study in shape.names:
        for first in range(0, each, 500):
            cases = [
                {
                    "key": keys[row],
                    "probabilities": {panel.classifiers[0]: table.probabilities[row, 0].tolist()},
                    "show": {"text": f"Scan {row}"},
                }
                for row in range(first, min(first + 500, each))
            ]
            answer = boss("POST", path(study, "cases"), {"cases": cases})
            if answer.status != 201:
                raise LostVoteError(f"cases were refused: {answer.body}")
    return {
        name: {key: panel.classes[int(table.votes[row, expert])] for row, key in enumerate(keys)}
        for expert, name in enumerate(panel.experts)
    }


def _seated(running: Service, shape: Shape, told: dict[str, dict[str, str]]) -> list[Voter]:
    """Thirty clients, each with a user of its own."""
    each = CLIENTS // (len(shape.names) * len(told))
    seats = {(study, expert): Taken(each) for study in shape.names for expert in told}
    return [
        Voter(
            running.client(running.issue(f"{study}-{expert}-{number}", "expert", seats={study: expert})),
            study,
            expert,
            told[expert],
            taken,
            random.Random(f"{study} {expert} {number}"),  # noqa: S311  # pauses
        )
        for (study, expert), taken in seats.items()
        for number in range(each)
    ]


def _voted(
    running: Service, voters: Sequence[Voter], boss: Client, shape: Shape, wanted: int, on: str, pace: Pace
) -> Iterator[Figure]:
    """All vote at once, while somebody looks at the list of cases."""
    stop, failed, each = threading.Event(), list[BaseException](), max(1, wanted // len(voters))

    def vote(voter: Voter) -> None:
        try:
            with voter.client:
                voter.run(each, stop, pace.pause)
        except BaseException as error:  # the thread ends here: told in the main one
            failed.append(error)
            raise

    for voter in voters:
        voter.waited.clear()
    threads = [threading.Thread(target=vote, args=(voter,)) for voter in voters]
    began, spent = time.perf_counter(), spent_by(running.pid)
    for thread in threads:
        thread.start()
    looks: list[float] = []
    while any(thread.is_alive() for thread in threads) and time.perf_counter() - began < LONGEST:
        looks.append(_page(boss, shape, len(looks)))
        time.sleep(0.2)
    took = time.perf_counter() - began
    stop.set()
    for thread in threads:
        thread.join()
    if failed:
        raise LostVoteError(str(failed[0]))
    waited = [seconds for voter in voters for seconds in voter.waited]
    if len(waited) < each * len(voters):
        raise LostVoteError(f"{len(waited)} votes in {took:.0f} s, {each * len(voters)} were wanted")
    yield Figure("service", f"{len(waited)} votes {pace.name}", on, len(waited) / took, "1/s")
    per_vote = 1e3 * (spent_by(running.pid) - spent) / len(waited)
    yield Figure("service", f"processor time of a vote {pace.name}", on, per_vote, "ms")
    for share, name in ((50, "p50"), (95, "p95"), (100, "max")):
        value = 1e3 * float(np.percentile(waited, share))
        yield Figure("service", f"vote to next case {pace.name} {name}", on, value, "ms")
    yield Figure("service", f"list of cases {pace.name} p95", on, 1e3 * float(np.percentile(looks, 95)), "ms")


def _page(boss: Client, shape: Shape, number: int) -> float:
    after = (number * 7919) % shape.cases
    seconds, answer = timed(boss, "GET", f"{path(shape.names[0], 'cases')}?limit=100&after={after}")
    if not answer.done:
        raise LostVoteError(f"no list of cases: {answer.body}")
    return seconds


def _listed(boss: Client, shape: Shape, on: str) -> Iterator[Figure]:
    seconds = [_page(boss, shape, number) for number in range(PAGES)]
    yield Figure("service", "list of cases alone p95", on, 1e3 * float(np.percentile(seconds, 95)), "ms")


def _exported(running: Service, boss: Client, shape: Shape, on: str) -> Iterator[Figure]:
    """Export every study, and what the server holds more meanwhile."""
    with _watched(running.pid) as peaks:
        before = memory_of(running.pid)
        took, texts = timed(lambda: [boss("GET", path(study, "export")).body for study in shape.names])
    rows = sum(len(list(csv.DictReader(io.StringIO(text)))) for text in texts)
    if rows < shape.studies * shape.cases:
        raise LostVoteError(f"an export of {rows} cases, {shape.studies * shape.cases} and more were expected")
    yield Figure("service", f"export of {rows} cases", on, took, "s")
    yield Figure("service", "memory of the export", on, max(peaks) - before, "MB")
    yield Figure("service", "memory of the service", on, max(peaks), "MB")


@contextmanager
def _watched(pid: int) -> Iterator[list[float]]:
    """What a process holds, many times a second."""
    found, stop = [memory_of(pid)], threading.Event()

    def watch() -> None:
        while not stop.wait(0.01):
            found.append(memory_of(pid))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        stop.set()
        thread.join()
