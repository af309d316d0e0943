"""Recorded votes, one row a case: the value that replays, fits and reports start from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from quorate.core.arrays import Bools, Floats, Ints
from quorate.core.case import Case
from quorate.core.panel import Panel
from quorate.data.cells import (
    ABSENT,
    key_problems,
    normalised,
    probability_problems,
    read_keys,
    read_probabilities,
    read_votes,
    vote_problems,
)
from quorate.data.columns import ONLY_CLASSIFIER, find_columns, probability_columns
from quorate.data.formats import Sheet, read_sheet, write_sheet
from quorate.errors import InputError, Problem, TableError


@dataclass(frozen=True, eq=False)
class Table:
    """Recorded votes and classifiers' probabilities; indices inside, names in the panel.

    >>> table = table_from_arrays([[0, 1, -1], [1, 1, 1]], [[0.7, 0.3], [0.2, 0.8]], keys=["a", "b"])
    >>> len(table), table.case(0).available
    (2, (True, True, False))
    """

    panel: Panel
    keys: tuple[str, ...]
    votes: Ints  # (N, H), -1 = that expert was not available
    probabilities: Floats  # (N, M, K), a NaN row = that classifier is missing for the case
    source: str  # where it came from, for messages

    def __post_init__(self) -> None:
        for name in ("votes", "probabilities"):
            frozen = getattr(self, name).view()
            frozen.flags.writeable = False
            object.__setattr__(self, name, frozen)

    def __len__(self) -> int:
        return len(self.keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def case(self, row: int) -> Case:
        """A case with no votes yet; those who voted on record are available."""
        probabilities = tuple(
            None if np.isnan(given).any() else tuple(given.tolist()) for given in self.probabilities[row]
        )
        return Case(self.keys[row], probabilities, tuple((self.votes[row] != ABSENT).tolist()))

    def select(self, rows: Sequence[int]) -> Table:
        """The table of some rows (0 = the first), in the order given."""
        chosen = [int(row) for row in rows]
        wrong = next((row for row in chosen if not 0 <= row < len(self)), None)
        if wrong is not None:
            raise InputError(f"no row {wrong} in {self.source}; expected 0 to {len(self) - 1}")
        if len(set(chosen)) < len(chosen):
            raise InputError("a row was chosen twice; each case may be in a table once")
        keys = tuple(self.keys[row] for row in chosen)
        index = np.array(chosen, dtype=np.intp)
        return Table(self.panel, keys, self.votes[index], self.probabilities[index], self.source)

    def priced(self, costs: Mapping[str, float] | Sequence[float] | None) -> Table:
        """The same votes by experts who cost something else; the digest stays, since nothing was voted otherwise."""
        return replace(self, panel=self.panel.priced(costs))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the panel, keys, votes and probabilities, whatever file they came from."""
        names = [self.panel.classes, self.panel.experts, self.panel.classifiers, self.keys]
        whole = hashlib.sha256(json.dumps(names).encode())
        whole.update(self.votes.astype("<i8").tobytes())
        whole.update(np.where(np.isnan(self.probabilities), np.nan, self.probabilities).astype("<f8").tobytes())
        return whole.hexdigest()


def read_table(
    path: str | Path,
    *,
    classes: Sequence[str] | None = None,
    experts: Sequence[str] | None = None,
    classifiers: Sequence[str] | None = None,
) -> Table:
    """A table from a CSV, TSV, JSON Lines or Parquet file (see docs/tables.md), or a TableError with every bad row."""
    source = str(path)
    sheet = read_sheet(path)
    columns = find_columns(sheet.columns, classes=classes, experts=experts, classifiers=classifiers)
    if isinstance(columns, list):
        raise TableError(source, [*columns, *sheet.problems])
    if not sheet.rows:
        raise TableError(source, sheet.problems or [Problem(None, "has a header but no rows; expected a row a case")])
    panel = columns.panel
    keys, problems = read_keys(None if columns.key is None else sheet.cells[columns.key], sheet.rows)
    votes, of_votes = read_votes(
        [(name, sheet.cells[name]) for name in columns.votes], panel.classes, named=classes is not None
    )
    probabilities, of_probabilities = read_probabilities(
        [[(name, sheet.cells[name]) for name in group] for group in columns.probabilities], sheet.rows
    )
    broken = {problem.row for problem in sheet.problems}  # nothing of these rows was understood
    found = [*problems, *of_votes, *vote_problems(votes, skip=broken), *of_probabilities]
    found = [*sheet.problems, *(problem for problem in found if problem.row is None or problem.row not in broken)]
    if found:
        raise TableError(source, sorted(found, key=lambda problem: problem.row or 0))
    return Table(panel, keys, votes, normalised(probabilities), source)


def write_table(table: Table, path: str | Path) -> None:
    """Write a table as CSV, TSV, JSON Lines or Parquet by the ending of `path`, whole or not at all.

    Reading the file back with the same names gives the same table.
    """
    panel = table.panel
    plain = panel.classes == tuple(str(k) for k in range(len(panel.classes)))
    cells: list[tuple[str, Sequence[object]]] = [("item", table.keys)]
    for h, expert in enumerate(panel.experts):
        votes = table.votes[:, h].tolist()
        shown = [None if vote == ABSENT else vote if plain else panel.classes[vote] for vote in votes]
        cells.append((expert, shown))
    for m, classifier in enumerate(panel.classifiers):
        for k, name in enumerate(probability_columns(classifier, len(panel.classes))):
            numbers = table.probabilities[:, m, k]
            cells.append((name, [None if p != p else p for p in numbers.tolist()]))
    names = tuple(name for name, _ in cells)
    _refuse_names(names, panel)
    write_sheet(path, Sheet(names, dict(cells), len(table)))


def _refuse_names(columns: Sequence[str], panel: Panel) -> None:
    """Names that a table could hold but never give back."""
    for name in (*columns, *panel.classes):
        if name != name.strip():
            raise InputError(f"the name {name!r} begins or ends with a space; a table cannot hold it")
        if columns.count(name) > 1:
            raise InputError(f"two columns would be named {name!r}; rename the expert or classifier")


def table_from_arrays(
    votes: ArrayLike,
    probabilities: ArrayLike,
    *,
    panel: Panel | None = None,
    keys: Sequence[str] | None = None,
    source: str = "arrays",
) -> Table:
    """A table from votes (N, H), -1 or NaN where there is none, and probabilities (N, K) or (N, M, K).

    Without a panel the experts are expert_1, expert_2, ..., the classes 0, 1, ... and a single classifier `classifier`.

    >>> table_from_arrays([[0, 2], [1, 1]], [[0.5, 0.2, 0.3], [0.1, 0.8, 0.1]]).panel.classes
    ('0', '1', '2')
    """
    given = _numbers(source, "votes", votes, (2,), "(cases, experts)")
    rows = _numbers(source, "probabilities", probabilities, (2, 3), "(cases, classes) or (cases, classifiers, classes)")
    rows = rows[:, None, :] if rows.ndim == 2 else rows
    problems: list[Problem] = []
    if not len(given):
        problems.append(Problem(None, "holds no cases; expected at least one row"))
    if len(rows) != len(given):
        problems.append(Problem(None, f"{len(given)} rows of votes but {len(rows)} of probabilities"))
    if keys is not None and len(keys) != len(given):
        problems.append(Problem(None, f"{len(given)} rows of votes but {len(keys)} keys"))
    shape = (given.shape[1], rows.shape[1], rows.shape[2])
    panel = panel if panel is not None else _numbered_panel(*shape)
    expected = (len(panel.experts), len(panel.classifiers), len(panel.classes))
    if shape != expected:
        what = "experts, {} classifiers and {} classes"
        message = f"the arrays have {shape[0]} {what.format(*shape[1:])}, "
        problems.append(Problem(None, message + f"the panel {expected[0]} {what.format(*expected[1:])}"))
    if problems:
        raise TableError(source, problems)

    given = np.where(np.isnan(given), ABSENT, given)
    whole = (given == np.round(given)) & (given >= ABSENT) & (given < len(panel.classes))
    for row, h in np.argwhere(~whole).tolist():
        expected_vote = f"expected 0 to {len(panel.classes) - 1}, or -1 for none"
        problems.append(Problem(row + 1, f"{panel.experts[h]}: unknown class {given[row, h]:g}; {expected_vote}"))
    taken = np.where(whole, given, 0).astype(np.int64)
    problems += vote_problems(taken)
    for m, classifier in enumerate(panel.classifiers):
        names = probability_columns(classifier, len(panel.classes))
        missing: Bools = np.asarray(np.isnan(rows[:, m, :]).all(axis=1))
        problems += probability_problems(rows[:, m, :], names, skip=missing)
    named = tuple(keys) if keys is not None else read_keys(None, len(given))[0]
    strange = next((key for key in named if not isinstance(key, str)), None)
    problems += key_problems(named) if strange is None else [Problem(None, f"key {strange!r} is not a text")]
    if problems:
        raise TableError(source, sorted(problems, key=lambda problem: problem.row or 0))
    return Table(panel, named, taken, normalised(rows), source)


def _numbered_panel(experts: int, classifiers: int, classes: int) -> Panel:
    named = [ONLY_CLASSIFIER] if classifiers == 1 else [f"classifier_{m + 1}" for m in range(classifiers)]
    return Panel([str(k) for k in range(classes)], [f"expert_{h + 1}" for h in range(experts)], named)


def _numbers(source: str, what: str, given: ArrayLike, dimensions: tuple[int, ...], shape: str) -> Floats:
    try:
        array = np.array(given, dtype=np.float64)  # a copy: the table keeps it
    except (TypeError, ValueError):
        raise TableError(source, [Problem(None, f"{what} must be numbers of shape {shape}")]) from None
    if array.ndim not in dimensions:
        message = f"{what} have shape {array.shape}; expected {shape}"
        raise TableError(source, [Problem(None, message)])
    return array
