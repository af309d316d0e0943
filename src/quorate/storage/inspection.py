"""Whether everything in a database is as quorate wrote it: hashes, the read table derived anew, and draws."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.engine import Connection

from quorate.errors import QuorateError
from quorate.storage.chain import linked, origin
from quorate.storage.codec import event_from_text
from quorate.storage.records import CaseRecord, key_of, record_after, to_row
from quorate.storage.schema import CASES, DRAWS, EVENTS, STUDIES
from quorate.study.events import Adopted, Event

SHOWN = 20
"""Problems of one sort that are told of a study; of the rest, only how many."""


def problems(connection: Connection) -> list[str]:
    """Every difference between what is stored and what its hashes and its events say."""
    found: list[str] = []
    for study in connection.execute(select(STUDIES).order_by(STUDIES.c.id)).mappings().all():
        found += _Inspection(connection, study).problems()
    return found


@dataclass
class _Inspection:
    """One study, its events read in order."""

    connection: Connection
    study: Any
    found: list[str] = field(default_factory=list)
    records: dict[str, CaseRecord] = field(default_factory=dict)
    digest: str = ""  # of the draws in force
    readable: bool = True

    def problems(self) -> list[str]:
        """Everything that is wrong with the study."""
        study = self.study
        count, head = self._walk()
        if count != study["count"]:
            self._tell(f"has {count} events, and says that it has {study['count']}")
        if head != study["head"]:
            self._tell("does not end with the event that it says it does: its row, or the last events, were changed")
        if self.readable:
            self._compare(list(self._differences()))
            self._compare(list(self._draws()))
        return self.found

    def _tell(self, problem: str) -> None:
        self.found.append(f"study {self.study['name']!r}: {problem}")

    def _compare(self, differences: list[str]) -> None:
        for one in differences[:SHOWN]:
            self._tell(one)
        if len(differences) > SHOWN:
            self._tell(f"and {len(differences) - SHOWN} more like it")

    def _walk(self) -> tuple[int, str]:
        """Number and hash of the last event, by what is stored; tells of every break of the chain."""
        study = self.study
        expected, number = origin(study["name"], study["created_at"], study["config"]), 0
        rows = select(EVENTS).where(EVENTS.c.study_id == study["id"]).order_by(EVENTS.c.number)
        broken = []
        for row in self.connection.execution_options(yield_per=5000).execute(rows).mappings():
            if row["number"] != number + 1:
                broken.append(f"events {number + 1} to {row['number'] - 1} are missing")
            number = row["number"]
            values = (study["name"], number, row["at"], row["kind"], row["body"])
            if row["hash"] != linked(expected, *values):
                broken.append(f"event {number} ({row['kind']}) was changed, or is not the one that was appended there")
            expected = row["hash"]  # so that one changed row is told once
            self._fold(row)
        self._compare(broken)
        return number, expected

    def _fold(self, row: Any) -> None:
        if not self.readable:
            return
        try:
            event = event_from_text(row["kind"], row["body"])
            if row["key"] != key_of(event):
                self._tell(f"event {row['number']} is listed under case {row['key']!r}, and is of {key_of(event)!r}")
            self._record(event, row["at"])
        except QuorateError as error:
            self.readable = False
            self._tell(f"event {row['number']} cannot be read, nor what comes after it: {error}")

    def _record(self, event: Event, at: str) -> None:
        key = key_of(event)
        if key is None:
            if isinstance(event, Adopted):
                self.digest = event.digest
            return
        before = self.records.get(key)
        after = record_after(before, event, at)
        if after is not None:
            self.records[key] = replace(after, place=len(self.records) + 1) if before is None else after

    def _differences(self) -> Iterator[str]:
        """Rows of the read table that are not what the events come to."""
        rows = select(CASES).where(CASES.c.study_id == self.study["id"]).order_by(CASES.c.place)
        for row in self.connection.execution_options(yield_per=5000).execute(rows).mappings():
            record = self.records.pop(row["key"], None)
            if record is None:
                yield f"case {row['key']!r} is in the read table and in no event"
                continue
            wrong = [name for name, value in to_row(record).items() if row[name] != value]
            if wrong:
                yield f"case {row['key']!r} is not what its events say: {', '.join(wrong)}"
        for key in self.records:
            yield f"case {key!r} is not in the read table"

    def _draws(self) -> Iterator[str]:
        digests = []
        rows = select(DRAWS.c.digest, DRAWS.c.content).where(DRAWS.c.study_id == self.study["id"])
        for digest, content in self.connection.execute(rows):
            digests.append(digest)
            if hashlib.sha256(content).hexdigest() != digest:
                yield f"the draws {digest} were changed; loading the study learns them anew"
        if self.digest and self.digest not in digests:
            yield f"the draws in force, {self.digest}, are missing; loading the study learns them anew"
