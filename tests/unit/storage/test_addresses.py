from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import quorate
from quorate.core.case import Case
from quorate.core.panel import Panel
from quorate.errors import InputError, NotFoundError
from quorate.storage import addresses, studies
from quorate.storage.config import StudyConfig
from quorate.storage.database import Database
from quorate.storage.studies import KeptStudy, StoredStudy
from quorate.study.events import Joined, Opened
from tests.contracts.happenings import COUNTING

P = {"net": [0.5, 0.5]}
ODD = ["", ".", "..", "y/z", "a\nb", "a\x00", "\x7f"]
Write = Callable[[KeptStudy, str], None]
WRITES: list[Write] = [
    lambda study, key: study.open(key, P),
    lambda study, key: study.import_case(key, P, {"ann": "normal"}),
]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'studies.db'}"


@pytest.fixture
def db(url: str) -> Iterator[Database]:
    with Database.open(url, create=True) as opened:
        yield opened


@pytest.fixture
def stored(db: Database) -> StoredStudy:
    return studies.create(db, "cxr", COUNTING)


@pytest.mark.parametrize("write", WRITES, ids=["open", "import"])
@pytest.mark.parametrize("key", [*ODD, "x" * 201])
def test_keys_that_no_address_could_hold(stored: StoredStudy, write: Write, key: str) -> None:
    with pytest.raises(InputError, match=r"a case cannot have the key .* expected 1 to 200 characters without '/'"):
        write(stored.study, key)
    assert len(stored.journal) == 0


@pytest.mark.parametrize("write", WRITES, ids=["open", "import"])
@pytest.mark.parametrize("key", ["scan 7", "...", ".a", "é\u2028", "x" * 200, "a%2Fb"])
def test_keys(stored: StoredStudy, write: Write, key: str) -> None:
    write(stored.study, key)
    assert key in studies.load(stored.db, "cxr").study.state.places


def test_a_key_that_is_no_text_is_told(stored: StoredStudy) -> None:
    with pytest.raises(InputError, match="a case cannot have the key 7;"):
        stored.study.open(7, P)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [*ODD, "x" * 65])
def test_experts_that_no_address_could_hold(db: Database, stored: StoredStudy, name: str) -> None:
    with pytest.raises(InputError, match=r"an expert cannot be named .* expected 1 to 64 characters without '/'"):
        stored.study.add_expert(name)
    assert len(stored.journal) == 0
    if name:  # a panel holds no empty name
        with pytest.raises(InputError, match="an expert cannot be named"):
            studies.create(db, "ct", replace(COUNTING, panel=Panel(["no", "yes"], ["ann", name], ["net"])))
    assert studies.names(db) == ["cxr"]


@pytest.mark.parametrize("name", ["new", ".", ".."])
def test_studies_that_would_hide_a_page(db: Database, name: str) -> None:
    with pytest.raises(InputError, match=r"a study cannot be named .* choose another name"):
        studies.create(db, name, COUNTING)


def test_names_are_told_before_a_file_is_made(url: str, tmp_path: Path) -> None:
    for name, experts in (("new", ["ann"]), ("cxr", ["y/z"])):
        with pytest.raises(InputError, match="cannot be named"):
            quorate.create_study(Panel(["no", "yes"], experts), name=name, storage=url, options=COUNTING.options)
    assert list(tmp_path.iterdir()) == []


def test_long_names_are_told_in_short() -> None:
    with pytest.raises(InputError) as error:
        addresses.check_key("x" * 10_000)
    assert len(str(error.value)) < 300


def test_what_was_named_otherwise_before_stays(db: Database, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(studies, "check_names", lambda *_: None)
        old = studies.create(db, "new", StudyConfig(Panel(["normal", "abnormal"], ["y/z", "ben"], ["net"])))
    old.journal.append(Opened(Case("a/b", ((0.5, 0.5),), (True, True))))
    old.journal.append(Joined("q/r"))
    study = quorate.open_study("new", storage=url)
    study.tell("a/b", "y/z", "normal")
    study.retire_expert("q/r")
    study.add_expert("q/r")  # returns
    assert studies.load(db, "new").study.experts == ("y/z", "ben", "q/r")
    assert db.verify() == []


def test_a_study_that_was_deleted_is_told_without_the_database(stored: StoredStudy) -> None:
    studies.delete(stored.db, "cxr")
    for look in (stored.refresh, lambda: stored.study.open("one", P)):
        with pytest.raises(NotFoundError, match="'cxr' was deleted meanwhile") as error:
            look()
        assert "sqlite" not in str(error.value)
