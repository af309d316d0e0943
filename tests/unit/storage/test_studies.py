from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import update

import quorate
from quorate.assembly import Options
from quorate.core.protocols import Target
from quorate.core.rules import Rules
from quorate.core.target import FunctionTarget, parse_target
from quorate.errors import (
    InputError,
    MissingExtraError,
    NotFoundError,
    SettingsError,
    StaleJournalError,
    StudyError,
    TargetError,
)
from quorate.storage import extra, studies
from quorate.storage.config import ServiceSettings, StudyConfig
from quorate.storage.database import Database
from quorate.storage.schema import STUDIES
from tests.contracts.happenings import COUNTING, LEARNING, PANEL, learned, lived


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'studies.db'}"


@pytest.fixture
def db(url: str) -> Iterator[Database]:
    with Database.open(url, create=True) as opened:
        yield opened


@pytest.mark.parametrize("name", ["", "a b", "a/b", "é", "x" * 65, "a\n"])
def test_names_that_no_address_could_hold(db: Database, name: str) -> None:
    with pytest.raises(InputError, match="a study's name is 1 to 64"):
        studies.create(db, name, COUNTING)


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "x" * 64])
def test_names(db: Database, name: str) -> None:
    assert studies.create(db, name, COUNTING).study.name == name


@pytest.mark.parametrize(
    "options",
    [Options(method="infexp"), Options(method="confusion:mean"), Options(method="majority:2", chooser="entropy")],
    ids=lambda options: options.method,
)
def test_methods_whose_learning_cannot_be_stored(db: Database, options: Options) -> None:
    with pytest.raises(SettingsError, match=f"what method '{options.method}' learns cannot be stored"):
        studies.create(db, "cxr", replace(COUNTING, options=options))
    assert studies.names(db) == []


@pytest.mark.parametrize("method", ["bayes", "bayes:paper", "all", "majority:1", "classifier", "until-determined"])
def test_methods_that_can(db: Database, method: str) -> None:
    studies.create(db, "cxr", replace(COUNTING, options=Options(method=method)))
    assert studies.load(db, "cxr").config.options.method == method


def test_a_configuration_that_was_broken_is_told(db: Database) -> None:
    studies.create(db, "cxr", COUNTING)
    with db.writing() as connection:
        connection.execute(update(STUDIES).values(config="{"))
    with pytest.raises(InputError, match="the configuration of study 'cxr' is not JSON"):
        studies.load(db, "cxr")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lease_seconds": 0.5}, "lease_seconds 0.5 is out of range"),
        ({"lease_seconds": float("nan")}, "lease_seconds nan"),
        ({"max_open": 0}, "max_open 0 is out of range"),
        ({"audit_share": 1.5}, "audit_share 1.5 is out of range"),
    ],
)
def test_settings_of_the_service(settings: dict[str, float], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        ServiceSettings(**settings)  # type: ignore[arg-type]


class TestPublicWay:
    def test_a_study_goes_on(self, url: str) -> None:
        study = quorate.create_study(PANEL, name="cxr", max_error=0.03, seed=3, storage=url, options=LEARNING.options)
        learned(study, 0, 2)
        study.open("last", {"net": [0.5, 0.5]})
        again = quorate.open_study("cxr", storage=url)
        assert (again.name, again.seed, again.state) == ("cxr", 3, study.state)
        assert again.ask("last") == study.ask("last")
        with Database.open(url) as db:
            assert db.verify() == []
            assert studies.load(db, "cxr").config == StudyConfig(
                PANEL, replace(LEARNING.options, max_error=0.03, rules=Rules(min_votes=1)), seed=3
            ), "where no rules are named, a person sees every case"

    def test_what_others_wrote_is_taken_in(self, url: str) -> None:
        study = quorate.create_study(PANEL, name="cxr", storage=url, options=COUNTING.options)
        other = quorate.open_study("cxr", storage=url)
        study.open("c1", {"net": [0.5, 0.5]})
        with pytest.raises(StaleJournalError, match="refresh it"):
            other.open("c2", {"net": [0.5, 0.5]})
        assert other.refresh() == 1
        other.open("c2", {"net": [0.5, 0.5]})
        assert [*other.state.places] == ["c1", "c2"]
        assert (study.refresh(), study.refresh()) == (1, 0)
        assert study.state == other.state

    def test_nothing_is_stored_without_storage(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        lived(quorate.create_study(PANEL, options=COUNTING.options))
        assert list(tmp_path.iterdir()) == []

    def test_mistakes_are_told_before_a_file_is_made(self, url: str, tmp_path: Path) -> None:
        with pytest.raises(SettingsError, match="unknown method"):
            quorate.create_study(PANEL, storage=url, options=Options(method="luck"))
        with pytest.raises(TargetError, match="is a function that a database cannot hold"):
            quorate.create_study(PANEL, storage=url, target=lambda votes: votes["ann"])
        with pytest.raises(InputError, match="give storage alone"):
            quorate.create_study(PANEL, storage=url, journal=quorate.create_study(PANEL).journal)
        assert list(tmp_path.iterdir()) == []

    def test_targets_by_name_and_as_they_are(self, url: str) -> None:
        unanimous = parse_target("unanimous", PANEL)
        targets: dict[str, str | Target] = {"s0": "any:abnormal", "s1": unanimous, "s2": "weighted:ann=2,ben=1,cho=1"}
        for name, target in targets.items():
            quorate.create_study(PANEL, name=name, storage=url, target=target, options=COUNTING.options)
        assert quorate.open_study("s1", storage=url).target == unanimous
        assert quorate.open_study("s2", storage=url).target.name == "weighted:ann=2,ben=1,cho=1"
        with pytest.raises(TargetError, match="cannot hold"):
            quorate.create_study(PANEL, name="f", storage=url, target=FunctionTarget(lambda votes: votes["ann"], PANEL))

    def test_what_is_not_there_or_is_there_already(self, url: str) -> None:
        quorate.create_study(PANEL, name="cxr", storage=url, options=COUNTING.options)
        with pytest.raises(StudyError, match="'cxr' exists already"):
            quorate.create_study(PANEL, name="cxr", storage=url, options=COUNTING.options)
        with pytest.raises(NotFoundError, match=r"no study 'ct' in sqlite:.*; it has cxr"):
            quorate.open_study("ct", storage=url)

    def test_without_the_extra_it_is_named(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(extra, "find_spec", lambda _: None)
        with pytest.raises(MissingExtraError, match="a study in a database needs the extra 'service'"):
            quorate.create_study(PANEL, storage=url)
        with pytest.raises(MissingExtraError, match="'service'"):
            quorate.open_study("cxr", storage=url)


@pytest.mark.parametrize(
    ("options", "window"),
    [
        (Options(), 2000),
        (Options(preset="paper"), 2000),
        (Options(preset="paper", window=50), 50),
        (Options(method="until-determined"), None),
    ],
    ids=["quorate", "paper", "told", "never learns"],
)
def test_a_study_that_grows_learns_from_a_bounded_number_of_cases(
    db: Database, options: Options, window: int | None
) -> None:
    made = studies.create(db, "cxr", replace(COUNTING, options=options))
    assert made.study.method.window == window
    assert studies.load(db, "cxr").study.method.window == window
    assert db.verify() == []
