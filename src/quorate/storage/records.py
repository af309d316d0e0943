"""What is read of a case: a row of the read table, as a pure fold over the events of that case."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from quorate.core.case import Case, Show
from quorate.errors import StudyError
from quorate.storage.codec import canonical, from_plain, plain, to_plain
from quorate.study.events import (
    Abstained,
    Amended,
    Audited,
    Event,
    Expired,
    Imported,
    Leased,
    Opened,
    Reopened,
    Settled,
    Voted,
    Withdrawn,
)

CaseState = Literal["open", "settled", "imported"]
How = Literal["asked", "voted", "passed", "recalled", "abstained", "withdrawn"]


@dataclass(frozen=True)
class Answer:
    """What came of one expert's part in a case, and when."""

    expert: int
    vote: int | None
    how: str  # one of How
    at: str


@dataclass(frozen=True)
class CaseRecord:
    """A case as lists, pages and exports show it."""

    key: str
    opened_at: str
    place: int = 0  # from 1, as they came; 0 before it has one
    state: CaseState = "open"
    settled_at: str | None = None
    outcome: str | None = None
    probability: float | None = None
    low: float | None = None
    high: float | None = None
    stated_error: float | None = None
    reason: str | None = None
    kept: bool | None = None
    human_votes: int = 0  # of an open case, those by now; of a settled one, those it settled with
    audit: bool = False
    would_be: Audited | None = None  # what an audited case would have settled as
    asked: tuple[Answer, ...] = ()  # in the order they were asked, or voted unasked
    changed: bool = False  # a vote came, changed or went after it had settled
    show: Show | None = None

    @property
    def votes(self) -> dict[int, int]:
        """Votes that stand, by expert."""
        return {one.expert: one.vote for one in self.asked if one.vote is not None}


def key_of(event: Event) -> str | None:
    """The case that an event is of; None where it is of none."""
    case: object = getattr(event, "case", None)
    key: object = case.key if isinstance(case, Case) else getattr(event, "key", None)
    return key if isinstance(key, str) else None


def record_after(record: CaseRecord | None, event: Event, at: str) -> CaseRecord | None:
    """The record of a case after one more event, None where the event is of no single case.

    >>> record = record_after(None, Opened(Case("scan-1", ((0.2, 0.8),), (True, True))), "2025-01-01")
    >>> record_after(record, Voted("scan-1", expert=1, vote=0), "2025-01-02").asked
    (Answer(expert=1, vote=0, how='voted', at='2025-01-02'),)
    """
    key = key_of(event)
    if key is None:
        return None
    if isinstance(event, Opened | Imported):
        if record is not None:
            raise StudyError(f"case {key!r} exists already; each case needs its own key")
        return _arrived(event, at)
    if record is None:
        raise StudyError(f"case {key!r} was never opened; open it first, or check its key")
    return _followed(record, event, at)


def _arrived(event: Opened | Imported, at: str) -> CaseRecord:
    case = event.case
    asked = tuple(Answer(expert, vote, "voted", at) for expert, vote in case.votes)
    record = CaseRecord(key=case.key, opened_at=at, asked=asked, human_votes=len(asked))
    if isinstance(event, Imported):
        return replace(record, state="imported")
    return replace(record, audit=event.audit, show=event.show)


def _followed(record: CaseRecord, event: Event, at: str) -> CaseRecord:
    match event:
        case Leased(_, expert):
            return replace(record, asked=(*record.asked, Answer(expert, None, "asked", at)))
        case Expired(_, expert):
            how: How = "passed" if record.state == "open" else "recalled"  # nobody needs it any more
            return replace(record, asked=_answered(record, Answer(expert, None, how, at)))
        case Abstained(_, expert):
            return replace(record, asked=_answered(record, Answer(expert, None, "abstained", at)))
        case Voted(_, expert, vote) | Amended(_, expert, vote):
            return _voted(record, Answer(expert, vote, "voted", at))
        case Withdrawn(_, expert):
            return _voted(record, Answer(expert, None, "withdrawn", at))
        case Settled():
            return _settled(record, event, at)
        case Audited():
            return replace(record, would_be=event)
        case Reopened():
            return _reopened(record)
    return record


def _answered(record: CaseRecord, answer: Answer) -> tuple[Answer, ...]:
    """The answer takes the place of the question, or of the answer before; a vote taken back stays where it is."""
    for place in range(len(record.asked) - 1, -1, -1):
        before = record.asked[place]
        if before.expert == answer.expert and before.how != "withdrawn":
            return (*record.asked[:place], answer, *record.asked[place + 1 :])
    return (*record.asked, answer)


def _voted(record: CaseRecord, answer: Answer) -> CaseRecord:
    after = replace(record, asked=_answered(record, answer))
    return replace(after, human_votes=len(after.votes)) if record.state == "open" else replace(after, changed=True)


def _settled(record: CaseRecord, event: Settled, at: str) -> CaseRecord:
    low, high = event.interval or (None, None)
    return replace(
        record,
        state="settled",
        settled_at=at,
        outcome=event.outcome,
        probability=event.probability,
        low=low,
        high=high,
        stated_error=event.stated_error,
        reason=event.reason,
        kept=event.kept,
        human_votes=event.human_votes,
        changed=False,
    )


def _reopened(record: CaseRecord) -> CaseRecord:
    """Open again, with the votes that stand and what an audit found."""
    return CaseRecord(
        key=record.key,
        opened_at=record.opened_at,
        place=record.place,
        human_votes=len(record.votes),
        audit=record.audit,
        would_be=record.would_be,
        asked=record.asked,
        show=record.show,
    )


def to_row(record: CaseRecord) -> dict[str, Any]:
    """The columns of a record."""
    row = dict(vars(record))
    row["would_be"] = None if record.would_be is None else canonical(to_plain(record.would_be))
    row["show"] = None if record.show is None else canonical(to_plain(record.show))
    row["asked"] = canonical([[one.expert, one.vote, one.how, one.at] for one in record.asked])
    return row


def from_row(row: Any) -> CaseRecord:
    """The record of a row of the read table."""
    columns = {name: row[name] for name in CaseRecord.__dataclass_fields__}
    what = f"case {columns['key']!r} in the read table"
    would_be = columns["would_be"]
    columns["would_be"] = None if would_be is None else from_plain(Audited, plain(would_be, what))
    columns["show"] = show_of(columns["key"], columns["show"])
    columns["asked"] = tuple(Answer(*one) for one in plain(columns["asked"], what))
    return CaseRecord(**columns)


def show_of(key: str, text: str | None) -> Show | None:
    """What experts are shown of a case, as it is stored."""
    return None if text is None else from_plain(Show, plain(text, f"case {key!r} in the read table"))
