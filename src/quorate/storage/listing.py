"""Pages, counts and streams of the read table, and the events of one case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Select, bindparam, func, select

from quorate.core.case import Show
from quorate.errors import InputError
from quorate.storage.codec import event_from_text
from quorate.storage.database import Database
from quorate.storage.records import CaseRecord, from_row, show_of
from quorate.storage.schema import CASES, EVENTS, STATES
from quorate.study.events import Event

LONGEST_PAGE = 1000
_AT_A_TIME = 500


_FOUND = select(CASES).where(CASES.c.study_id == bindparam("study"), CASES.c.key == bindparam("case"))
_SHOWN = select(CASES.c.key, CASES.c.show).where(
    CASES.c.study_id == bindparam("study"), CASES.c.key.in_(bindparam("cases", expanding=True))
)


def find(db: Database, study_id: int, key: str) -> CaseRecord | None:
    """The record of one case; None where there is none."""
    with db.glancing() as connection:
        row = connection.execute(_FOUND, {"study": study_id, "case": key}).mappings().one_or_none()
    return None if row is None else from_row(row)


def shown(db: Database, study_id: int, keys: Sequence[str]) -> dict[str, Show | None]:
    """What experts are shown of some cases."""
    if not keys:
        return {}
    with db.glancing() as connection:
        rows = connection.execute(_SHOWN, {"study": study_id, "cases": list(keys)}).all()
    found = {row.key: row.show for row in rows}
    return {key: show_of(key, found.get(key)) for key in keys}


def timeline(db: Database, study_id: int, key: str) -> list[tuple[int, str, Event]]:
    """Everything that happened to a case, with the numbers and times of the events."""
    wanted = (
        select(EVENTS.c.number, EVENTS.c.at, EVENTS.c.kind, EVENTS.c.body)
        .where(EVENTS.c.study_id == study_id, EVENTS.c.key == key)
        .order_by(EVENTS.c.number)
    )
    with db.reading() as connection:
        rows = connection.execute(wanted).all()
    return [(number, at, event_from_text(kind, body)) for number, at, kind, body in rows]


def page(
    db: Database,
    study_id: int,
    *,
    state: str | None = None,
    after: int | None = None,
    limit: int = 100,
    newest_first: bool = False,
) -> list[CaseRecord]:
    """Cases in the order they came, or the other way round, from the one after a place on."""
    if not 1 <= limit <= LONGEST_PAGE:
        raise InputError(f"a page of {limit} cases is out of range; expected 1 to {LONGEST_PAGE}")
    wanted = _of(study_id, state)
    if after is not None:
        wanted = wanted.where(CASES.c.place < after if newest_first else CASES.c.place > after)
    wanted = wanted.order_by(CASES.c.place.desc() if newest_first else CASES.c.place).limit(limit)
    with db.reading() as connection:
        return [from_row(row) for row in connection.execute(wanted).mappings()]


def counts(db: Database, study_id: int) -> dict[str, int]:
    """How many cases are in each state."""
    grouped = select(CASES.c.state, func.count()).where(CASES.c.study_id == study_id).group_by(CASES.c.state)
    with db.reading() as connection:
        found = {state: int(number) for state, number in connection.execute(grouped)}
    return {state: found.get(state, 0) for state in STATES}


def stream(db: Database, study_id: int, *, state: str | None = None) -> Iterator[CaseRecord]:
    """All cases of one moment in the order they came, a few of them in memory at a time."""
    wanted = _of(study_id, state).order_by(CASES.c.place)
    with db.reading() as connection:
        for row in connection.execution_options(yield_per=_AT_A_TIME).execute(wanted).mappings():
            yield from_row(row)


def _of(study_id: int, state: str | None = None) -> Select[tuple[object, ...]]:
    wanted: Select[tuple[object, ...]] = select(CASES).where(CASES.c.study_id == study_id)
    if state is None:
        return wanted
    if state not in STATES:
        raise InputError(f"no state {state!r} of a case; expected {', '.join(STATES)}")
    return wanted.where(CASES.c.state == state)
