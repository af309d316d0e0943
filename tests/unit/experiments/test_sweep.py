"""Sweeps: resumable to the line, through processes or a Dask cluster, a failed cell never stops the rest."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from quorate.assembly import Options
from quorate.core.settings import Settings
from quorate.data.synthetic import simulate
from quorate.data.table import Table, write_table
from quorate.errors import InputError, SettingsError
from quorate.experiments.cell import Cell, line_of, run_cell, run_of_line
from quorate.experiments.protocol import RunPlan, paper_runs
from quorate.experiments.replay import choose_rows, replay
from quorate.experiments.sweep import open_executor, read_results, results_file, sweep

TABLE = simulate(np.random.default_rng(0), experts=3, classes=2, cases=60)


def cells_of(table: Table, methods: tuple[str, ...] = ("majority:1", "until-determined", "classifier")) -> list[Cell]:
    return [
        Cell("made", table.digest, Options(method=method), "consensus", run, seed)
        for method in methods
        for seed, run in enumerate(paper_runs(len(table)))
    ]


def plain(path: Path) -> list[str]:
    """Lines without the times, sorted: what must not depend on when and where they were made."""
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return sorted(json.dumps({**line, "times": None}) for line in found)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The lines of a sweep that was never killed."""
    path = tmp_path_factory.mktemp("whole") / "results.jsonl"
    with ThreadPoolExecutor(1) as executor:
        done = sweep(cells_of(TABLE), {TABLE.digest: TABLE}, results=path, executor=executor)
    assert len(done.lines) == 36
    assert done.failures == ()
    return plain(path)


def test_a_finished_cell_is_never_run_twice(tmp_path: Path, whole: list[str]) -> None:
    path = tmp_path / "results.jsonl"
    cells = cells_of(TABLE)
    seen: list[tuple[int, int]] = []
    with ThreadPoolExecutor(1) as executor:
        sweep(cells[:10], {TABLE.digest: TABLE}, results=path, executor=executor)
        before = path.read_text()
        done = sweep(
            cells,
            {TABLE.digest: TABLE},
            results=path,
            executor=executor,
            progress=lambda finished, all_: seen.append((finished, all_)),
        )
        assert path.read_text().startswith(before)
        sweep(cells, {TABLE.digest: TABLE}, results=path, executor=executor)
    assert plain(path) == whole
    assert [line.cell for line in done.lines] == cells
    assert seen[0] == (11, 36)
    assert seen[-1] == (36, 36)


def test_a_line_cut_short_is_run_again(tmp_path: Path, whole: list[str]) -> None:
    path = tmp_path / "results.jsonl"
    with ThreadPoolExecutor(1) as executor:
        sweep(cells_of(TABLE)[:5], {TABLE.digest: TABLE}, results=path, executor=executor)
        path.write_bytes(path.read_bytes()[:-40])
        assert len(read_results(path)) == 4
        sweep(cells_of(TABLE), {TABLE.digest: TABLE}, results=path, executor=executor)
    assert plain(path) == whole


PROGRAM = """
import sys
from pathlib import Path
from quorate.data.table import read_table
from quorate.experiments.sweep import open_executor, sweep
from tests.unit.experiments.test_sweep import cells_of
if __name__ == "__main__":
    table = read_table(sys.argv[1])
    with open_executor(jobs=2) as executor:
        sweep(cells_of(table), {table.digest: table}, results=Path(sys.argv[2]), executor=executor)
"""


def test_killed_at_any_moment_it_goes_on(tmp_path: Path, whole: list[str]) -> None:
    write_table(TABLE, tmp_path / "table.csv")
    (tmp_path / "program.py").write_text(PROGRAM)
    path = tmp_path / "results.jsonl"
    root = str(Path(__file__).parents[3])
    words = [sys.executable, str(tmp_path / "program.py"), str(tmp_path / "table.csv"), str(path)]
    moments = np.random.default_rng(0).uniform(0.0, 0.2, 3)
    for wait in moments:
        lines = len(path.read_bytes().splitlines()) if path.exists() else 0
        program = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": root}, start_new_session=True)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and program.poll() is None:
            if path.exists() and len(path.read_bytes().splitlines()) > lines:
                break
            time.sleep(0.005)
        time.sleep(wait)
        program.send_signal(signal.SIGKILL)
        program.wait()
    subprocess.run(words, env={**os.environ, "PYTHONPATH": root}, check=True)
    assert plain(path) == whole


@pytest.fixture
def cluster() -> Iterator[str]:
    """A real scheduler and two workers on loopback."""
    words = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    scheduler = subprocess.Popen(
        [*words, "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert scheduler.stderr is not None
    address = next(line.split()[-1] for line in scheduler.stderr if "Scheduler at:" in line)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    alone = ["--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard", "--no-nanny"]
    words = [sys.executable, "-m", "distributed.cli.dask_worker", address, *alone]
    one, two = (subprocess.Popen(words, stderr=subprocess.DEVNULL, env=environment) for _ in range(2))
    yield address
    for worker in (one, two):
        worker.terminate()
        worker.wait()
    scheduler.terminate()
    scheduler.wait()
    scheduler.stderr.close()


def test_a_dask_cluster_gives_the_same_lines(cluster: str, tmp_path: Path, whole: list[str]) -> None:
    path = tmp_path / "results.jsonl"
    with open_executor(cluster=cluster) as executor:
        done = sweep(cells_of(TABLE), {TABLE.digest: TABLE}, results=path, executor=executor)
    assert done.failures == ()
    assert plain(path) == whole


def test_a_failed_cell_is_reported_and_the_rest_goes_on(tmp_path: Path) -> None:
    good = cells_of(TABLE, ("classifier",))
    bad = replace(good[0], options=Options(method="magic"))
    beyond = replace(good[1], run=RunPlan(offset=999, limit=5))
    with ThreadPoolExecutor(1) as executor:
        done = sweep([bad, *good, beyond], {TABLE.digest: TABLE}, results=tmp_path / "r.jsonl", executor=executor)
    assert [line.cell for line in done.lines] == good
    reasons = {failure.cell: failure.reason for failure in done.failures}
    assert "unknown method 'magic'" in reasons[bad]
    assert "offset 999 is out of range" in reasons[beyond]


def test_a_line_holds_what_the_replay_gave() -> None:
    settings = Settings(chains=2, warmup=20, draws=40, extensions=0, latents=1000, max_rhat=9.0, min_ess=1.0)
    options = Options(max_error=0.1, preset="paper", settings=settings, ablate=("temperature",))
    cell = Cell("made", TABLE.digest, options, "consensus", RunPlan(4, 6, 2), 3)
    line = line_of(run_cell(cell, TABLE))
    report = replay(TABLE, options=options, limit=6, offset=4, shuffle=2, seed=3)
    rows = choose_rows(len(TABLE), limit=6, offset=4, shuffle=2)
    found = run_of_line(line, {0: 3.0})
    assert found.rows.tolist() == rows
    assert found.queries.tolist() == [case.human_votes for case in report.scored]
    dear = [sum(3.0 if name == "expert_1" else 1.0 for name in case.asked) for case in report.scored]
    assert found.cost.tolist() == dear
    assert found.error.tolist() == [case.error for case in report.scored]
    truth = [-1 if case.tied else report.outcomes.index(case.truth[0]) for case in report.scored]
    assert found.truth.tolist() == truth
    assert np.allclose(found.stated, [case.stated_error for case in report.scored], rtol=1e-5)
    assert line.cell == cell
    assert line.figures["mean_queries"] == report.summary.mean_queries


def test_edited_results_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with ThreadPoolExecutor(1) as executor:
        sweep(cells_of(TABLE, ("classifier",))[:2], {TABLE.digest: TABLE}, results=path, executor=executor)
    text = path.read_text()
    path.write_text(text.replace('"seed":1', '"seed":7'))
    with pytest.raises(InputError, match=r"line 2: .*edited"):
        read_results(path)
    path.write_text("not json\n" + text)
    with pytest.raises(InputError, match="line 1: not a result"):
        read_results(path)


def test_files_that_are_no_results_and_a_second_writer_are_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00\n")
    with pytest.raises(InputError, match="not a file of results"):
        read_results(tmp_path / "binary.jsonl")
    with pytest.raises(InputError, match="not a file of results"):
        read_results(tmp_path)
    with pytest.raises(InputError, match="cannot be written"), results_file(tmp_path):
        pass
    path = tmp_path / "r.jsonl"
    with results_file(path), pytest.raises(InputError, match="another sweep is writing"), results_file(path):
        pass


def test_executors_are_checked() -> None:
    with pytest.raises(SettingsError, match="jobs = 0 is too small"), open_executor(jobs=0):
        pass
    with pytest.raises(SettingsError, match="exclude each other"), open_executor(jobs=2, cluster="tcp://127.0.0.1:1"):
        pass
    with pytest.raises(InputError, match="no Dask scheduler answers"), open_executor(cluster="tcp://127.0.0.1:1"):
        pass


def test_the_papers_runs() -> None:
    twelve = paper_runs(810)
    assert len(twelve) == 12
    assert {plan.limit for plan in twelve} == {250}
    assert {plan.shuffle for plan in twelve} == {None, 1, 2, 3}
    assert [plan.offset for plan in paper_runs(9994)] == [250 * block for block in range(12)]
    assert {plan.limit for plan in paper_runs(460)} == {153}
    with pytest.raises(SettingsError, match="runs = 13"):
        paper_runs(810, 13)
    with pytest.raises(SettingsError, match="too few"):
        paper_runs(2)
