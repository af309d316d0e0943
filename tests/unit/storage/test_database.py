from __future__ import annotations

import sqlite3
import stat
import threading
from pathlib import Path

import pytest
from sqlalchemy import select, text

from quorate.errors import InputError, MissingExtraError, StorageError
from quorate.storage import engines, studies, upgrades
from quorate.storage.database import VERSIONS, Database
from quorate.storage.schema import STUDIES
from tests.contracts.happenings import COUNTING, lived
from tests.postgres import free_port


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'studies.db'}"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("sqlite:///:memory:", "gone when the program ends; expected a file"),
        ("sqlite://", "gone when the program ends"),
        ("sqlite:///", "gone when the program ends"),
        ("sqlite:///a.db?mode=ro", "more than the name of a file"),
        ("sqlite:///file:a.db", "more than the name of a file"),
        ("mysql://ann:geheim@host/db", "cannot use a database of kind 'mysql'; expected sqlite:///FILE or postgresql"),
        ("postgresql://ann:geheim@host/db", r"of kind 'postgresql'; expected .* postgresql\+psycopg://"),
        ("studies.db", "not the URL of a database; expected sqlite:///FILE"),
        ("", "not the URL of a database"),
        ("postgresql+psycopg://ann:geheim@host:port/db", "not the URL of a database"),
    ],
)
def test_other_databases_are_refused(given: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Database.open(given, create=True)
    assert "geheim" not in str(caught.value)


def test_a_password_is_never_shown() -> None:
    url = f"postgresql+psycopg://ann:geheim@127.0.0.1:{free_port()}/db?password=geheim"
    with pytest.raises(StorageError, match=r"ann:\*\*\*@127.0.0.1.*cannot be read: .*refused") as caught:
        Database.open(url)
    assert "geheim" not in str(caught.value)


def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'psycopg'")

    monkeypatch.setattr(engines, "create_engine", missing)
    with pytest.raises(MissingExtraError, match=r"PostgreSQL needs the extra 'service'"):
        Database.open("postgresql+psycopg://localhost/db")


def test_a_missing_file_is_made_on_request_alone(url: str, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"there is no database sqlite:.*quorate db upgrade --db"):
        Database.open(url)
    assert list(tmp_path.iterdir()) == []
    with Database.open(url, create=True) as db, db.writing() as connection:
        connection.execute(text("UPDATE studies SET name = name"))
        assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
        assert len(list(tmp_path.iterdir())) == 3


def test_what_cannot_be_a_database(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a file"):
        Database.open(f"sqlite:///{tmp_path}", create=True)
    with pytest.raises(InputError, match=r"cannot make the file .*: No such file or directory"):
        Database.open(f"sqlite:///{tmp_path / 'no' / 'a.db'}", create=True)
    (tmp_path / "text").write_text("this is a text that is long enough to be something else\n" * 100)
    with pytest.raises(StorageError, match="cannot be read: file is not a database"):
        Database.open(f"sqlite:///{tmp_path / 'text'}", create=True)
    assert (tmp_path / "text").read_text().startswith("this is a text")


def test_sqlite_is_set_so_that_nothing_is_lost(url: str) -> None:
    with Database.open(url, create=True) as db:
        for transaction in (db.reading(), db.writing()):
            with transaction as connection:
                pragmas = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
                found = [connection.execute(text(f"PRAGMA {name}")).scalar_one() for name in pragmas]
                assert found == ["wal", 2, 1, 10_000]


def test_a_reader_sees_one_moment(url: str) -> None:
    with Database.open(url, create=True) as db:
        studies.create(db, "one", COUNTING)
        with db.reading() as connection:
            assert connection.execute(select(STUDIES.c.name)).scalars().all() == ["one"]
            studies.create(db, "two", COUNTING)
            assert connection.execute(select(STUDIES.c.name)).scalars().all() == ["one"]
        assert studies.names(db) == ["one", "two"]


def test_threads_take_turns(url: str) -> None:
    with Database.open(url, create=True) as db:
        studies.create(db, "one", COUNTING)

        def count() -> None:
            for _ in range(25):
                with db.writing() as connection:
                    seen = connection.execute(text("SELECT count FROM studies")).scalar_one()
                    connection.execute(text("UPDATE studies SET count = :new"), {"new": seen + 1})

        threads = [threading.Thread(target=count) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with db.reading() as connection:
            assert connection.execute(text("SELECT count FROM studies")).scalar_one() == 100


def test_a_database_that_another_program_holds_is_told(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "BUSY_SECONDS", 0.05)
    locked = pytest.raises(StorageError, match="cannot be written: database is locked")
    with Database.open(url, create=True) as one, Database.open(url) as two, one.writing(), locked, two.writing():
        pass


def test_too_many_readers_at_once_are_told(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr(engines, "CONNECTIONS", 1)
    crowded = pytest.raises(StorageError, match="cannot be read: QueuePool limit of size 1")
    with Database.open(url, create=True) as db, db.reading(), crowded, db.reading():
        pass


def test_the_versions_are_those_of_the_steps() -> None:
    script = upgrades.steps()
    known = [step.revision for step in script.walk_revisions()]
    assert known[::-1] == list(VERSIONS)
    assert script.get_current_head() == VERSIONS[-1]


class TestBackup:
    def test_a_copy_is_whole_while_others_write(self, url: str, tmp_path: Path) -> None:
        copy = tmp_path / "copy.db"
        with Database.open(url, create=True) as db:
            stored = studies.create(db, "cxr", COUNTING)
            lived(stored.study)
            with db.writing() as connection:
                connection.execute(text("DELETE FROM studies"))
                db.backup(copy)
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        assert sorted(path.name for path in tmp_path.iterdir() if "copy" in path.name) == ["copy.db"]
        with Database.open(f"sqlite:///{copy}") as again:
            assert again.verify() == []
            assert studies.load(again, "cxr").study.state == stored.study.state

    def test_an_existing_file_is_left_alone(self, url: str, tmp_path: Path) -> None:
        kept = tmp_path / "kept"
        kept.write_text("mine")
        with Database.open(url, create=True) as db:
            with pytest.raises(InputError, match="exists; expected the name of a new file"):
                db.backup(kept)
            with pytest.raises(InputError, match=r"cannot write to .*No such file or directory"):
                db.backup(tmp_path / "no" / "copy.db")
        assert kept.read_text() == "mine"

    def test_a_copy_that_fails_leaves_nothing(self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        monkeypatch.setattr("quorate.storage.backup._copied", full)
        with Database.open(url, create=True) as db, pytest.raises(StorageError, match="disk is full"):
            db.backup(tmp_path / "copy.db")
        assert not [path for path in tmp_path.iterdir() if "copy" in path.name]

    def test_postgresql_has_its_own(self, postgres_url: str, tmp_path: Path) -> None:
        with Database.open(postgres_url, create=True) as db, pytest.raises(InputError, match="pg_dump --format=custom"):
            db.backup(tmp_path / "copy")
