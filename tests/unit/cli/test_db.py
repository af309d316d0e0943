from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from quorate.storage import studies
from quorate.storage.database import Database
from tests.contracts.happenings import COUNTING, lived

if TYPE_CHECKING:
    from tests.conftest import Program


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A database with a study in which something happened, where the program runs."""
    with Database.open(f"sqlite:///{tmp_path / 'a.db'}", create=True) as db:
        lived(studies.create(db, "cxr", COUNTING).study)
    return "sqlite:///a.db"


def test_upgrade_makes_the_tables_once(quorate: Program, tmp_path: Path) -> None:
    done = quorate("db", "upgrade", "--db", "sqlite:///new.db")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "sqlite:///new.db: the tables are of version 0001 now, there were none\n"
    assert (tmp_path / "new.db").exists()
    again = quorate("db", "upgrade", "--db", "sqlite:///new.db")
    assert again.stdout == "sqlite:///new.db: the tables are of version 0001 already\n"


def test_verify(quorate: Program, url: str, tmp_path: Path) -> None:
    done = quorate("db", "verify", "--db", url)
    assert (done.returncode, done.stdout) == (0, "sqlite:///a.db: everything is as quorate wrote it\n")
    with Database.open(f"sqlite:///{tmp_path / 'a.db'}") as db, db.writing() as connection:
        connection.execute(text("UPDATE events SET at = '2020' WHERE number = 2"))
    done = quorate("db", "verify", "--db", url)
    assert done.returncode == 1
    assert "study 'cxr': event 2 (Opened) was changed" in done.stdout
    assert "quorate: error: the database sqlite:///a.db is not as quorate wrote it: 2 problems" in done.stderr


def test_backup(quorate: Program, url: str) -> None:
    done = quorate("db", "backup", "copy.db", "--db", url)
    assert (done.returncode, done.stdout) == (0, "sqlite:///a.db: copied to copy.db\n")
    assert quorate("db", "verify", "--db", "sqlite:///copy.db").returncode == 0
    again = quorate("db", "backup", "copy.db", "--db", url)
    assert again.returncode == 1
    assert "'copy.db' exists; expected the name of a new file" in again.stderr


@pytest.mark.parametrize("command", [["verify"], ["backup", "copy.db"]])
def test_a_database_that_is_not_there(quorate: Program, tmp_path: Path, command: list[str]) -> None:
    done = quorate("db", *command, "--db", "sqlite:///none.db")
    assert done.returncode == 1
    assert "there is no database sqlite:///none.db; make one with `quorate db upgrade" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_usage(quorate: Program) -> None:
    assert quorate("db", "verify").returncode == 2
    done = quorate("db", "verify", "--db", "mysql://ann:geheim@host/db")
    assert done.returncode == 1
    assert "expected sqlite:///FILE" in done.stderr
    assert "geheim" not in done.stderr
