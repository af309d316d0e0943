"""What a database holds after a crash, against what the service had acknowledged before it."""

from __future__ import annotations

import csv
import io
from collections import Counter

from quorate.storage import studies
from quorate.storage.database import Database
from quorate.study.events import Abstained, Amended, Event, Expired, Leased, Opened, Reopened, Settled, Voted, Withdrawn
from tests.faults.load import CLASSES, EXPERTS, STUDIES, Attempt, Fate, Load

VERBS: dict[type[Event], str] = {Voted: "vote", Amended: "amend", Withdrawn: "withdraw", Abstained: "abstain"}
Seat = tuple[str, str, str]  # study, case, expert
Deed = tuple[str, str | None]  # verb and vote


def problems(url: str, load: Load) -> list[str]:
    """Everything that is wrong: hashes, lost or doubled writes, experts who were asked twice."""
    with Database.open(url) as db:
        found = db.verify()
        for study in STUDIES:
            events = list(studies.load(db, study).journal)
            found += _openings(study, events, load)
            found += _asked_twice(study, events)
            deeds, idle = _deeds(study, events), _idle(study, events)
            tried = {seat: attempts for seat, attempts in load.attempts.items() if seat[0] == study}
            for seat in {*deeds, *tried}:
                wrong = mismatch(deeds.get(seat, []), tried.get(seat, []), idle=seat in idle)
                if wrong is not None:
                    found.append(f"{seat}: {wrong}; stored {deeds.get(seat)}, tried {tried.get(seat)}")
    return found


def _openings(study: str, events: list[Event], load: Load) -> list[str]:
    opened = Counter(event.case.key for event in events if isinstance(event, Opened))
    tried = {key: fate for (where, key), fate in load.openings.items() if where == study}
    lost = [key for key, fate in tried.items() if fate is Fate.DONE and not opened[key]]
    odd = [key for key, number in opened.items() if number > 1 or key not in tried]
    return [f"{study}: case {key} is lost" for key in lost] + [f"{study}: case {key} was doubled" for key in odd]


def _asked_twice(study: str, events: list[Event]) -> list[str]:
    """Nobody is asked twice about a case.

    Unless they took back the vote that they were asked for, or it was not needed any more, and later it was.
    """
    asked, settled = set[tuple[str, int]](), set[str]()
    found = []
    for event in events:
        if isinstance(event, Leased):
            if (event.key, event.expert) in asked:
                found.append(f"{study}: expert {event.expert} was asked twice about {event.key}")
            asked.add((event.key, event.expert))
        elif isinstance(event, Withdrawn) or (isinstance(event, Expired) and event.key in settled):
            asked.discard((event.key, event.expert))
        elif isinstance(event, Settled):
            settled.add(event.key)
        elif isinstance(event, Reopened):
            settled.discard(event.key)
    return found


def _deeds(study: str, events: list[Event]) -> dict[Seat, list[Deed]]:
    """What each expert did about each case, as the journal has it."""
    found: dict[Seat, list[Deed]] = {}
    for event in events:
        if isinstance(event, Voted | Amended | Withdrawn | Abstained):
            vote = CLASSES[event.vote] if isinstance(event, Voted | Amended) else None
            found.setdefault((study, event.key, EXPERTS[event.expert]), []).append((VERBS[type(event)], vote))
    return found


def _idle(study: str, events: list[Event]) -> set[Seat]:
    """Who let a question pass on a case that has settled, or that has nobody else: abstaining changes nothing there."""
    passed, settled, left = set[tuple[str, int]](), set[str](), Counter[str]()
    for event in events:
        if isinstance(event, Expired):
            passed.add((event.key, event.expert))
        elif isinstance(event, Settled):
            settled.add(event.key)
        elif isinstance(event, Abstained):
            left[event.key] += 1
    return {(study, key, EXPERTS[expert]) for key, expert in passed if key in settled or left[key] == len(EXPERTS) - 1}


def mismatch(stored: list[Deed], tried: list[Attempt], *, idle: bool = False) -> str | None:
    """Why a journal cannot come of some attempts: what was done is there, in order and once, and nothing else is.

    Of one who is idle, abstaining leaves no trace.
    """
    left, vote, abstained = list(stored), None, False
    for attempt in tried:
        known = abstained if attempt.verb == "abstain" else attempt.vote == vote and not abstained
        if known:
            continue  # the same again changes nothing
        if left and left[0] == (attempt.verb, attempt.vote):
            if attempt.fate is Fate.REFUSED:
                return f"{attempt.verb} was refused and is stored"
            left.pop(0)
            vote, abstained = attempt.vote, attempt.verb == "abstain"
        elif attempt.fate is Fate.DONE and not (idle and attempt.verb == "abstain"):
            return f"{attempt.verb} {attempt.vote or ''} was acknowledged and is not stored"
    return f"{left[0]} is stored and was not asked for" if left else None


def standing(url: str) -> dict[str, dict[str, dict[str, str]]]:
    """The votes that stand, by study, case and expert, as the journals have them."""
    with Database.open(url) as db:
        found: dict[str, dict[str, dict[str, str]]] = {}
        for study in STUDIES:
            cases = found[study] = {}
            for event in studies.load(db, study).journal:
                if isinstance(event, Opened):
                    cases[event.case.key] = {}
                elif isinstance(event, Voted | Amended):
                    cases[event.key][EXPERTS[event.expert]] = CLASSES[event.vote]
                elif isinstance(event, Withdrawn):
                    del cases[event.key][EXPERTS[event.expert]]
    return found


def exported(text: str) -> dict[str, dict[str, str]]:
    """The votes of an export, by case and expert."""
    found = {}
    for row in csv.DictReader(io.StringIO(text)):
        names, votes = row["voted"].split(";"), row["votes"].split(";")
        found[row["case"]] = dict(zip(names, votes, strict=True)) if row["voted"] else {}
    return found


def desks(url: str, study: str) -> dict[str, list[str]]:
    """The cases that wait for each expert, as a journal has them."""
    with Database.open(url) as db:
        state = studies.load(db, study).study.state
    return {name: sorted(key for key, asked in state.asked.items() if name in asked.pending) for name in EXPERTS}
