"""The files of a run: complete, plain and never half-written."""

import csv
import dataclasses
import io
import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from quorate.errors import InputError, MissingExtraError
from quorate.reporting import files
from quorate.reporting.files import check_folder, steps_csv, write_run
from quorate.reporting.replay import figures
from quorate.reporting.tables import replay_summary
from tests.unit.reporting.replay_reports import Page, small_report

HASH = "ab" * 32
NAMES = ["report.html", "run.json", "steps.csv"]


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_folder_holds_exactly_the_three_files(tmp_path: Path) -> None:
    paths = write_run(tmp_path / "deep" / "run", small_report(), seed=7, data_sha256=HASH)
    assert listing(tmp_path / "deep") == ["run"]
    assert sorted(path.name for path in paths) == listing(tmp_path / "deep" / "run") == NAMES
    Page((tmp_path / "deep" / "run" / "report.html").read_text(encoding="utf-8"))


def test_an_existing_folder_keeps_what_else_it_holds(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "steps.csv").write_text("old")
    write_run(tmp_path, small_report(), seed=7, data_sha256=HASH)
    assert listing(tmp_path) == ["notes.txt", *NAMES]
    assert (tmp_path / "steps.csv").read_text().startswith("key,asked,votes")


def test_steps_have_a_row_a_case_in_order() -> None:
    rows = list(csv.DictReader(io.StringIO(steps_csv(small_report().scored))))
    assert [row["key"] for row in rows] == [f"case-{t}" for t in range(10)]
    assert list(rows[0]) == list(files.COLUMNS)
    assert rows[0]["asked"] == "ann;ben;cho"
    assert rows[1]["votes"] == "normal;normal"
    assert rows[3] == {
        "key": "case-3",
        "asked": "ben",
        "votes": "normal",
        "decision": "normal",
        "probability": "0.992",
        "stated_error": "0.008",
        "human_votes": "1",
        "correct": "0",
        "cost": "1",
        "reason": "sure",
        "kept": "1",
        "stated_loss": "",
        "loss": "",
        "rounds": "1",
    }
    assert (rows[4]["asked"], rows[4]["human_votes"], rows[4]["correct"]) == ("", "0", "1")
    assert rows[6]["correct"] == "0.5"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_is_a_formula(start: str) -> None:
    report = small_report((f"{start}ann", "ben", "cho"), (f"{start}SUM(A1)", "b"))
    cases = [dataclasses.replace(case, key=f"{start}{case.key}") for case in report.scored]
    for row in csv.reader(io.StringIO(steps_csv(cases), newline="")):
        assert not any(cell.startswith(files.FORMULA) for cell in row)


def test_awkward_names_survive_the_table() -> None:
    report = small_report(('a,"b"\nc', "b;d", "c"))
    rows = list(csv.DictReader(io.StringIO(steps_csv(report.scored))))
    assert rows[1]["asked"] == 'b\\;d;a,"b"\nc'
    assert len(rows) == 10


def test_run_record_holds_settings_seed_versions_hash_and_figures(tmp_path: Path) -> None:
    report = small_report()
    write_run(tmp_path, report, seed=7, data_sha256=HASH)
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert record["seed"] == 7
    assert record["data_sha256"] == HASH
    assert record["settings"] == {"preset": "paper", "max_error": 0.01, "window": None, "temperature": True}
    assert {"python", "quorate", "numpy"} <= set(record["versions"])
    assert record["figures"] == figures(report)
    assert record["figures"]["errors"] == 1
    assert record["figures"]["worst_rhat"] == 1.012


def test_numbers_that_are_not_finite_become_null() -> None:
    report = dataclasses.replace(
        small_report(), settings={"bad": float("nan"), "far": [float("inf")], "path": Path("x")}
    )
    record = json.loads(files.run_json(report, seed=0, data_sha256=HASH))
    assert record["settings"] == {"bad": None, "far": [None], "path": "x"}


def test_figures_have_the_public_names_in_order() -> None:
    assert list(figures(small_report())) == [
        *("cases", "experts", "classes", "method", "preset", "model", "chooser", "schedule", "target", "max_error"),
        *("mean_queries", "error_rate", "errors", "ties", "ece", "stated_error", "queries_first_50", "queries_last_50"),
        *("no_human_share", "full_panel_queries", "saved_share", "cost", "seconds", "seconds_fitting"),
        *("seconds_deciding", "decision_p95_ms", "fits", "worst_rhat", "worst_ess", "unhealthy_fits", "forced_asks"),
        *("limited", "mean_loss", "stated_loss", "missed", "mean_rounds"),
    ]


def test_a_file_in_the_way_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x")
    for folder in (tmp_path / "taken", tmp_path / "taken" / "below"):
        with pytest.raises(InputError, match=r"taken' is a file; name a folder"):
            write_run(folder, small_report(), seed=0, data_sha256=HASH)
    assert listing(tmp_path) == ["taken"]


NOBODY = 65534


def test_a_folder_without_permission_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    superuser = os.geteuid() == 0
    if superuser:  # may write anywhere, so asks as somebody else
        os.setreuid(NOBODY, -1)
    try:
        with pytest.raises(InputError, match="no permission to write"):
            check_folder(tmp_path / "run")
    finally:
        if superuser:
            os.setreuid(0, -1)


@pytest.mark.parametrize("name", ["x" * 300, "nul\0byte"])
def test_a_name_no_folder_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot write to the folder"):
        write_run(tmp_path / name, small_report(), seed=0, data_sha256=HASH)
    assert listing(tmp_path) == []


@pytest.mark.parametrize("existing", [True, False])
def test_a_write_that_fails_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, existing: bool
) -> None:
    target = tmp_path / "run"
    if existing:
        target.mkdir()
    real = Path.write_text

    def failing(self: Path, *args: object, **kwargs: object) -> int:
        if self.name == "run.json":
            raise OSError(28, "No space left on device")
        return real(self, *args, **kwargs)  # type: ignore[arg-type]  # passed on as given

    monkeypatch.setattr(Path, "write_text", failing)
    with pytest.raises(InputError, match="No space left on device"):
        write_run(target, small_report(), seed=0, data_sha256=HASH)
    assert listing(tmp_path) == (["run"] if existing else [])
    assert not existing or listing(target) == []


def test_a_page_that_cannot_be_drawn_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> str:
        raise MissingExtraError("plots", "plots")

    monkeypatch.setattr(files, "render_report", missing)
    with pytest.raises(MissingExtraError):
        write_run(tmp_path / "run", small_report(), seed=0, data_sha256=HASH)
    assert listing(tmp_path) == []


def test_terminal_shows_the_sentence_and_both_tables() -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    report = dataclasses.replace(small_report(), title="[red]odd[/nothing]")
    console.print(replay_summary(report))
    shown = console.export_text()
    assert "quorate asked 1.2 of 3 experts a case" in shown
    assert "[red]odd[/nothing]" in shown
    for text in ("Queries a case", "1.20", "1 of 9", "Worst R-hat", "1.012", "12.5 s"):
        assert text in shown
