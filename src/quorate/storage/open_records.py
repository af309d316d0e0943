"""The records of open cases as they are stored, so that what happens to one need not read it first."""

from __future__ import annotations

from collections.abc import Mapping

from quorate.storage.records import CaseRecord

MOST = 10_000
"""How many are kept; those of further cases are read when something happens to them."""


class OpenRecords:
    """What the last commits of a journal left of its open cases; it must forget all once others have written."""

    def __init__(self) -> None:
        self._kept: dict[str, CaseRecord] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._kept

    def get(self, key: str) -> CaseRecord | None:
        """The record of an open case, if it is kept."""
        return self._kept.get(key)

    def take(self, after: Mapping[str, CaseRecord | None]) -> None:
        """What was committed: records of open cases; None of one that is not open any more."""
        for key, record in after.items():
            if record is None:
                self._kept.pop(key, None)
            elif key in self._kept or len(self._kept) < MOST:
                self._kept[key] = record

    def forget(self) -> None:
        """Others have written: what is kept may not be what is stored."""
        self._kept = {}


class Draft:
    """Records as they will be stored once a transaction is committed, before what is kept of those committed."""

    def __init__(self, kept: OpenRecords) -> None:
        self._kept = kept
        self.after: dict[str, CaseRecord | None] = {}

    def get(self, key: str) -> CaseRecord | None:
        """The record of an open case as it is by now, if it is known without reading it."""
        return self.after[key] if key in self.after else self._kept.get(key)

    def put(self, record: CaseRecord) -> None:
        """A record was written; one that was known before is never known as it was."""
        known = record.key in self.after or record.key in self._kept
        if record.state != "open":
            if known:
                self.after[record.key] = None
        elif known or len(self.after) < MOST:
            self.after[record.key] = record
