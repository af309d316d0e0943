"""The files of a comparison and its table for a terminal: complete, plain and never half-written."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from quorate.errors import InputError
from quorate.reporting.comparison import Comparison
from quorate.reporting.comparison_files import comparison_record, points_csv, write_comparison
from quorate.reporting.comparison_tables import comparison_summary
from quorate.reporting.files import FORMULA
from tests.unit.reporting.comparisons import small_comparison
from tests.unit.reporting.replay_reports import Page

NUMBER = re.compile(r"-?[0-9.]+(e-?[0-9]+)?")
NAMES = ["comparison.html", "comparison.json", "points.csv"]


def printed(comparison: Comparison, width: int = 80) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(comparison_summary(comparison))
    return out.getvalue()


def test_the_folder_holds_the_three_files_beside_the_results(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text("kept")
    paths = write_comparison(tmp_path, small_comparison())
    assert sorted(path.name for path in paths) == NAMES
    assert sorted(path.name for path in tmp_path.iterdir()) == [*NAMES, "results.jsonl"]
    assert (tmp_path / "results.jsonl").read_text() == "kept"
    Page((tmp_path / "comparison.html").read_text(encoding="utf-8"))


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x")
    with pytest.raises(InputError, match="taken"):
        write_comparison(tmp_path / "taken", small_comparison())


def test_points_have_a_row_a_method_and_allowed_error() -> None:
    rows = list(csv.DictReader(io.StringIO(points_csv(small_comparison(price=2.0)))))
    assert [(row["method"], row["max_error"]) for row in rows] == [
        *(("bayes", error) for error in ("0", "0.01", "0.05")),
        *(("infexp", error) for error in ("0", "0.01", "0.05")),
        *((name, "") for name in ("majority:1", "until-determined", "all", "classifier")),
    ]
    row = rows[1]
    assert (row["kind"], row["runs"], row["cases"], row["wrong"], row["ties"]) == ("model", "3", "60", "1", "2")
    assert [float(row[name]) for name in ("queries", "queries_low", "queries_high")] == [1.75, 1.65, 1.85]
    assert [float(row[name]) for name in ("cost", "cost_low", "cost_high")] == [3.5, 3.4, 3.6]
    assert [float(row[name]) for name in ("error", "error_low", "error_high")] == [0.008, 0.004, 0.016]
    assert float(row["error_high:abnormal"]) == 0.016
    assert row["error:rare"] == ""  # no case of that class
    assert [float(row[f"asked:{name}"]) for name in ("ann", "ben", "cho")] == [0.5, 0.3, 0.2]
    assert (float(row["first_50"]), float(row["last_50"]), row["unhealthy_fits"]) == (1.95, 1.55, "1")


@pytest.mark.parametrize("start", FORMULA)
def test_no_cell_is_a_formula(start: str) -> None:
    comparison = small_comparison(experts=(f"{start}a", "b", "c"), outcomes=(f"{start}x", "y", "z"))
    for row in csv.reader(io.StringIO(points_csv(comparison), newline="")):
        assert not any(cell.startswith(FORMULA) for cell in row if not NUMBER.fullmatch(cell))


def test_the_record_is_the_whole_comparison_as_json(tmp_path: Path) -> None:
    comparison = small_comparison(failures=("one",))
    write_comparison(tmp_path, comparison)
    record = json.loads((tmp_path / "comparison.json").read_text(encoding="utf-8"))
    assert record == comparison_record(comparison)
    assert record["curves"][0]["points"][1]["queries"] == {"value": 1.75, "low": 1.65, "high": 1.85}
    assert record["curves"][0]["points"][1]["by_class"]["rare"]["value"] is None
    assert record["recommendations"][1] == {"max_error": 0.01, "method": "bayes", "text": "At 1 take bayes."}
    assert (record["seed"], record["data_sha256"], record["failures"]) == (4, "cd" * 32, ["one"])
    assert {"python", "quorate", "numpy"} <= set(record["versions"])


def test_the_terminal_shows_the_sentences_and_every_method_once() -> None:
    text = printed(small_comparison())
    assert text.index("At 0 nothing kept its promise") < text.index("At 5 take bayes, too.") < text.index("allow")
    assert text.count("majority:1") == text.count("until-determined") == 1
    for max_error in ("0 %", "1 %", "5 %", "any"):
        assert any(line.strip().startswith(max_error) for line in text.splitlines())
    assert "…" not in text
    assert "1.75" in text
    assert "cost" in printed(small_comparison(price=2.0))
    assert "…" not in printed(small_comparison(price=2.0))


def test_the_terminal_reads_no_text_as_markup() -> None:
    assert "[bold]x[/bold].csv" in printed(small_comparison(table="[bold]x[/bold].csv"))
