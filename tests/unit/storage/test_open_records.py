"""Records of open cases that are kept are those that are stored."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quorate.storage import open_records
from quorate.storage.open_records import Draft, OpenRecords
from quorate.storage.records import CaseRecord

A, B, C = (CaseRecord(key, opened_at="2025-01-01") for key in "abc")


def test_a_draft_is_kept_once_it_is_taken() -> None:
    kept = OpenRecords()
    draft = Draft(kept)
    draft.put(A)
    assert (draft.get("a"), kept.get("a")) == (A, None)
    kept.take(draft.after)
    assert kept.get("a") == A


def test_a_case_that_settled_is_not_known_as_it_was() -> None:
    kept = OpenRecords()
    kept.take({"a": A})
    draft = Draft(kept)
    draft.put(replace(A, human_votes=1))
    assert draft.get("a") == replace(A, human_votes=1)
    draft.put(replace(A, state="settled"))
    assert draft.get("a") is None
    assert kept.get("a") == A  # until it is committed
    kept.take(draft.after)
    assert kept.get("a") is None


def test_so_many_are_kept_and_those_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_records, "MOST", 2)
    kept = OpenRecords()
    kept.take({"a": A, "b": B, "c": C})
    assert [kept.get(key) for key in "abc"] == [A, B, None]
    draft = Draft(kept)
    for record in (C, replace(C, key="d"), replace(B, human_votes=1)):
        draft.put(record)
    kept.take(draft.after)
    assert [kept.get(key) for key in "abc"] == [A, replace(B, human_votes=1), None]


def test_nothing_is_kept_once_others_have_written() -> None:
    kept = OpenRecords()
    kept.take({"a": A})
    kept.forget()
    assert kept.get("a") is None
