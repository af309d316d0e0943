"""A copy of a SQLite file as it is at one moment, while others write to it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from quorate.errors import InputError, StorageError


def copy(source: Path, target: Path) -> None:
    """Copy a database to a new file, which appears under its name once it is whole and on disk."""
    if target.exists():
        raise InputError(f"{str(target)!r} exists; expected the name of a new file")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:
        raise InputError(f"cannot write to {str(target)!r}: {error.strerror}; name another file") from None
    try:
        _copied(source, part)
        os.link(part, target)  # unlike a renaming, refuses a file that came meanwhile
        _synced(target.parent)
    except (OSError, sqlite3.Error) as error:
        raise StorageError(f"{str(source)!r} could not be copied to {str(target)!r}: {error}") from None
    finally:
        part.unlink(missing_ok=True)


def _copied(source: Path, part: Path) -> None:
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(part)) as new:
        old.backup(new)  # in one step, so that a busy writer cannot make it start over for ever
        new.execute("PRAGMA journal_mode = DELETE")  # all of it is in the one file
    _synced(part)


def _synced(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
