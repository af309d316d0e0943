"""What a table or figure of the paper needs: methods on data sets, each a series of runs, and their finished lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from quorate.assembly import Options
from quorate.assurance.runs import Run
from quorate.data.table import Table
from quorate.experiments.accuracy import Accuracy, accuracy
from quorate.experiments.cell import Cell, Line, run_of_line
from quorate.experiments.compare import options_of
from quorate.experiments.hindsight import in_hindsight
from quorate.experiments.protocol import LENGTH, RunPlan, paper_runs, shift_runs
from quorate.reporting.paper_facts import MAX_ERRORS, SHIFT

QUICK_MAX_ERRORS = (0.01, 0.025, 0.05)
QUICK_CASES = 60
QUICK_ROWS = 3 * QUICK_CASES
"""Rows of a table that quick runs know: three blocks of 60."""


@dataclass(frozen=True)
class Subject:
    """A data set as far as results go: its name, what tells its content, its size and its agents' accuracy."""

    name: str
    digest: str
    cases: int
    accuracies: Mapping[str, Accuracy] = field(default_factory=dict)  # "all", or "before" and "after" a shift


@dataclass(frozen=True)
class Series:
    """One method as it is told to work on one data set: it has several runs."""

    table: str
    options: Options
    target: str = "consensus"
    length: int | None = None  # cases of a run, where fewer than the protocol's are enough

    @staticmethod
    def of(table: str, method: str, max_error: float, target: str = "consensus") -> Series:
        """A method by its name; the same runs as those of `quorate compare`.

        >>> Series.of("chestxray", "infexp", 0.01).options.max_error
        0.01
        """
        return Series(table, options_of(method, max_error, Options()), target)


@dataclass(frozen=True)
class Work:
    """The data sets, how much of the protocol is run, and the lines that are finished."""

    subjects: Mapping[str, Subject]
    runs: int = 12
    quick: bool = False
    lines: Mapping[str, Line] = field(default_factory=dict)  # by id
    # outputs share series: what was worked out for one serves the others
    _named: dict[Series, list[str]] = field(init=False, repr=False, compare=False, default_factory=dict)
    _walked: dict[Series, list[Run]] = field(init=False, repr=False, compare=False, default_factory=dict)

    @property
    def max_errors(self) -> tuple[float, ...]:
        """The allowed errors that are run."""
        return QUICK_MAX_ERRORS if self.quick else MAX_ERRORS

    def cells(self, series: Series) -> list[Cell]:
        """A cell for each run of a series."""
        subject = self.subjects[series.table]
        return [
            # what is fitted in hindsight knows the whole table, whatever the run: one fit serves all of them
            Cell(
                subject.name,
                subject.digest,
                series.options,
                series.target,
                run if series.length is None else replace(run, limit=min(run.limit, series.length)),
                0 if in_hindsight(series.options.method) else number,
            )
            for number, run in enumerate(self._plans(subject))
        ]

    def _plans(self, subject: Subject) -> Sequence[RunPlan]:
        if subject.name == SHIFT:
            if self.quick:  # of the first stream alone
                return shift_runs(LENGTH, self.runs, length=QUICK_CASES)
            return shift_runs(subject.cases, self.runs)
        return paper_runs(subject.cases, self.runs)

    def ids(self, series: Series) -> list[str]:
        """The ids of a series' cells."""
        if series not in self._named:
            self._named[series] = [cell.id for cell in self.cells(series)]
        return self._named[series]

    def found(self, series: Series) -> list[Line]:
        """The finished lines of a series, in the order of its runs."""
        return [self.lines[name] for name in self.ids(series) if name in self.lines]

    def runs_of(self, series: Series) -> list[Run]:
        """The runs of a series that is finished; none of one that is not, for part of it would not be comparable."""
        if series not in self._walked:
            lines = self.found(series)
            whole = len(lines) == len(self.ids(series))
            self._walked[series] = [run_of_line(line) for line in lines] if whole else []
        return self._walked[series]

    def missing(self, wanted: Sequence[Series]) -> int:
        """How many runs of some series are not finished."""
        ids = {name for series in wanted if series.table in self.subjects for name in self.ids(series)}
        return len(ids - set(self.lines))

    def have(self, tables: Sequence[str]) -> list[str]:
        """Those of some data sets that are there."""
        return [name for name in tables if name in self.subjects]


def subject_of(name: str, table: Table) -> Subject:
    """A table as far as results go."""
    if name != SHIFT:
        return Subject(name, table.digest, len(table), {"all": accuracy(table)})
    place = [row % LENGTH for row in range(len(table) // LENGTH * LENGTH)]
    before = [row for row, at in enumerate(place) if at < LENGTH // 2]
    after = [row for row, at in enumerate(place) if at >= LENGTH // 2]
    return Subject(name, table.digest, len(table), {"before": accuracy(table, before), "after": accuracy(table, after)})
