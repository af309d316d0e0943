"""`quorate replay` as a user types it: figures, files, and one clear message for everything that is wrong."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from quorate.data.synthetic import simulate
from quorate.data.table import write_table
from tests.unit.cli.program import call

FIELDS = [
    "cases",
    "experts",
    "classes",
    "method",
    "preset",
    "model",
    "chooser",
    "schedule",
    "target",
    "max_error",
    "mean_queries",
    "error_rate",
    "errors",
    "ties",
    "ece",
    "stated_error",
    "queries_first_50",
    "queries_last_50",
    "no_human_share",
    "full_panel_queries",
    "saved_share",
    "cost",
    "seconds",
    "seconds_fitting",
    "seconds_deciding",
    "decision_p95_ms",
    "fits",
    "worst_rhat",
    "worst_ess",
    "unhealthy_fits",
    "forced_asks",
    "limited",
    "mean_loss",
    "stated_loss",
    "missed",
    "mean_rounds",
]
QUICK = "particles=64"
PAPER = ("--preset", "paper", "--set", "chains=2,warmup=50,draws=100,extensions=0,latents=2000,max_rhat=2,min_ess=1")


IN_FORCE = "model 'full', and model 'evidence' is in force; take --preset paper or --model full"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "panel.csv"
    write_table(simulate(np.random.default_rng(0), experts=3, classes=2, cases=12), path)
    return path


@pytest.mark.parametrize(
    ("words", "preset", "model", "schedule"),
    [
        (("--set", QUICK), "quorate", "evidence", "every"),
        (PAPER, "paper", "full", "paper"),
    ],
    ids=["default", "paper"],
)
def test_json_has_every_field_in_order_and_nothing_else(
    words: tuple[str, ...],
    preset: str,
    model: str,
    schedule: str,
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call(monkeypatch, "replay", table, "--limit", 5, "--max-error", 0.1, *words, "--json") == 0
    out = capsys.readouterr()
    found = json.loads(out.out)
    assert list(found) == FIELDS
    assert out.err == ""
    assert (found["cases"], found["experts"], found["classes"], found["fits"]) == (5, 3, 2, 4)
    assert (found["method"], found["preset"], found["model"]) == ("bayes", preset, model)
    assert (found["chooser"], found["schedule"]) == ("lookahead" if preset == "quorate" else "entropy", schedule)
    assert all(isinstance(found[name], (int, float)) for name in FIELDS[9:] if found[name] is not None)


def test_out_writes_the_report_the_steps_and_the_run(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    words = ["replay", table, "--limit", 6, "--max-error", 0.1, "--set", QUICK, "--seed", 4, "--out", out]
    assert call(monkeypatch, *words) == 0
    assert f"wrote {out / 'report.html'}" in capsys.readouterr().out
    assert sorted(path.name for path in out.iterdir()) == ["report.html", "run.json", "steps.csv"]
    with (out / "steps.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    assert {"key", "asked", "votes", "decision", "probability", "stated_error", "human_votes", "correct"} <= set(
        rows[0]
    )
    run = json.loads((out / "run.json").read_text())
    assert run["seed"] == 4
    assert len(run["data_sha256"]) == 64
    page = (out / "report.html").read_text()
    assert page.count("<svg") >= 4
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_costs_are_weighed_and_reported(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["replay", table, "--method", "all", "--costs", "expert_1=2.5,expert_2=0"]
    assert call(monkeypatch, *words, "--cost-blind", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == FIELDS
    assert (found["cost"], found["saved_share"], found["full_panel_queries"]) == (3.5 * 12, 0, 3)
    assert call(monkeypatch, *words, "--out", tmp_path / "run") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "the whole panel would have cost 42, this took 42 (0 % saved)" in told
    assert "Cost 42 of 42; 0 % saved, 95 % interval 0 % to 0 %" in told
    with (tmp_path / "run" / "steps.csv").open() as file:
        assert {row["cost"] for row in csv.DictReader(file)} == {"3.5"}
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (run["settings"]["costs"], run["saved_interval"]) == ("expert_1=2.5,expert_2=0,expert_3=1", [0, 0])


def test_experts_asked_at_once_are_counted_in_rounds(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["replay", table, "--method", "all", "--limit", 6]
    assert call(monkeypatch, *words, "--in-flight", 2, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["mean_queries"], found["mean_rounds"]) == (3, 2)
    assert call(monkeypatch, *words, "--in-flight", 2, "--out", tmp_path / "run") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Rounds a case 2.00 in each up to 2 experts are asked at once" in told
    with (tmp_path / "run" / "steps.csv").open() as file:
        assert {row["rounds"] for row in csv.DictReader(file)} == {"2"}
    assert json.loads((tmp_path / "run" / "run.json").read_text())["settings"]["in_flight"] == 2
    assert call(monkeypatch, *words, "--json") == 0
    assert json.loads(capsys.readouterr().out)["mean_rounds"] == 3
    assert call(monkeypatch, *words, "--in-flight", 0) == 2
    assert "--in-flight" in capsys.readouterr().err


def test_rules_and_a_loss_are_kept_and_reported(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = ["--min-votes", 1, "--max-votes", 2, "--require", "expert_3", "--budget", 15, "--loss", "1=5"]
    words = ["replay", table, "--method", "all", *rules]
    assert call(monkeypatch, *words, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == FIELDS
    assert (found["cost"], found["limited"], set(found["missed"])) == (15, 12, {"1"})
    assert found["mean_loss"] >= found["error_rate"] >= 0
    assert call(monkeypatch, *words, "--out", tmp_path / "run") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "12 cases were settled by a limit on votes or the budget, 12 of them unsure." in told
    assert "Missed 1" in told
    with (tmp_path / "run" / "steps.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["reason"] for row in rows] == ["limit"] * 7 + ["budget"] * 5
    assert {row["kept"] for row in rows} == {"0"}
    assert all(row["asked"].startswith("expert_3") for row in rows[:8])
    assert all(float(row["loss"]) >= 0 for row in rows)
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    names = ("loss", "min_votes", "required", "max_votes", "budget")
    assert [run["settings"][name] for name in names] == ["1=5", 1, "expert_3", 2, 15]
    assert run["figures"]["missed"] == found["missed"]
    assert "Settled by a limit on votes or the budget: 12 cases" in (tmp_path / "run" / "report.html").read_text()


def test_hindsight_is_replayed_and_told_as_a_floor(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["replay", table, "--method", "hindsight", "--set", "particles=64", "--limit", 4]
    assert call(monkeypatch, *words, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == FIELDS
    assert (found["method"], found["model"], found["fits"], found["cases"]) == ("hindsight", "evidence", 1, 4)
    assert call(monkeypatch, *words, "--out", tmp_path / "run") == 0
    assert "A floor, not a method" in capsys.readouterr().out
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert set(run["portrait"]["skill"]) == {"expert_1", "expert_2", "expert_3"}
    assert "What was learned about the panel" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--max-error", 2], 2, "max error 2 is out of range"),
        (["--max-error", "x"], 2, "--max-error"),
        (["--method", "magic"], 2, "unknown method 'magic'; expected bayes"),
        (["--target", "mood"], 2, "unknown target 'mood'; expected consensus"),
        (["--target", "any:purple"], 1, "no class 'purple'; the panel has 0, 1"),
        (["--experts", "expert_1,zed"], 1, "zed"),
        (["--preset", "best"], 2, "unknown preset 'best'"),
        (["--chooser", "best"], 2, "unknown chooser 'best'"),
        (["--costs", "zed=1"], 2, "--costs: no expert 'zed' to have a cost; the panel has expert_1"),
        (["--costs", "expert_1=-1"], 2, "--costs: cost -1 of expert 'expert_1' is out of range"),
        (["--costs", "expert_1=dear"], 2, "--costs: expert_1=dear: 'dear' is not a number"),
        (["--min-votes", -1], 2, "--min-votes"),
        (["--min-votes", 4], 2, "--min-votes 4 is more than the panel has: 3 experts"),
        (["--min-votes", 3, "--max-votes", 2], 2, "--min-votes 3 is more than --max-votes 2"),
        (["--max-votes", "few"], 2, "--max-votes"),
        (["--require", "zed"], 2, "--require names no expert 'zed'; the panel has expert_1"),
        (["--require", "expert_1,expert_2", "--max-votes", 1], 2, "--require names 2 experts, more than --max-votes 1"),
        (["--require", ""], 2, "--require"),
        (["--budget", -1], 2, "--budget -1 is out of range"),
        (["--budget", "nan"], 2, "--budget nan is out of range"),
        (["--loss", "2=5"], 2, "--loss: no outcome '2' to have a loss; the target has 0, 1"),
        (["--loss", "1=-5"], 2, "--loss: loss -5 of '1' is out of range"),
        (["--loss", "1=grave"], 2, "--loss: 1=grave: 'grave' is not a number"),
        (["--loss", "0=0,1=0"], 2, "--loss: every outcome has a loss of 0"),
        (["--schedule", "best"], 2, "unknown schedule 'best'"),
        (["--preset", "paper", "--engine", "best"], 2, "unknown engine 'best'"),
        (["--preset", "paper", "--ablate", "tau"], 2, "cannot ablate 'tau'"),
        (["--engine", "nuts"], 2, f"option engine is for {IN_FORCE}"),
        (["--ablate", "temperature"], 2, f"option ablate is for {IN_FORCE}"),
        (["--set", "eta=1"], 2, f"setting eta is for {IN_FORCE}"),
        (["--set", "particles=64,eta=1"], 2, f"setting eta is for {IN_FORCE}"),
        (["--method", "majority:2", "--chooser", "entropy", "--set", "eta=1"], 2, f"setting eta is for {IN_FORCE}"),
        (["--preset", "paper", "--set", "sigma=1"], 2, "setting sigma is for model 'evidence', and model 'full' is in"),
        (["--method", "all", "--set", "eta=1"], 2, "option set does not apply to method 'all'"),
        (["--set", "zeta=1"], 2, "no setting 'zeta'"),
        (["--set", "eta"], 2, "'eta' is not name=value"),
        (["--window", 0], 2, "window 0 is too small"),
        (["--method", "hindsight", "--window", 5], 2, "option window does not apply to 'hindsight'"),
        (["--method", "hindsight:best"], 2, "unknown preset 'best'"),
        (["--offset", 99], 2, "offset 99 is out of range; the table has 12 cases"),
        (["--limit", -1], 2, "--limit"),
        (["--colour", "red"], 2, "--colour"),
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
    out = tmp_path / "run"
    assert call(monkeypatch, "replay", table, "--out", out, *words) == code
    told = capsys.readouterr()
    assert message in told.err
    assert "Traceback" not in told.err
    assert told.out == ""
    assert not out.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"item,expert_1,p_0,p_1\n", "no rows"),
        (b"\x00\xff\xfe\x00binary", "panel.csv"),
        (b"item,expert_1,p_0\n1,0,1.0\n", "class"),
        (b"item,expert_1,p_0,p_1\n1,0,0.5,0.6\n", "row 1: "),
        (b"item,expert_1,p_0,p_1\n1,0,0.5,0.5\n2,1,nan,0.5\n", "row 2: "),
        (b"item,expert_1,p_0,p_1\n1,0,-0.5,1.5\n", "row 1: "),
        (b"item,expert_1,p_0,p_1\n1,7,0.5,0.5\n", "row 1: "),
        (b"item,expert_1,p_0,p_1\n1,0,0.5,0.5\n1,0,0.5,0.5\n", "row 2: "),
        (b"item,expert_1,p_0,p_1\n1,,0.5,0.5\n", "row 1: "),
    ],
)
def test_a_bad_table_is_named_by_its_row(
    content: bytes,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "panel.csv"
    path.write_bytes(content)
    out = tmp_path / "run"
    assert call(monkeypatch, "replay", path, "--out", out) == 1
    told = capsys.readouterr()
    assert message in told.err
    assert not out.exists()


def test_a_missing_file_and_an_unwritable_folder_are_named(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "replay", tmp_path / "absent.csv") == 1
    assert "absent.csv" in capsys.readouterr().err
    assert call(monkeypatch, "replay", table, "--out", table) == 1  # a file where a folder should be
    assert "panel.csv" in capsys.readouterr().err


def test_the_real_program_replays_without_a_warning(table: Path) -> None:
    words = [sys.executable, "-W", "error", "-m", "quorate.cli.main", "replay", str(table), "--set", QUICK]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "experts a case on average" in done.stdout
