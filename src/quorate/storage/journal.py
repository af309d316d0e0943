"""A study's events in a database: appended in transactions, each with the hash of the one before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, insert, select, update
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from quorate.errors import InputError, NotFoundError, StaleJournalError, StudyError
from quorate.storage.chain import Clock, linked, now, stamp
from quorate.storage.codec import event_from_text, event_to_text
from quorate.storage.open_records import Draft, OpenRecords
from quorate.storage.records import CaseRecord, from_row, key_of, record_after, to_row
from quorate.storage.schema import CASES, EVENTS, STUDIES
from quorate.study.events import Event, Imported, Opened

if TYPE_CHECKING:
    from quorate.storage.database import Database

PAGE = 5000
"""Events that are read, or held back before they are written, at a time."""
KEYS = 500
"""Cases that are read at a time."""
LONGEST_KEY = 500

_LOCKED = (
    select(STUDIES.c.count, STUDIES.c.head)
    .where(STUDIES.c.id == bindparam("study"))
    .with_for_update(key_share=True)  # SQLite has locked the whole database by then
)
_COUNT = select(STUDIES.c.count, STUDIES.c.head).where(STUDIES.c.id == bindparam("study"))
_HEAD = (
    update(STUDIES)
    .where(STUDIES.c.id == bindparam("study"))
    .where(STUDIES.c.count == bindparam("count_before"), STUDIES.c.head == bindparam("head_before"))
    .values(count=bindparam("n"), head=bindparam("h"))
)
_READ = (
    select(EVENTS.c.number, EVENTS.c.at, EVENTS.c.kind, EVENTS.c.body)
    .where(EVENTS.c.study_id == bindparam("study"), EVENTS.c.number > bindparam("after"))
    .where(EVENTS.c.number <= bindparam("last"))
    .order_by(EVENTS.c.number)
)
_APPEND = insert(EVENTS)
_CASES = select(CASES).where(
    CASES.c.study_id == bindparam("study"), CASES.c.key.in_(bindparam("cases", expanding=True))
)
_PLACE = select(func.max(CASES.c.place)).where(CASES.c.study_id == bindparam("study"))
_NEW_CASE = insert(CASES)
_COLUMNS = [column.name for column in CASES.c if column.name not in ("study_id", "key", "place")]
_OLD_CASE = (
    update(CASES)
    .where(CASES.c.study_id == bindparam("study"), CASES.c.key == bindparam("case"))
    .values({name: bindparam(f"new_{name}") for name in _COLUMNS})
)


class SqlJournal:
    """The journal of one study; for one thread at a time.

    Its length is what this object has seen: events that others append are seen by `catch_up` alone.
    """

    def __init__(self, db: Database, study_id: int, clock: Clock = now) -> None:
        self.db = db
        self.study_id = study_id
        self.clock = clock
        with db.reading() as connection:
            found = connection.execute(
                select(STUDIES.c.name, STUDIES.c.count, STUDIES.c.head).where(STUDIES.c.id == study_id)
            ).one_or_none()
        if found is None:
            raise NotFoundError(f"there is no study number {study_id}; it may have been deleted")
        self.name: str
        self.name, self._count, self._head = found
        self.records = OpenRecords()
        self._batch: _Batch | None = None

    def __len__(self) -> int:
        return self._count if self._batch is None else self._batch.count

    def __iter__(self) -> Iterator[Event]:
        for _, _, event in self._from(0):
            yield event

    def append(self, event: Event) -> None:
        """Keep one more event; once this returns it is not lost, or inside a batch, once that ends."""
        with self.batch():
            assert self._batch is not None  # noqa: S101  # the batch that was just begun, or the one around it
            self._batch.add(event, stamp(self.clock()))

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Everything appended inside is kept as one, on leaving, or none of it where something is raised.

        Where others have appended events, this is refused on entering. The study is locked against them only when
        something is written or read inside, at the latest on leaving: what is thought about meanwhile holds nobody up.
        If they were faster, this is refused then.
        """
        if self._batch is not None:
            yield
            return
        with self.db.glancing() as connection:
            self._check(connection.execute(_COUNT, {"study": self.study_id}).one_or_none())
        with ExitStack() as held:
            self._batch = begun = _Batch(self, lambda: held.enter_context(self.db.writing()))
            try:
                yield
                begun.flush()
            finally:
                self._batch = None
        self._count, self._head = begun.count, begun.head
        self.records.take(begun.draft.after)

    @contextmanager
    def part(self) -> Iterator[None]:
        """A part of a batch: where something is raised inside, what was appended since is dropped.

        What was written since cannot be: then the batch must not go on, and that is raised instead.
        """
        batch = self._batch
        if batch is None:
            raise RuntimeError("a part of a batch needs a batch around it")
        mark = batch.mark()
        try:
            yield
        except BaseException:
            batch.return_to(mark)
            raise

    def lock(self, connection: Connection) -> None:
        """Lock the study for a transaction; refused where it is not as it was seen last."""
        self._check(connection.execute(_LOCKED, {"study": self.study_id}).one_or_none())

    def _check(self, found: Sequence[Any] | None) -> None:
        if found is None:
            raise self._gone()
        if tuple(found) != self.seen:
            raise StaleJournalError(
                f"study {self.name!r} was changed by another program meanwhile: it has {found[0]} events, "
                f"{self._count} were expected; refresh it or open it again, and repeat what you did"
            )

    def _gone(self) -> NotFoundError:
        """What is said of a study that is not there any more; clients of a service read it, so it names no database."""
        return NotFoundError(f"study {self.name!r} was deleted meanwhile; expected one that is still there")

    @property
    def seen(self) -> tuple[int, str]:
        """Number and hash of the last event that this object has seen, those of a batch left out."""
        return self._count, self._head

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """The connection of the batch around this, or of one for this alone."""
        with self.batch():
            assert self._batch is not None  # noqa: S101  # as above
            self._batch.flush()
            yield self._batch.connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees what this journal has appended, a batch that is not done included."""
        if self._batch is None:
            with self.db.reading() as connection:
                yield connection
        else:
            self._batch.flush()
            yield self._batch.connection

    def since(self, number: int) -> list[tuple[int, str, Event]]:
        """Events after one of a number, of those that this object has seen, with their numbers and times."""
        return list(self._from(number))

    def _from(self, number: int, last: int | None = None) -> Iterator[tuple[int, str, Event]]:
        last = len(self) if last is None else last
        while number < last:
            values = {"study": self.study_id, "after": number, "last": min(number + PAGE, last)}
            with self.reading() as connection:
                rows = connection.execute(_READ, values).all()
            if not rows:
                raise InputError(
                    f"study {self.name!r} lacks events after number {number}; "
                    f"see `quorate db verify --db {self.db.url}`"
                )
            for row in rows:
                yield row.number, row.at, event_from_text(row.kind, row.body)
            number = rows[-1].number

    def catch_up(self) -> list[Event]:
        """Events that others have appended since; from now on this object has seen them."""
        if self._batch is not None:
            return []
        with self.db.reading() as connection:
            found = connection.execute(_COUNT, {"study": self.study_id}).one_or_none()
        if found is None:
            raise self._gone()
        if tuple(found) == self.seen:
            return []
        events = [event for _, _, event in self._from(self._count, found[0])]
        self._count, self._head = found  # not before they were read, which may fail
        self.records.forget()
        return events

    def return_to(self, seen: tuple[int, str]) -> None:
        """Have seen no more than at an earlier time: what was caught up with was not taken in after all."""
        self._count, self._head = seen


class _Batch:
    """Appended events that wait to be written together, and the records of their cases."""

    def __init__(self, journal: SqlJournal, begin: Callable[[], Connection]) -> None:
        self._journal = journal
        self._begin = begin
        self.study_id = journal.study_id
        self.name = journal.name
        self.count, self.head = self._written = journal.seen
        self._connection: Connection | None = None
        self._events: list[tuple[Event, str]] = []
        self._rows: list[dict[str, Any]] = []
        self.draft = Draft(journal.records)
        self._stored: set[str] = set()  # cases that were in the read table before
        self._records: dict[str, CaseRecord] = {}

    @property
    def connection(self) -> Connection:
        """That of the transaction, which begins and locks the study when it is first needed."""
        if self._connection is None:
            self._connection = self._begin()
            self._journal.lock(self._connection)
        return self._connection

    def add(self, event: Event, at: str) -> None:
        """Take one more event; one that has no form in a database is refused here."""
        key = key_of(event)
        if key is not None:
            _check_key(key)
        kind, body = event_to_text(event)
        self.count += 1
        self.head = linked(self.head, self.name, self.count, at, kind, body)
        values = {"number": self.count, "at": at, "kind": kind, "body": body, "hash": self.head, "key": key}
        self._rows.append({"study_id": self.study_id, **values})
        self._events.append((event, at))
        if len(self._rows) >= PAGE:
            self.flush()

    def mark(self) -> tuple[int, str]:
        """Where it is: number and hash of the last event."""
        return self.count, self.head

    def return_to(self, mark: tuple[int, str]) -> None:
        """Drop what was added since a mark."""
        number, _ = mark
        if number < self._written[0]:
            raise RuntimeError("what was added to a batch is written already and cannot be dropped alone")
        kept = number - self._written[0]
        del self._rows[kept:], self._events[kept:]
        self.count, self.head = mark

    def _known(self) -> Iterator[CaseRecord]:
        """The records, as they were, of cases that something has happened to."""
        happened = (key_of(event) for event, _ in self._events if not isinstance(event, Opened | Imported))
        keys = [key for key in dict.fromkeys(happened) if key is not None]
        known = {key: self.draft.get(key) for key in keys}
        yield from filter(None, known.values())
        unknown = [key for key, record in known.items() if record is None]
        for first in range(0, len(unknown), KEYS):
            with self._looking() as connection:
                values = {"study": self.study_id, "cases": unknown[first : first + KEYS]}
                yield from map(from_row, connection.execute(_CASES, values).mappings().all())

    @contextmanager
    def _looking(self) -> Iterator[Connection]:
        """A look at what is stored, which holds nobody up before the study is locked: changes are found then."""
        if self._connection is not None:
            yield self._connection
            return
        with self._journal.db.glancing() as connection:
            yield connection

    def _fold(self) -> None:
        """Bring the records up to date."""
        self._records = {record.key: record for record in self._known()}
        self._stored = {*self._records}
        for event, at in self._events:
            key = key_of(event)
            after = record_after(self._records.get(key or ""), event, at)
            if key is not None and after is not None:
                self._records[key] = after

    def _advance(self) -> None:
        """Let the study have the number and hash of the last event; that locks it too, where it is as it was."""
        if self._connection is None:
            self._connection = self._begin()
        before = {"count_before": self._written[0], "head_before": self._written[1]}
        values = {"study": self.study_id, "n": self.count, "h": self.head, **before}
        if self._connection.execute(_HEAD, values).rowcount != 1:
            self._journal.lock(self._connection)  # says why
        self._written = self.count, self.head

    def flush(self) -> None:
        """Write what waits; it lasts once the transaction is committed."""
        if not self._rows:
            return
        self._fold()
        self._advance()
        self.connection.execute(_APPEND, self._rows)
        new = [record for key, record in self._records.items() if key not in self._stored]
        if new:
            place = self.connection.execute(_PLACE, {"study": self.study_id}).scalar_one() or 0
            new = [replace(record, place=place + n) for n, record in enumerate(new, start=1)]
            try:
                self.connection.execute(_NEW_CASE, [{"study_id": self.study_id, **to_row(record)} for record in new])
            except IntegrityError:
                keys = ", ".join(repr(record.key) for record in new[:3]) + (", ..." if len(new) > 3 else "")
                raise StudyError(
                    f"study {self.name!r} has a case of one of these keys already: {keys}; each needs its own"
                ) from None
        old = [record for key, record in self._records.items() if key in self._stored]
        if old:
            rows = map(to_row, old)
            named = [{f"new_{name}": row[name] for name in _COLUMNS} | {"case": row["key"]} for row in rows]
            self.connection.execute(_OLD_CASE, [{"study": self.study_id, **row} for row in named])
        for record in (*new, *old):
            self.draft.put(record)
        self._events, self._rows, self._stored, self._records = [], [], set(), {}


def _check_key(key: str) -> None:
    """Refuse a key that not every database can hold, or find again."""
    if len(key) > LONGEST_KEY:
        raise InputError(f"a case's key of {len(key)} characters is too long to store; expected up to {LONGEST_KEY}")
    if "\0" in key or any("\ud800" <= letter <= "\udfff" for letter in key):
        raise InputError(f"the key {key!r} holds what a database cannot store; expected letters, digits and signs")
