"""Connections to SQLite and to PostgreSQL, set so that what was committed is not lost."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, event
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import QueuePool

from quorate.errors import InputError, MissingExtraError, StorageError

EXPECTED = "expected sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE"
BUSY_SECONDS = 10
CONNECTIONS = 64
"""How many may read at once; more wait for one, as long as for a lock."""


@dataclass(frozen=True)
class Engines:
    """How a database is read and how it is written; for PostgreSQL all share their connections."""

    sqlite: bool
    reader: Engine  # sees one moment
    writer: Engine
    glancer: Engine  # for single looks

    def close(self) -> None:
        """End all connections."""
        for engine in (self.reader, self.writer, self.glancer):
            engine.dispose()


def said(url: URL) -> str:
    """A URL as it may be shown: without its password.

    >>> said(make_url("postgresql+psycopg://ann:secret@localhost/panel"))
    'postgresql+psycopg://ann:***@localhost/panel'
    """
    secret = {name for name in url.query if "password" in name.lower()}
    return url.update_query_dict(dict.fromkeys(secret, "***")).render_as_string(hide_password=True)


def parsed(text: str) -> URL:
    """A URL of a database that quorate can use.

    >>> parsed("sqlite:///studies.db").database
    'studies.db'
    """
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):  # neither says more than that, and the text may hold a password
        raise InputError(f"this is not the URL of a database; {EXPECTED}") from None
    if url.drivername in ("sqlite", "sqlite+pysqlite"):
        if url.database in (None, "", ":memory:"):
            raise InputError(f"{said(url)} is gone when the program ends; expected a file: sqlite:///FILE")
        if url.query or url.host or url.username or str(url.database).startswith("file:"):
            raise InputError(f"{said(url)} says more than the name of a file; expected sqlite:///FILE")
        return url
    if url.drivername == "postgresql+psycopg":
        return url
    raise InputError(f"quorate cannot use a database of kind {url.drivername!r}; {EXPECTED}")


def engines_of(url: URL, *, create: bool) -> Engines:
    """Connections to the database of a URL; a missing SQLite file is made with `create`, else refused."""
    if url.drivername == "postgresql+psycopg":
        return _postgresql(url)
    _file(Path(str(url.database)), said(url), create=create)
    reader, glancer = _sqlite(url, begin="BEGIN", size=CONNECTIONS), _sqlite(url, begin=None, size=CONNECTIONS)
    for engine in (reader, glancer):
        event.listen(engine, "connect", _reading_only)
    return Engines(True, reader, _sqlite(url, begin="BEGIN IMMEDIATE", size=1), glancer)


def _file(path: Path, url: str, *, create: bool) -> None:
    """Refuse what is not a file; make a missing one readable for its owner alone."""
    if path.exists():
        if not path.is_file():
            raise InputError(f"{url}: {str(path)!r} is not a file; expected sqlite:///FILE")
        return
    if not create:
        raise StorageError(f"there is no database {url}; make one with `quorate db upgrade --db {url}`")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # SQLite gives its other files the same mode
    except OSError as error:
        raise InputError(f"{url}: cannot make the file {str(path)!r}: {error.strerror}") from None


def _sqlite(url: URL, *, begin: str | None, size: int) -> Engine:
    """Connections of one kind, by how their transactions begin; None where a statement is one by itself."""
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=size,
        max_overflow=0,
        pool_timeout=BUSY_SECONDS,
        connect_args={"check_same_thread": False, "timeout": BUSY_SECONDS},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: Any) -> None:
        connection.isolation_level = None  # transactions begin where we say, not where the driver thinks
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")

    if begin is not None:
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine


def _reading_only(connection: sqlite3.Connection, _record: Any) -> None:
    connection.execute("PRAGMA query_only = ON")


def _postgresql(url: URL) -> Engines:
    try:
        engine = create_engine(
            url,
            pool_size=10,
            max_overflow=CONNECTIONS - 10,
            pool_timeout=BUSY_SECONDS,
            pool_pre_ping=True,
            # A plan that was made for a small table and kept would serve a large one badly.
            connect_args={"prepare_threshold": None},
        )
    except ModuleNotFoundError:
        raise MissingExtraError("PostgreSQL", "service") from None
    reader = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    glancer = engine.execution_options(isolation_level="AUTOCOMMIT", postgresql_readonly=True)
    return Engines(False, reader, engine, glancer)
