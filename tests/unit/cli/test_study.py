"""`quorate study`: the verbs of a study on a database, as a user types them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from quorate.core.rules import Guard, Rules
from quorate.storage import studies
from quorate.storage.database import Database
from tests.unit.cli.program import call

DB = ("--db", "sqlite:///q.db")
TABLE = "item,ann,ben,cho,p_0,p_1\na,normal,abnormal,normal,.3,.7\nb,abnormal,,abnormal,.2,.8\n"


@dataclass(frozen=True)
class Done:
    """What the program said, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


Program = Callable[..., Done]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """The program in an empty folder, in this process: it is called many times."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> Done:
        code = call(monkeypatch, *words)
        said = capsys.readouterr()
        return Done(code, said.out, said.err)

    return run


@pytest.fixture
def study(program: Program) -> Program:
    """The program, with a study `cxr` in its database."""
    made = program(
        *("study", "create", "cxr", *DB, "--classes", "normal,abnormal", "--experts", "ann,ben,cho"),
        *("--classifiers", "densenet", "--max-error", "0.05", "--costs", "ann=2", "--audit-share", "0"),
    )
    assert made.returncode == 0, made.stderr
    return program


def found(study: Program, *arguments: str) -> Any:
    done = study("study", *arguments, *DB, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_case_from_opening_to_export(study: Program, tmp_path: Path) -> None:
    assert study("study", "open", "cxr", "c1", *DB, "--p", "densenet=.2,.8", "--text", "a film").returncode == 0
    step = found(study, "ask", "cxr", "c1")
    assert step["step"] == "ask"
    for vote in ("abnormal", "abnormal", "abnormal"):
        if step["step"] != "ask":
            break
        assert study("study", "tell", "cxr", "c1", step["experts"][0], vote, *DB).returncode == 0
        step = found(study, "ask", "cxr", "c1")
    assert step["step"] == "settle"
    settled = found(study, "settle", "cxr", "c1")
    assert (settled["event"], settled["outcome"]) == ("settled", "abnormal")
    shown = found(study, "show", "cxr")
    assert shown["cases"] == {"open": 0, "settled": 1, "imported": 0}
    assert shown["fits"] == 1  # it has learned
    assert study("study", "export", "cxr", *DB, "-o", "cases.csv").returncode == 0
    with (tmp_path / "cases.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["case"], row["outcome"], row["stopped"]) == ("c1", "abnormal", settled["reason"])
    assert int(row["human_votes"]) == settled["human_votes"]
    lines = study("study", "export", "cxr", *DB, "--format", "jsonl").stdout.splitlines()
    assert json.loads(lines[0])["case"] == "c1"
    assert study("db", "verify", *DB).returncode == 0


def test_votes_change_and_go(study: Program) -> None:
    study("study", "open", "cxr", "c1", *DB)
    study("study", "tell", "cxr", "c1", "ann", "normal", *DB)
    again = study("study", "tell", "cxr", "c1", "ann", "abnormal", *DB)
    assert again.returncode == 1
    assert "has voted 'normal' on case 'c1' already" in again.stderr
    for verb in (("amend", "cxr", "c1", "ann", "abnormal"), ("withdraw", "cxr", "c1", "ann")):
        assert study("study", *verb, *DB).returncode == 0
    assert study("study", "abstain", "cxr", "c1", "ann", *DB).returncode == 0
    assert "ann" not in found(study, "forecast", "cxr", "c1")["votes"]
    for expert in ("ben", "cho"):
        study("study", "tell", "cxr", "c1", expert, "normal", *DB)
    found(study, "settle", "cxr", "c1")
    assert study("study", "reopen", "cxr", "c1", *DB, "--whole").returncode == 0
    assert found(study, "ask", "cxr", "c1")["step"] == "settle"


def test_past_votes_come_in_whole_or_not_at_all(study: Program, tmp_path: Path) -> None:
    (tmp_path / "past.csv").write_text(TABLE, encoding="utf-8")
    (tmp_path / "bad.csv").write_text(TABLE + "c,odd,,normal,.5,.5\n", encoding="utf-8")
    refused = study("study", "import", "cxr", "bad.csv", *DB)
    assert refused.returncode == 1
    assert "row 3" in refused.stderr
    assert "'odd'" in refused.stderr
    assert study("study", "import", "cxr", "past.csv", *DB).returncode == 0
    assert found(study, "show", "cxr")["cases"]["imported"] == 2
    twice = study("study", "import", "cxr", "past.csv", *DB)
    assert "case 'a' is in the study already" in twice.stderr


def test_panels_change(study: Program) -> None:
    for verb in (
        ("add-expert", "cxr", "dan", "--cost", "3"),
        ("retire-expert", "cxr", "ann"),
        ("replace-classifier", "cxr", "densenet", "vit"),
    ):
        assert study("study", *verb, *DB).returncode == 0
    shown = found(study, "show", "cxr")
    assert (shown["experts"], shown["classifiers"]) == (["ben", "cho", "dan"], ["vit"])


def test_studies_are_listed_and_deleted(study: Program) -> None:
    assert found(study, "list") == ["cxr"]
    assert study("study", "delete", "cxr", *DB, "--yes").returncode == 0
    assert found(study, "list") == []
    gone = study("study", "show", "cxr", *DB)
    assert (gone.returncode, "no study 'cxr'" in gone.stderr) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (("open", "cxr", "c1", "--p", "densenet=.2,x"), "expected CLASSIFIER=P,P with a number a class", 2),
        (("open", "cxr", "c1", "--p", "densenet=.2,.2"), "probabilities sum to 0.4", 1),
        (("ask", "cxr", "nope"), "case 'nope' was never opened", 1),
        (("tell", "cxr", "nope", "zed", "normal"), "case 'nope' was never opened", 1),
        (("export", "cxr", "--format", "xls"), "expected csv or jsonl", 2),
        (("open", "cxr", "a/b"), "a case cannot have the key 'a/b'; expected 1 to 200 characters without '/'", 1),
        (("add-expert", "cxr", "y/z"), "an expert cannot be named 'y/z'; expected 1 to 64 characters", 1),
    ],
)
def test_what_is_wrong_is_said(study: Program, arguments: tuple[str, ...], message: str, code: int) -> None:
    done = study("study", *arguments, *DB)
    assert done.returncode == code
    assert message in done.stderr


NEW = (*DB, "--classes", "normal,abnormal", "--experts", "ann,ben,cho")


def test_guards_ask_more_of_cases_that_look_grave(program: Program) -> None:
    guards = ("--guard", "abnormal:.3:2", "--guard", "normal:0.99:3")
    assert program("study", "create", "cxr", *NEW, *guards).returncode == 0
    with Database.open("sqlite:///q.db") as db:
        rules = studies.load(db, "cxr").config.options.rules
    assert rules.guards == (Guard("abnormal", 0.3, 2), Guard("normal", 0.99, 3))


@pytest.mark.parametrize(
    ("guard", "message"),
    [
        ("abnormal", "'abnormal': expected CLASS:ABOVE:VOTES"),
        ("abnormal:.3:two", "such as abnormal:.3:2"),
        ("abnormal:x:2", "such as abnormal:.3:2"),
        ("abnormal:1.3:2", "probability 1.3 is not between 0 and 1"),
        ("abnormal:.3:-1", "votes of a guard -1 is out of range"),
        ("odd:.3:2", "guard of 'odd': no such class; the panel has normal, abnormal"),
    ],
)
def test_a_guard_that_is_none_is_told(program: Program, guard: str, message: str) -> None:
    done = program("study", "create", "cxr", *NEW, "--guard", guard)
    assert done.returncode == 2
    assert message in done.stderr


KNOWINGLY = "no person has seen; add --no-human-accepted if that is meant, or"


@pytest.mark.parametrize(
    ("rules", "message", "kept"),
    [
        (
            ("--min-votes", "0"),
            f"--min-votes: with 0, cases may settle that {KNOWINGLY} expect at least 1 vote",
            Rules(min_votes=0),
        ),
        (
            ("--budget", "10"),
            f"--budget: once 10 is spent nobody can be asked, and cases settle that {KNOWINGLY} give no budget",
            Rules(min_votes=1, budget=10.0),
        ),
        (
            ("--budget", "0", "--min-votes", "2"),
            "--budget: once 0 is spent nobody can be asked",
            Rules(min_votes=2, budget=0.0),
        ),
    ],
)
def test_no_human_at_all_must_be_chosen_knowingly(
    program: Program, tmp_path: Path, rules: tuple[str, ...], message: str, kept: Rules
) -> None:
    refused = program("study", "create", "bold", *NEW, *rules)
    assert refused.returncode == 2
    assert message in refused.stderr
    assert list(tmp_path.iterdir()) == []
    assert program("study", "create", "bold", *NEW, *rules, "--no-human-accepted").returncode == 0
    with Database.open("sqlite:///q.db") as db:
        assert studies.load(db, "bold").config.options.rules == kept


def test_a_person_sees_every_case_unless_told_otherwise(program: Program) -> None:
    assert program("study", "create", "cxr", *NEW).returncode == 0
    assert found(program, "show", "cxr")["min_votes"] == 1


@pytest.mark.parametrize(("name", "experts"), [("new", "ann,ben"), ("..", "ann,ben"), ("cxr", "ann,y/z")])
def test_names_that_no_address_could_hold(program: Program, name: str, experts: str) -> None:
    done = program("study", "create", name, *DB, "--classes", "normal,abnormal", "--experts", experts)
    assert done.returncode == 1
    assert "cannot be named" in done.stderr


def test_cases_are_drawn_for_the_audit(program: Program) -> None:
    assert program("study", "create", "cxr", *NEW, "--audit-share", "1", "--max-error", "0.9").returncode == 0
    assert program("study", "open", "cxr", "c1", *DB).returncode == 0
    assert program("study", "tell", "cxr", "c1", "ann", "normal", *DB).returncode == 0
    assert found(program, "settle", "cxr", "c1")["event"] == "audited"


def test_a_database_that_is_not_there_is_named(program: Program) -> None:
    done = program("study", "list", "--db", "sqlite:///none.db")
    assert done.returncode == 1
    assert "none.db" in done.stderr
