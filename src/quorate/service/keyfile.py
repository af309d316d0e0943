"""The key that secrets are hashed with: made on the first start, readable by its owner alone.

Whoever has a copy of the database but not the key can neither use nor forge a token. A lost key ends all sessions,
links and API tokens; passwords stay good.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from pathlib import Path
from typing import Final

from quorate.errors import InputError, SettingsError

KEY_BYTES: Final = 32
SQLITE: Final = re.compile(r"sqlite(?:\+pysqlite)?:///([^?]+)")


def key_path(url: str, given: Path | None = None) -> Path:
    """Where the key of a database lies: at the path given, else beside the file of an SQLite database.

    >>> key_path("sqlite:///data/quorate.db").as_posix()
    'data/quorate.db.key'
    """
    if given is not None:
        return given
    file = SQLITE.match(url)
    if file is None:
        raise SettingsError(
            "a database that is no SQLite file has no place beside it for the key; give --key-file PATH"
        )
    return Path(f"{file[1]}.key")


def read_or_make_key(path: Path) -> bytes:
    """The key in a file that only its owner can read, made if there is none; of two programs at once one makes it."""
    try:
        if not path.exists():
            _make(path)
        return _read(path)
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"the key file {str(path)!r} cannot be read or made: {why}; give another path") from None


def _make(path: Path) -> None:
    """Write the whole key under another name first, so that no reader ever sees a part of it."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(f"{secrets.token_hex(KEY_BYTES)}\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)  # unlike a rename, never over a key that came meanwhile
        except FileExistsError:
            return
    finally:
        draft.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if not stat.S_ISREG(mode):
            raise InputError(f"the key file {str(path)!r} is no regular file; expected one made by quorate")
        if mode & 0o077:
            raise InputError(
                f"the key file {str(path)!r} is open to others (mode {stat.S_IMODE(mode):04o}); expected 0600: "
                f"run `chmod 600 {path}`, or delete it to have a new one made, which ends all sessions and tokens"
            )
        text = file.read(4 * KEY_BYTES)
    try:
        key = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise InputError(
            f"the key file {str(path)!r} does not hold a key; expected {2 * KEY_BYTES} hexadecimal digits: "
            "bring the file back from a backup, or delete it to have a new one made, which ends all sessions and tokens"
        )
    return key
