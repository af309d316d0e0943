from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from quorate.errors import InputError, SettingsError
from quorate.service.keyfile import key_path, read_or_make_key


def test_a_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "quorate.db.key"
    before = os.umask(0)  # the mode must not hang on it
    try:
        key = read_or_make_key(path)
    finally:
        os.umask(before)
    assert len(key) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_or_make_key(path) == key
    assert read_or_make_key(tmp_path / "other.key") != key
    assert sorted(file.name for file in tmp_path.iterdir()) == ["other.key", "quorate.db.key"]


def test_of_many_that_start_at_once_all_get_one_key(tmp_path: Path) -> None:
    gate = Barrier(8)

    def start(_: int) -> bytes:
        gate.wait()
        return read_or_make_key(tmp_path / "key")

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(start, range(8)))) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["key"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o601])
def test_a_key_that_others_can_reach_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    read_or_make_key(path)
    path.chmod(mode)
    with pytest.raises(InputError, match=rf"open to others \(mode 0{mode:o}\); expected 0600: run `chmod 600 "):
        read_or_make_key(path)


@pytest.mark.parametrize("content", [b"", b"\n", b"ab" * 31, b"ab" * 33, b"xy" * 32, b"\xff" * 32, b"ab" * 10**6])
def test_what_is_no_key_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(InputError, match="does not hold a key; expected 64 hexadecimal digits"):
        read_or_make_key(path)
    assert path.read_bytes() == content


def test_places_where_no_key_can_be(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read or made: No such file"):
        read_or_make_key(tmp_path / "nowhere" / "key")
    with pytest.raises(InputError, match="cannot be read or made: Is a directory"):
        read_or_make_key(tmp_path)


def test_a_key_lies_beside_its_database_or_where_it_is_said_to(tmp_path: Path) -> None:
    assert key_path("sqlite:////data/q.db") == Path("/data/q.db.key")
    assert key_path("sqlite+pysqlite:///q.db") == Path("q.db.key")
    assert key_path("postgresql+psycopg://ann:secret@host/db", tmp_path / "key") == tmp_path / "key"
    with pytest.raises(SettingsError, match="give --key-file PATH") as refused:
        key_path("postgresql+psycopg://ann:secret@host/db")
    assert "secret" not in str(refused.value)
