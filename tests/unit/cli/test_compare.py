"""`quorate compare` as a user types it: files, going on after a kill, failures, and clear messages."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quorate.data.synthetic import simulate
from quorate.data.table import write_table
from quorate.experiments import sweep
from tests.unit.cli.program import call

FILES = ["comparison.html", "comparison.json", "points.csv", "results.jsonl"]
SIMPLE = ("--methods", "until-determined,majority:1,classifier", "--runs", 3, "--max-errors", "0,.05")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "panel.csv"
    write_table(simulate(np.random.default_rng(0), experts=3, classes=2, cases=24), path)
    return path


def lines(path: Path) -> dict[str, dict[str, object]]:
    """What a results file holds by id, without the times."""
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return {line["id"]: {name: part for name, part in line.items() if name != "times"} for line in found}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_comparison_writes_its_files_and_tells_what_to_do(
    jobs: int, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert call(monkeypatch, "compare", table, *SIMPLE, "--jobs", jobs, "--out", out) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert "until-determined asks" in " ".join(told.out.split())
    assert f"wrote {out / 'comparison.html'}" in told.out
    assert sorted(path.name for path in out.iterdir()) == FILES
    with (out / "points.csv").open() as file:
        assert [row["method"] for row in csv.DictReader(file)] == ["until-determined", "majority:1", "classifier"]
    assert len(lines(out / "results.jsonl")) == 9
    assert "<!DOCTYPE html>" in (out / "comparison.html").read_text()


def test_json_is_the_record_and_nothing_else(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ("compare", table, *SIMPLE, "--jobs", 1, "--costs", "expert_1=3", "--seed", 7, "--out", out, "--json")
    assert call(monkeypatch, *words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads((out / "comparison.json").read_text())
    assert found["costs"] == {"expert_1": 3.0, "expert_2": 1.0, "expert_3": 1.0}
    assert (found["panel_cost"], found["runs"], found["seed"], found["failures"]) == (5.0, 3, 7, [])
    majority = next(curve for curve in found["curves"] if curve["method"] == "majority:1")
    assert majority["points"][0]["cost"]["value"] == 3.0  # the first of the panel


def test_a_chooser_is_for_the_models_alone(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--methods", "bayes,confusion,all", "--set", "particles=64", "--max-errors", ".2", "--runs", 1)
    out = tmp_path / "out"
    assert call(monkeypatch, "compare", table, *words, "--chooser", "lookahead", "--jobs", 1, "--out", out) == 0
    capsys.readouterr()
    found = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert {line["figures"]["method"]: line["figures"]["chooser"] for line in found} == {
        "bayes": "lookahead",
        "confusion": "entropy",
        "all": "panel",
    }


def test_a_floor_is_compared_with_but_not_recommended(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--methods", "hindsight:quorate,all", "--set", "particles=64", "--max-errors", ".2", "--runs", 2)
    assert call(monkeypatch, "compare", table, *words, "--jobs", 1, "--out", tmp_path / "out") == 0
    told = capsys.readouterr().out
    assert "all asks" in told
    assert "hindsight:quorate*" in told
    with (tmp_path / "out" / "points.csv").open() as file:
        assert {row["method"]: row["kind"] for row in csv.DictReader(file)} == {
            "hindsight:quorate": "floor",
            "all": "simple",
        }


def test_a_comparison_that_was_killed_goes_on(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ("compare", table, *SIMPLE, "--jobs", 1, "--out", out)
    assert call(monkeypatch, *words) == 0
    results = out / "results.jsonl"
    whole, points = lines(results), (out / "comparison.html").read_text()
    kept = results.read_text().splitlines(keepends=True)[:5]
    results.write_text("".join(kept[:4]) + kept[4][: len(kept[4]) // 2])
    assert call(monkeypatch, *words) == 0
    assert lines(results) == whole
    assert results.read_text().startswith("".join(kept[:4]))  # nothing finished was run again
    assert len(results.read_text().splitlines()) == len(whole)
    again = (out / "comparison.html").read_text()
    assert len(again) == pytest.approx(len(points), abs=50)  # but for the times
    capsys.readouterr()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--methods", "magic"], 2, "--methods: unknown method 'magic'; expected bayes"),
        (["--methods", "majority:9"], 2, "--methods: method 'majority:9': expected a whole number from 0 to 3"),
        (["--methods", "hindsight:best"], 2, "--methods: unknown preset 'best'"),
        (["--methods", "all,,bayes"], 2, "--methods: 'all,,bayes' holds an empty name"),
        (["--max-errors", "0,2"], 2, "--max-errors: max error 2 is out of range"),
        (["--max-errors", "0,x"], 2, "--max-errors: 'x' is not a number"),
        (["--runs", 13], 2, "--runs: runs = 13 is out of range; expected 1 to 12"),
        (["--runs", 0], 2, "--runs"),
        (["--costs", "zed=1"], 2, "--costs: no expert 'zed' to have a cost; the panel has expert_1"),
        (["--costs", "expert_1=-1"], 2, "--costs: cost -1 of expert 'expert_1' is out of range"),
        (["--costs", "expert_1=nan"], 2, "--costs: cost nan of expert 'expert_1' is out of range"),
        (["--costs", "expert_1"], 2, "--costs: 'expert_1' is not name=value"),
        (["--set", "eta=1"], 2, "--set, --schedule and --chooser change the model"),
        (["--chooser", "stop"], 2, "--set, --schedule and --chooser change the model"),
        (["--chooser", "best", "--methods", "bayes"], 2, "unknown chooser 'best'; expected entropy or stop"),
        (["--set", "eta=1", "--methods", "bayes,all", "--schedule", "best"], 2, "unknown schedule 'best'"),
        (["--set", "zeta=1"], 2, "no setting 'zeta'"),
        (["--set", "eta=1,particles=64"], 2, "settings eta, particles are of two models"),
        (
            ["--set", "eta=1", "--methods", "bayes,all"],
            2,
            "--set: the settings are of model 'full', which no method has",
        ),
        (["--set", "eta=1", "--methods", "hindsight"], 2, "which no method has; add bayes:paper"),
        (["--set", "particles=64", "--methods", "bayes:paper"], 2, "which no method has; add bayes:quorate"),
        (["--target", "mood"], 2, "unknown target 'mood'; expected consensus"),
        (["--jobs", 0], 2, "--jobs"),
        (["--jobs", 1, "--cluster", "tcp://localhost:1"], 2, "--jobs and --cluster exclude each other"),
        (["--seed", -1], 2, "--seed"),
        (["--experts", "expert_1,zed"], 1, "zed"),
    ],
)
def test_a_bad_option_is_named_and_nothing_is_written(
    words: list[object],
    code: int,
    message: str,
    table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    assert call(monkeypatch, "compare", table, "--methods", "all", "--out", out, *words) == code
    told = capsys.readouterr()
    assert message in told.err
    assert "Traceback" not in told.err
    assert told.out == ""
    assert not out.exists()


def test_methods_that_cannot_forecast_the_target_are_left_out_and_named(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("compare", table, "--target", "any:1", "--runs", 99, "--out", tmp_path / "out")
    assert call(monkeypatch, *words) == 2  # and nothing is run
    told = capsys.readouterr().err
    assert "left out infexp, confusion: no forecast of the target 'any:1'" in told
    assert "--runs: runs = 99 is out of range" in told


def test_the_folder_must_be_named_and_be_a_folder(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "compare", table) == 2
    assert "Missing option '--out'" in capsys.readouterr().err
    assert call(monkeypatch, "compare", table, "--out", table) == 1
    assert "is a file; name a folder" in capsys.readouterr().err


def test_results_that_are_none_are_named(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "results.jsonl").write_text("a shopping list\n")
    assert call(monkeypatch, "compare", table, *SIMPLE, "--jobs", 1, "--out", out) == 1
    assert "results.jsonl, line 1: not a result" in capsys.readouterr().err
    assert (out / "results.jsonl").read_text() == "a shopping list\n"


class Here(Executor):
    """Runs at once in this process, and fails wherever a method is majority:1, or everywhere."""

    everything = False

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def submit(self, fn: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        job: Future[Any] = Future()
        if self.everything or args[0].options.method == "majority:1":
            job.set_exception(RuntimeError("the disk is on fire"))
        else:
            job.set_result(fn(*args))
        return job


@pytest.mark.parametrize("everything", [False, True])
def test_runs_that_fail_are_told_and_the_rest_is_written(
    table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    everything: bool,
) -> None:
    monkeypatch.setattr(Here, "everything", everything)
    monkeypatch.setattr(sweep, "LocalProcesses", Here)
    out = tmp_path / "out"
    assert call(monkeypatch, "compare", table, *SIMPLE, "--out", out) == 1
    told = capsys.readouterr().err
    assert "RuntimeError: the disk is on fire" in told
    assert (out / "comparison.html").exists() is not everything
    if not everything:
        assert told.count("majority:1 at ") == 3
        assert "the same command tries them again" in told
        assert "3 runs failed" in (out / "comparison.html").read_text()


def test_an_interrupt_keeps_what_is_finished_and_says_how_to_go_on(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = [sys.executable, "-m", "quorate.cli.main", "compare", str(table), "--out", str(out), "--jobs", "1"]
    words += ["--methods", "until-determined,classifier,bayes:paper", "--set", "draws=4000"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as run:
        results, patience = out / "results.jsonl", time.monotonic() + 60
        while time.monotonic() < patience and not (results.exists() and results.read_text().count("\n") >= 2):
            time.sleep(0.05)
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does
        _, told = run.communicate(timeout=60)
    assert run.returncode == 130, told
    assert "the same command goes on from there" in told
    assert "Traceback" not in told
    assert len(lines(results)) >= 2
    assert sorted(path.name for path in out.iterdir()) == ["results.jsonl"]
