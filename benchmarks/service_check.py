"""What a database holds after people have voted in it, against what they were told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from quorate.storage import studies
from quorate.storage.database import Database
from quorate.study.events import Adopted, Leased, Settled, Voted, Withdrawn

NEW = "new-"
"""What the keys of cases begin with that came while people voted."""

Seats = Counter[tuple[str, str]]
"""How often something happened to a case and an expert."""


class Lag(NamedTuple):
    """When a case settled, and how many seconds later that was learned of."""

    settled: datetime
    seconds: float


class LostVoteError(Exception):
    """A vote was lost, doubled or asked for twice."""


def checked(url: str, told: Mapping[str, Seats]) -> list[Lag]:
    """Every vote that was acknowledged, by study, is stored once, and nobody was asked twice.

    Gives how long each case that settled waited for the fit that has learned of it.
    """
    with Database.open(url) as db:
        problems = db.verify()
        if problems:
            raise LostVoteError("; ".join(problems))
        return [lag for study, votes in told.items() for lag in _checked(studies.load(db, study), votes)]


def _checked(stored: studies.StoredStudy, told: Seats) -> list[Lag]:
    panel = stored.study.panel
    cast, asked = Seats(), Seats()
    waiting: list[tuple[int, datetime]] = []  # numbers and times of cases that settled and were not learned of yet
    lags: list[Lag] = []
    for number, at, event in stored.journal.since(0):
        match event:
            case Voted(key, expert) if key.startswith(NEW):
                cast[key, panel.experts[expert]] += 1
            case Leased(key, expert) if key.startswith(NEW):
                asked[key, panel.experts[expert]] += 1
            case Settled(key) if key.startswith(NEW):
                waiting.append((number, datetime.fromisoformat(at)))
            case Adopted(seen=seen):
                now = datetime.fromisoformat(at)
                lags += [Lag(then, (now - then).total_seconds()) for settled, then in waiting if settled <= seen]
                waiting = [one for one in waiting if one[0] > seen]
            case Withdrawn():
                raise LostVoteError("a vote was withdrawn, which nobody did")
    if cast != told:
        raise LostVoteError(f"study {stored.name}: {told.total()} votes acknowledged, {cast.total()} stored")
    doubled = [seat for seat, count in asked.items() if count > 1]
    if doubled:
        raise LostVoteError(f"study {stored.name}: asked twice: {doubled[:3]}")
    unasked = [seat for seat in cast if seat not in asked]
    if unasked:
        raise LostVoteError(f"study {stored.name}: votes that nobody asked for: {unasked[:3]}")
    return lags
