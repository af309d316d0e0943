"""A database by its URL: SQLite or PostgreSQL, its connections, transactions and version."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sqlalchemy import inspect, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from quorate.errors import InputError, StorageError
from quorate.storage.engines import Engines, engines_of, parsed, said

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

VERSIONS = ("0001",)
"""Versions of the tables, oldest first; a database must have the last."""

UNREACHED = (OperationalError, InterfaceError, PoolTimeoutError)


class Database:
    """Where studies and accounts are kept; safe to share between threads."""

    def __init__(self, url: URL, engines: Engines) -> None:
        self.url = said(url)  # without its password
        self._path = Path(url.database) if engines.sqlite and url.database else None
        self._engines = engines
        self._lock = threading.Lock()
        self._mine = threading.local()
        self._closing = weakref.finalize(self, engines.close)  # a study may be all that anybody holds of it

    @classmethod
    def open(cls, url: str, *, create: bool = False) -> Self:
        """The database of a URL, with the tables of this version; with `create`, an empty one is given them."""
        read = parsed(url)
        self = cls(read, engines_of(read, create=create))
        try:
            version = self.version()
            if version is None and create:
                self.upgrade()
            else:
                self._check(version)
        except BaseException:
            self.close()
            raise
        return self

    @classmethod
    def unchecked(cls, url: str) -> Self:
        """The database of a URL, made if need be, whatever its tables are: for upgrading them."""
        read = parsed(url)
        return cls(read, engines_of(read, create=True))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all connections."""
        self._closing()

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file on this machine, written by one transaction at a time."""
        return self._engines.sqlite

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one moment of the database, and cannot write."""
        with self._saying("read"), self._engines.reader.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def glancing(self) -> Iterator[Connection]:
        """A connection for a single look, which needs no transaction of its own: several looks see several moments."""
        with self._saying("read"), self._engines.glancer.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction, committed on leaving, undone where that fails; one at a time in a thread."""
        if getattr(self._mine, "writing", False):
            raise RuntimeError("a thread that is writing to a database cannot begin to write again")
        with self._turn(), self._saying("written"), self._engines.writer.begin() as connection:
            yield connection

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """SQLite has one writer at a time: threads queue here, since its own waiting is neither fast nor fair."""
        with self._lock if self.is_sqlite else nullcontext():
            self._mine.writing = True
            try:
                yield
            finally:
                self._mine.writing = False

    @contextmanager
    def _saying(self, done: str) -> Iterator[None]:
        """What a database says when it fails, in one line and by its address."""
        try:
            yield
        except UNREACHED as error:
            raise StorageError(f"the database {self.url} cannot be {done}: {_why(error)}") from error

    def version(self) -> str | None:
        """The version of its tables; None where it is empty."""
        try:
            with self.reading() as connection:
                return _version(connection, self.url)
        except DBAPIError as error:  # SQLite says only on reading that a file is something else
            raise StorageError(f"the database {self.url} cannot be read: {_why(error)}") from None

    def _check(self, version: str | None) -> None:
        if version == VERSIONS[-1]:
            return
        if version is None:
            raise StorageError(f"the database {self.url} is empty; make its tables with {self._command}")
        if version in VERSIONS:
            raise StorageError(
                f"the database {self.url} has tables of version {version}, this version of quorate needs "
                f"{VERSIONS[-1]}; run {self._command}, after a backup"
            )
        raise self._newer(version)

    @property
    def _command(self) -> str:
        return f"`quorate db upgrade --db {self.url}`"

    def _newer(self, version: str) -> StorageError:
        return StorageError(
            f"the database {self.url} has tables of version {version}, of a newer quorate than this, which knows "
            f"up to {VERSIONS[-1]}; install that one"
        )

    def upgrade(self) -> str | None:
        """Bring the tables to this version in one transaction; says the version that they had."""
        from quorate.storage.upgrades import upgrade  # loads Alembic, which is needed for nothing else

        with self.writing() as connection:
            if not self.is_sqlite:  # two programs may start at once: one makes the tables, the other finds them
                connection.execute(text("SELECT pg_advisory_xact_lock(81736251)"))
            before = _version(connection, self.url)
            if before is not None and before not in VERSIONS:
                raise self._newer(before)
            if before != VERSIONS[-1]:
                upgrade(connection)
        return before

    def verify(self) -> list[str]:
        """Everything in it that is not as this program wrote it, in words; nothing where all is well."""
        from quorate.storage.inspection import problems

        with self.reading() as connection:
            return problems(connection)

    def backup(self, path: Path) -> None:
        """Copy the whole database as it is at one moment to a new file, which appears whole or not at all."""
        from quorate.storage.backup import copy

        if self._path is None:
            raise InputError(
                f"{self.url} is backed up by PostgreSQL's own program: "
                f"pg_dump --format=custom --file={path} (and pg_restore brings it back)"
            )
        with self._saying("read"):
            copy(self._path, path)


def _version(connection: Connection, url: str) -> str | None:
    names = set(inspect(connection).get_table_names())
    if "alembic_version" not in names:
        if names:
            some = ", ".join(sorted(names)[:3])
            raise StorageError(
                f"the database {url} holds tables of something else ({some}); expected an empty one, or one of quorate"
            )
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()
    return None if found is None else str(found)


def _why(error: SQLAlchemyError) -> str:
    """The first line of what the driver said."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    lines = str(cause).strip().splitlines()
    return lines[0] if lines else type(cause).__name__
