"""Every table and figure of the paper, from the sweep of their runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path

from quorate.data.published import PUBLISHED
from quorate.data.table import Table, read_table
from quorate.errors import InputError, SettingsError
from quorate.experiments import paper_curves as curves
from quorate.experiments import paper_learning as learning
from quorate.experiments import paper_variants as variants
from quorate.experiments.cell import Line
from quorate.experiments.finished import Finished
from quorate.experiments.paper_accuracy import accuracy_table
from quorate.experiments.protocol import paper_runs
from quorate.experiments.series import QUICK_ROWS, Series, Subject, Work, subject_of
from quorate.experiments.sweep import Failure, Progress, sweep
from quorate.reporting.paper import Output, Results
from quorate.reporting.paper_facts import ACCURACY_OF, PANELS, SHIFT

CLASSES = {**{one.name: one.classes for one in PUBLISHED}, SHIFT: ("objects", "animals", "transportation")}


@dataclass(frozen=True)
class Maker:
    """One table or figure: its names, the data sets it needs, the series it is made from, and how."""

    name: str
    alias: str
    tables: tuple[str, ...]
    make: Callable[[Finished], Output]
    series: Callable[[Work], list[Series]] = lambda _: []


def _accuracy(name: str) -> Callable[[Finished], Output]:
    return lambda finished: accuracy_table(name, finished.work)


FOUR = tuple(PANELS)
MAKERS = (
    Maker("fig2", "error-cost", FOUR, curves.error_cost, curves.error_cost_series),
    Maker("table1", "calibration", FOUR, curves.calibration, curves.calibration_series),
    Maker("fig3", "threshold", FOUR, curves.thresholds, curves.threshold_series),
    Maker("table2", "first-last", FOUR, learning.edges, learning.edges_series),
    Maker("fig4", "shift", (SHIFT,), learning.shift, learning.shift_series),
    Maker("fig5", "any-all", (curves.XRAY,), curves.any_all, curves.any_all_series),
    Maker("finer", "finer", FOUR, curves.finer, curves.finer_series),
    Maker("ablations", "ablations", FOUR, variants.ablations, variants.ablation_series),
    Maker("sensitivity", "sensitivity", FOUR, variants.sensitivity, variants.sensitivity_series),
    *(Maker(name, "accuracy", (table,), _accuracy(name)) for name, table in ACCURACY_OF.items()),
)
"""In the order in which they are shown: the paper's own, then what goes beyond it, then the appendix."""

FIRST = ("table1", "table2", "fig2", "fig3", "fig4", "fig5")
"""Those whose runs come first: what is most telling, should time run out."""


PROMISING = {"fig2", "fig3", "fig5"}
"""Those that hold the error against what is allowed, at every threshold."""


def makers_of(names: Sequence[str]) -> tuple[Maker, ...]:
    """The outputs that names stand for, by the paper's numbers or in words; all of them where there is none.

    >>> [maker.name for maker in makers_of(["table2", "error-cost"])]
    ['fig2', 'table2']
    """
    known = {name for maker in MAKERS for name in (maker.name, maker.alias)}
    for name in names:
        if name not in known:
            numbered = ", ".join(maker.name for maker in MAKERS)
            words = ", ".join(dict.fromkeys(maker.alias for maker in MAKERS if maker.alias != maker.name))
            raise SettingsError(f"no output {name!r}; expected {numbered}, or in words {words}")
    return tuple(maker for maker in MAKERS if not names or maker.name in names or maker.alias in names)


def read_tables(folder: Path, makers: Sequence[Maker], *, quick: bool) -> tuple[dict[str, Table], dict[str, Subject]]:
    """The tables of some outputs that a folder holds, as they are run and as they are described.

    Quick runs know the first rows alone; the accuracies are those of all rows in any case.
    """
    if not folder.is_dir():
        raise InputError(f"{str(folder)!r} is not a folder; expected one that holds chestxray.csv and the others")
    tables, subjects = {}, {}
    for name in dict.fromkeys(name for maker in makers for name in maker.tables):
        path = folder / f"{name}.csv"
        if not path.exists():
            continue
        table = read_table(path, classes=CLASSES[name])
        subject = subject_of(name, table)
        if quick and name != SHIFT:
            table = table.select(range(min(QUICK_ROWS, len(table))))
        tables[name] = table
        subjects[name] = replace(subject, digest=table.digest, cases=len(table))
    return tables, subjects


def can_be_made(makers: Sequence[Maker], subjects: Mapping[str, Subject]) -> tuple[tuple[Maker, ...], tuple[str, ...]]:
    """Those of some outputs whose tables are there, and in words which are not and why."""
    left = tuple(
        f"{maker.name} needs {', '.join(f'{name}.csv' for name in maker.tables if name not in subjects)}"
        for maker in makers
        if any(name not in subjects for name in maker.tables)
    )
    return tuple(maker for maker in makers if all(name in subjects for name in maker.tables)), left


def check_runs(runs: int) -> None:
    """Refuse a number of runs that the protocol does not have."""
    paper_runs(3000, runs)


def wanted(makers: Sequence[Maker], work: Work) -> list[Series]:
    """Every series of some outputs, the most telling first."""
    order = sorted(makers, key=lambda maker: FIRST.index(maker.name) if maker.name in FIRST else len(FIRST))
    return list(dict.fromkeys(series for maker in order for series in maker.series(work)))


def paper(
    makers: Sequence[Maker],
    work: Work,
    tables: Mapping[str, Table],
    *,
    results: Path,
    executor: Executor,
    progress: Progress | None = None,
    known: Mapping[str, Line] | None = None,
) -> Results:
    """Run what is missing, and make the outputs of what there is."""
    cells = [cell for series in wanted(makers, work) for cell in work.cells(series)]
    by_digest = {table.digest: table for table in tables.values()}
    done = sweep(cells, by_digest, results=results, executor=executor, progress=progress, known=known)
    return made(makers, replace(work, lines={line.id: line for line in done.lines}), done.failures)


def made(makers: Sequence[Maker], work: Work, failures: Sequence[Failure] = ()) -> Results:
    """The outputs of finished lines; what they still miss they say themselves."""
    series = wanted(makers, work)
    finished = Finished.of(work, series)
    names = {maker.name for maker in makers}
    ids = {name for one in series for name in work.ids(one)}
    return Results(
        outputs=tuple(maker.make(finished) for maker in makers),
        promises=tuple(curves.promises(finished, targets="fig5" in names)) if names & PROMISING else (),
        runs=work.runs,
        quick=work.quick,
        failures=tuple(map(_said, failures)),
        tables=tuple((one.name, one.cases, one.digest) for one in work.subjects.values()),
        seconds=sum(line.times["seconds"] for line in work.lines.values() if line.id in ids),
    )


def _said(failure: Failure) -> str:
    cell = failure.cell
    shuffled = cell.run.halves if cell.run.shuffle is None else cell.run.shuffle
    return (
        f"{cell.table}: {cell.options.method} at {cell.options.max_error:g}, target {cell.target}, "
        f"offset {cell.run.offset}, shuffle {shuffled}: {failure.reason}"
    )
