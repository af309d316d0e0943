from __future__ import annotations

from functools import reduce

import pytest

from quorate.core.case import Case, Show
from quorate.errors import InputError, StudyError
from quorate.storage.records import Answer, CaseRecord, from_row, key_of, record_after, to_row
from quorate.study.events import (
    Abstained,
    Amended,
    Audited,
    Away,
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
from tests.contracts.happenings import EVERY_KIND

OPENED = Opened(Case("a", (None,), (True, True, True)), audit=True, show=Show("look"))


def after(*events: Event) -> CaseRecord:
    """The record once events happened at seconds 1, 2, 3, ..."""
    at = enumerate(events, start=1)
    found = reduce(lambda record, one: record_after(record, one[1], f"t{one[0]}"), at, None)
    assert isinstance(found, CaseRecord)
    return found


def settled(votes: int) -> Settled:
    return Settled("a", "yes", 0.97, 0.03, "sure", human_votes=votes, interval=(0.9, 0.99))


def test_a_case_that_was_opened() -> None:
    assert after(OPENED) == CaseRecord(key="a", opened_at="t1", audit=True, show=Show("look"))


def test_a_vote_takes_the_place_of_its_question() -> None:
    record = after(OPENED, Leased("a", 2), Leased("a", 0), Voted("a", 2, 1), Voted("a", 1, 0))
    assert record.asked == (Answer(2, 1, "voted", "t4"), Answer(0, None, "asked", "t3"), Answer(1, 0, "voted", "t5"))
    assert record.human_votes == 2
    assert record.votes == {2: 1, 1: 0}
    assert not record.changed


@pytest.mark.parametrize(("event", "how"), [(Expired("a", 0), "passed"), (Abstained("a", 0), "abstained")])
def test_no_answer(event: Event, how: str) -> None:
    record = after(OPENED, Leased("a", 0), event)
    assert record.asked == (Answer(0, None, how, "t3"),)
    assert record.human_votes == 0
    assert after(OPENED, Abstained("a", 1)).asked == (Answer(1, None, "abstained", "t2"),)


def test_a_late_vote_after_the_question_passed() -> None:
    record = after(OPENED, Leased("a", 0), Expired("a", 0), Voted("a", 0, 1))
    assert record.asked == (Answer(0, 1, "voted", "t4"),)


def test_amended_and_withdrawn_votes() -> None:
    record = after(OPENED, Voted("a", 0, 1), Amended("a", 0, 0), Voted("a", 1, 1), Withdrawn("a", 1))
    assert record.asked == (Answer(0, 0, "voted", "t3"), Answer(1, None, "withdrawn", "t5"))
    assert record.human_votes == 1
    again = record_after(record, Leased("a", 1), "t6")
    assert again is not None
    told = record_after(again, Voted("a", 1, 0), "t7")
    assert told is not None
    assert told.asked[1:] == (Answer(1, None, "withdrawn", "t5"), Answer(1, 0, "voted", "t7"))


def test_settling() -> None:
    record = after(OPENED, Voted("a", 0, 1), settled(1))
    assert (record.state, record.settled_at, record.outcome, record.reason) == ("settled", "t3", "yes", "sure")
    assert (record.probability, record.low, record.high, record.stated_error) == (0.97, 0.9, 0.99, 0.03)
    assert (record.kept, record.human_votes, record.changed) == (True, 1, False)


@pytest.mark.parametrize("event", [Voted("a", 1, 1), Amended("a", 0, 0), Withdrawn("a", 0)])
def test_a_vote_after_settling_changes_no_count(event: Event) -> None:
    record = after(OPENED, Voted("a", 0, 1), settled(1), event)
    assert record.changed
    assert (record.state, record.human_votes, record.outcome) == ("settled", 1, "yes")


def test_a_case_that_no_person_saw() -> None:
    assert after(OPENED, settled(0)).human_votes == 0


def test_an_audit_and_a_case_that_is_open_again() -> None:
    would_be = Audited("a", "no", 0.9, 0.1, "sure", kept=True, human_votes=0)
    record = after(OPENED, would_be, Voted("a", 0, 1), settled(1), Voted("a", 1, 0), Reopened("a"))
    assert record.would_be == would_be
    assert (record.state, record.outcome, record.settled_at, record.low, record.kept) == ("open",) + (None,) * 4
    assert (record.human_votes, record.changed, record.audit, record.show) == (2, False, True, Show("look"))


def test_an_imported_case() -> None:
    record = after(Imported(Case("a", (None,), (True, True), ((1, 0), (0, 1)))))
    assert (record.state, record.human_votes, record.settled_at) == ("imported", 2, None)
    assert record.asked == (Answer(1, 0, "voted", "t1"), Answer(0, 1, "voted", "t1"))


def test_events_of_no_single_case() -> None:
    assert key_of(Away(1)) is None
    assert record_after(None, Away(1), "t1") is None


def test_events_that_cannot_be() -> None:
    with pytest.raises(StudyError, match="'a' exists already"):
        after(OPENED, OPENED)
    with pytest.raises(StudyError, match="'a' was never opened"):
        record_after(None, Voted("a", 0, 1), "t1")


def test_rows_come_back() -> None:
    records: dict[str, CaseRecord] = {}
    for event in EVERY_KIND:
        key = key_of(event)
        if key is not None:
            record = record_after(records.get(key), event, "2025")
            assert record is not None
            records[key] = record
            assert from_row(to_row(record)) == record
    with pytest.raises(InputError, match="case 'a' in the read table is not JSON"):
        from_row({**to_row(after(OPENED)), "asked": "["})
