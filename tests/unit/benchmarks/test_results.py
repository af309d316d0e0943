"""The page of results from kept lines alone: what was measured stands in it, and nothing where nothing was."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks import results

from quorate.data.synthetic import simulate
from quorate.errors import InputError
from quorate.experiments.cell import Cell, run_cell
from quorate.experiments.kept import TABLES, tables_text
from quorate.experiments.series import Series, Subject, Work, subject_of
from quorate.reporting.paper_facts import INFEXP, PANELS

TABLE = simulate(np.random.default_rng(0), experts=3, classes=4, cases=12)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `quorate paper` leaves it, with some runs of one method."""
    out = tmp_path_factory.mktemp("made")
    known = subject_of("chaoyang", TABLE)
    subjects = [replace(known, name=name, digest=name) for name in PANELS if name != "chaoyang"] + [known]
    (out / TABLES).write_text(tables_text(subjects, quick=False))
    work = Work({one.name: one for one in subjects})
    cells: list[Cell] = [cell for e in (0.0, 0.05) for cell in work.cells(Series.of("chaoyang", INFEXP, e))]
    (out / "results.jsonl").write_text("".join(run_cell(cell, TABLE) + "\n" for cell in cells))
    return out


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "out"))


def test_without_runs_there_is_no_page(tmp_path: Path) -> None:
    assert not results.write(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_page_is_made_from_kept_lines_alone(folder: Path, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    assert results.kept_from([folder], docs) == 24
    assert results.kept_from([folder], docs) == 0
    reading = docs / "results" / "reading"
    reading.mkdir()
    (reading / "fig2.md").write_text("INFEXP asks a lot.\n")
    (reading / "differences.md").write_text("Nothing was tried yet.\n")
    assert results.write(docs)
    page = (docs / "results.md").read_text()
    assert "## Figure 2. Error against queries\n\n![Error against queries](results/fig2-error-cost.png)" in page
    assert "INFEXP asks a lot." in page
    assert "## Where the two differ, and why\n\nNothing was tried yet." in page
    assert "; allowed 0 |" in page
    assert "paper 1.82" in page
    assert "2376 runs of it are not finished" in page
    assert "Not run yet" in page
    assert "Figure 5" in page.partition("Not run yet")[2]
    assert (docs / "results" / "fig2-error-cost.png").exists()
    assert str(tmp_path) not in page
    for line in (docs / "results" / "chaoyang.jsonl").read_text().splitlines():
        assert not {"votes", "asked", "truth"} & set(json.loads(line))
    before = page
    results.write(docs)
    assert (docs / "results.md").read_text() == before


def test_quick_runs_and_runs_of_another_table_are_not_kept(folder: Path, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    results.kept_from([folder], docs)
    (folder / TABLES).write_text(tables_text([Subject("chaoyang", "other", 12)], quick=False))
    with pytest.raises(InputError, match="chaoyang is another table than the one that is kept"):
        results.kept_from([folder], docs)
    (folder / TABLES).write_text(tables_text([], quick=True))
    with pytest.raises(InputError, match="quick runs are not kept"):
        results.kept_from([folder], docs)
