"""A live study whose clock stands still and whose desks can be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from quorate.service.arrivals import Arrival
from quorate.service.live import LiveStudy
from quorate.storage import studies
from quorate.storage.database import Database

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


Make = Callable[..., Table]


def again(table: Table, database: Database) -> LiveStudy:
    """The study after a crash."""
    live = LiveStudy(studies.load(database, "heart"), table.live.watcher, clock=table.clock)
    live.start()
    return live
