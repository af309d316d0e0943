from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from typer.testing import CliRunner

from quorate.cli.main import app
from quorate.data.formats import ENDINGS
from quorate.data.synthetic import simulate
from quorate.data.table import read_table

if TYPE_CHECKING:
    from tests.conftest import Program


def test_it_writes_what_the_library_draws(quorate: Program, tmp_path: Path) -> None:
    done = quorate("simulate", "--experts", "4", "--classes", "3", "--cases", "30", "--seed", "5", "-o", "votes.csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "votes.csv: 30 cases, 4 experts, 3 classes, 1 classifier\n"
    expected = simulate(np.random.default_rng(5), experts=4, classes=3, cases=30)
    assert read_table(tmp_path / "votes.csv") == expected


def test_every_option_reaches_the_library(quorate: Program, tmp_path: Path) -> None:
    options = "--experts 2 --classes 2 --cases 40 --classifiers 2 --skill .9,.7 --classifier-skill .8 --correlation .5"
    more = "--ambiguity .1 --balance 3,1 --overconfidence 1,2 --missing .2 --drift-at 20 --drift-skill .6"
    last = "--drift-classifier-skill .7,.6 --seed 1 --output votes.jsonl"
    assert quorate("simulate", *options.split(), *more.split(), *last.split()).returncode == 0
    assert read_table(tmp_path / "votes.jsonl") == simulate(
        np.random.default_rng(1),
        experts=2,
        classes=2,
        cases=40,
        classifiers=2,
        skill=[0.9, 0.7],
        classifier_skill=0.8,
        correlation=0.5,
        ambiguity=0.1,
        balance=[3, 1],
        overconfidence=[1, 2],
        missing=0.2,
        drift_at=20,
        drift_skill=0.6,
        drift_classifier_skill=[0.7, 0.6],
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_and_the_same_seed_the_same_table(quorate: Program, tmp_path: Path, ending: str) -> None:
    name = f"votes{ending}"
    (tmp_path / name).write_text("something else, which is replaced")
    assert quorate("simulate", "--cases", "5", "-o", name).returncode == 0
    assert read_table(tmp_path / name) == simulate(np.random.default_rng(0), cases=5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--cases 0", "--cases = 0 is too small; expected at least 1"),
        ("--experts 0", "--experts = 0 is out of range; expected 1 to 1000"),
        ("--classes 1", "--classes = 1 is out of range; expected 2 to 1000"),
        ("--skill .1", "--skill = 0.1 is out of range; expected 0.3333"),
        ("--skill .9,.8", "--skill has 2 values; expected one, or one for each of 5"),
        ("--skill good", "Invalid value for --skill: 'good' is not a number"),
        ("--skill nan", "Invalid value for --skill: 'nan' is not a number"),
        ("--correlation 2", "--correlation = 2 is out of range; expected 0 to 1"),
        ("--correlation nan", "--correlation = nan is out of range; expected 0 to 1"),
        ("--balance 1,2", "--balance = [1.0, 2.0] is wrong; expected 3 numbers from 1e-06 to 1e+06"),
        ("--missing 1", "--missing = 1 is out of range"),
        ("--drift-at 500", "--drift-at = 500 is out of range; expected 1 to 499"),
        ("--drift-skill .9", "give drift_at too"),
        ("--overconfidence 0", "--overconfidence = 0.0 is out of range"),
    ],
)
def test_values_out_of_range_exit_2_and_write_nothing(tmp_path: Path, options: str, message: str) -> None:
    done = CliRunner().invoke(app, ["simulate", *options.split(), "-o", str(tmp_path / "votes.csv")])
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert list(tmp_path.iterdir()) == []


def test_an_option_out_of_range_on_the_command_line(quorate: Program, tmp_path: Path) -> None:
    done = quorate("simulate", "--correlation", "2", "-o", "votes.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--correlation = 2 is out of range; expected 0 to 1" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("nowhere/votes.csv", "cannot write 'nowhere/votes.csv': there is no folder 'nowhere'; create it first"),
        (
            "votes.xlsx",
            "cannot write 'votes.xlsx': expected a file that ends in .csv, .tsv, .jsonl, .ndjson or .parquet",
        ),
        ("/dev/null", "cannot write '/dev/null': expected a file that ends in"),
    ],
)
def test_places_that_cannot_be_written(quorate: Program, tmp_path: Path, output: str, message: str) -> None:
    done = quorate("simulate", "-o", output)
    assert done.returncode == 1
    assert done.stderr.startswith(f"quorate: error: {message}")
    assert list(tmp_path.iterdir()) == []
