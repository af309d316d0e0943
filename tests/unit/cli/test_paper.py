"""`quorate paper` as a user types it: every output on small stand-ins, going on, what is missing, clear messages."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.results import kept_from

from quorate.data.synthetic import simulate
from quorate.data.table import write_table
from quorate.experiments import series, sweep
from quorate.experiments.paper import CLASSES, MAKERS
from quorate.reporting.paper_facts import SHIFT
from tests.unit.cli.program import call

EXPERTS = {"chestxray": 5}
CASES = 12
"""Rows of a stand-in: runs of four cases."""


class Here(Executor):
    """Runs at once in this process, counts what it runs, and fails wherever it is told to."""

    ran = 0
    failing: str | None = None

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def submit(self, fn: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        job: Future[Any] = Future()
        type(self).ran += 1
        if args[0].options.method == self.failing:
            job.set_exception(RuntimeError("the disk is on fire"))
        else:
            job.set_result(fn(*args))
        return job


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> type[Here]:
    """Cells run in this process, and streams that shift are short."""
    monkeypatch.setattr(sweep, "LocalProcesses", Here)
    monkeypatch.setattr(series, "QUICK_CASES", 6)
    monkeypatch.setattr(Here, "ran", 0)
    monkeypatch.setattr(Here, "failing", None)
    return Here


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Synthetic tables that are called, and shaped, like the paper's."""
    folder = tmp_path / "data"
    folder.mkdir()
    for seed, (name, classes) in enumerate(CLASSES.items()):
        cases = 250 if name == SHIFT else CASES
        rng, experts = np.random.default_rng(seed), EXPERTS.get(name, 3)
        write_table(simulate(rng, experts=experts, classes=len(classes), cases=cases), folder / f"{name}.csv")
    return folder


def test_every_output_is_made_marked_quick_and_not_run_twice(
    data: Path, tmp_path: Path, here: type[Here], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ("paper", "--data", data, "--out", out, "--runs", 1, "--quick")
    assert call(monkeypatch, *words) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert "quick run" in told.out
    page = (out / "results.html").read_text()
    for maker in MAKERS:
        stems = [path for path in out.glob(f"{maker.name}*.csv") if not path.name.endswith("-points.csv")]
        assert len(stems) == 1, maker.name
        with stems[0].open() as file:
            rows = list(csv.DictReader(file))
        assert rows, maker.name
        assert {row["quick"] for row in rows} == {"1"}
        assert stems[0].with_suffix(".png").read_bytes().startswith(b"\x89PNG")
        assert "quick run" in stems[0].with_suffix(".svg").read_text()
        assert f'id="{maker.name}"' in page
    assert page.count('class="tag">quick') == len(MAKERS)
    assert "http" not in page.replace("http://www.w3.org", "")
    lines = (out / "results.jsonl").read_text()
    assert here.ran == len(lines.splitlines()) == len({json.loads(line)["id"] for line in lines.splitlines()})
    here.ran = 0
    assert call(monkeypatch, *words) == 0
    assert here.ran == 0
    assert (out / "results.jsonl").read_text() == lines
    assert (out / "results.html").read_text() == page


def test_some_outputs_run_only_what_they_need(
    data: Path, tmp_path: Path, here: type[Here], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert call(monkeypatch, "paper", "table3", "accuracy", "--data", data, "--out", out) == 0
    assert here.ran == 0
    assert "table4 (Accuracy, Chaoyang):" in capsys.readouterr().out
    with (out / "table5-accuracy-cifar10h.csv").open() as file:
        found = {(row["row"], row["column"]): row for row in csv.DictReader(file)}
    assert float(found["expert 3", "overall"]["paper"]) == 0.996
    assert {path.name.partition("-")[0] for path in out.glob("*.csv")} == {f"table{n}" for n in range(3, 9)}


def test_an_output_whose_table_is_missing_is_left_out_and_named(
    data: Path, tmp_path: Path, here: type[Here], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / f"{SHIFT}.csv").unlink()
    monkeypatch.setattr("quorate.experiments.paper.MAKERS", [m for m in MAKERS if m.name in ("fig4", "table3")])
    out = tmp_path / "out"
    assert call(monkeypatch, "paper", "--data", data, "--out", out) == 0
    assert "left out fig4 needs imagenet16h_shift.csv, which is not in" in capsys.readouterr().err
    assert "fig4 needs imagenet16h_shift.csv" in (out / "results.html").read_text()
    assert call(monkeypatch, "paper", "fig4", "--data", data, "--out", out) == 1
    assert "fig4 needs imagenet16h_shift.csv, which is not there" in capsys.readouterr().err
    assert here.ran == 0


def test_runs_that_fail_are_named_and_the_rest_is_made(
    data: Path, tmp_path: Path, here: type[Here], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("quorate.experiments.paper_curves.OURS", "until-determined")
    here.failing = "bayes:paper"
    out = tmp_path / "out"
    words = ("paper", "table1", "--data", data, "--out", out, "--quick", "--runs", 1)
    assert call(monkeypatch, *words) == 1
    told = capsys.readouterr()
    assert (
        "chestxray: bayes:paper at 0.01, target consensus, offset 0, shuffle None: RuntimeError: the disk" in told.err
    )
    assert "the same command tries them again" in told.err
    assert "table1: 12 runs not finished" in told.out
    assert "12 runs failed" in (out / "results.html").read_text()


def test_runs_that_a_project_keeps_are_taken_as_done(
    data: Path, tmp_path: Path, here: type[Here], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, again, docs = tmp_path / "out", tmp_path / "again", tmp_path / "docs"
    words = ("paper", "table2", "--data", data, "--runs", 1)
    assert call(monkeypatch, *words, "--out", out) == 0
    assert here.ran == kept_from([out], docs) == 8
    here.ran = 0
    assert call(monkeypatch, *words, "--out", again, "--kept", docs / "results") == 0
    assert here.ran == 0
    assert "quick" not in capsys.readouterr().out
    name = "table2-first-last.csv"
    assert (out / name).read_text() == (again / name).read_text()
    assert (again / "results.jsonl").read_text() == ""


def test_an_interrupt_says_how_to_go_on(
    data: Path, tmp_path: Path, here: type[Here], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(here, "submit", interrupted)
    out = tmp_path / "out"
    assert call(monkeypatch, "paper", "--data", data, "--out", out, "--quick") == 130
    told = capsys.readouterr().err
    assert f"finished runs are in {out / 'results.jsonl'}; the same command goes on from there" in told
    assert sorted(path.name for path in out.iterdir()) == ["results.jsonl", "tables.json"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["fig1"], 2, "OUTPUT: no output 'fig1'; expected fig2, table1"),
        (["--runs", 13], 2, "--runs: runs = 13 is out of range; expected 1 to 12"),
        (["--jobs", 1, "--cluster", "tcp://localhost:1"], 2, "--jobs and --cluster exclude each other"),
        (["--data", "nowhere"], 1, "'nowhere' is not a folder; expected one that holds chestxray.csv"),
        (["--kept", "nowhere"], 1, "nowhere/tables.json: not the tables of a run of `quorate paper`"),
    ],
)
def test_a_bad_option_is_named_and_nothing_is_written(
    words: list[object],
    code: int,
    message: str,
    data: Path,
    tmp_path: Path,
    here: type[Here],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    assert call(monkeypatch, "paper", "--data", data, "--out", out, *words) == code
    told = capsys.readouterr()
    assert message in told.err
    assert told.out == ""
    assert not out.exists()
    assert here.ran == 0
