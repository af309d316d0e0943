"""Past votes of a table as cases of a study: every row, or none and what is wrong with each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quorate.data.cells import read_keys
from quorate.data.columns import ONLY_CLASSIFIER, find_columns, probability_columns
from quorate.data.formats import Sheet, read_sheet
from quorate.data.table import Table, read_table
from quorate.errors import Problem, TableError
from quorate.storage.addresses import LONGEST_KEY, is_key
from quorate.study.study import Study
from quorate.study.verbs import Probabilities


@dataclass(frozen=True)
class PastCase:
    """A case with the votes that were cast on it."""

    key: str
    probabilities: Probabilities
    votes: Mapping[str, str]


@dataclass(frozen=True)
class Imported:
    """What came in."""

    cases: int
    votes: int


def past_cases(study: Study, path: Path) -> list[PastCase]:
    """The cases of a table whose columns are named as the study's experts and classifiers are."""
    panel, sheet = study.panel, read_sheet(path)
    columns = sheet.columns
    experts = [name for name in panel.experts if name in columns]
    if not experts:
        expected = ", ".join(panel.experts)
        raise TableError(path.name, [Problem(None, f"no column of an expert; expected some of {expected}")])
    named = [name for name in panel.classifiers if _has(columns, name, len(panel.classes))]
    plain = not named and len(panel.classifiers) == 1 and _has(columns, ONLY_CLASSIFIER, len(panel.classes))
    if not named and not plain:
        wanted = ", ".join(probability_columns(panel.classifiers[0], len(panel.classes)))
        raise TableError(
            path.name, [Problem(None, f"no classifier's probabilities; expected columns such as {wanted}")]
        )
    known = {"classes": panel.classes, "experts": experts, "classifiers": None if plain else named}
    found = find_columns(columns, **known)
    problems = [] if isinstance(found, list) else _key_problems(study, sheet, found.key)
    try:
        table = read_table(path, **known)
    except TableError as error:
        raise TableError(path.name, sorted([*error.problems, *problems], key=lambda one: one.row or 0)) from None
    if problems:
        raise TableError(path.name, problems)
    return _cases(table, panel.classifiers if plain else tuple(named))


def _key_problems(study: Study, sheet: Sheet, column: str | None) -> list[Problem]:
    """What is wrong with keys for this study; what would be wrong with them for any is found when they are read."""
    keys, of_any = read_keys(None if column is None else sheet.cells[column], sheet.rows)
    told = {problem.row for problem in (*sheet.problems, *of_any)}
    found = ((row, _key_problem(study, key)) for row, key in enumerate(keys, start=1) if row not in told)
    return [Problem(row, message) for row, message in found if message is not None]


def _key_problem(study: Study, key: str) -> str | None:
    """What is wrong with a key, if anything is."""
    if key in study.state.places:
        return f"case {key!r} is in the study already"
    if not is_key(key):
        return f"key {key[:80]!r} is no part of an address; expected up to {LONGEST_KEY} characters without '/'"
    return None


def _has(columns: Sequence[str], classifier: str, classes: int) -> bool:
    return all(name in columns for name in probability_columns(classifier, classes))


def _cases(table: Table, classifiers: tuple[str, ...]) -> list[PastCase]:
    experts, classes = table.panel.experts, table.panel.classes
    return [
        PastCase(
            key,
            dict(zip(classifiers, table.case(row).probabilities, strict=True)),
            {name: classes[vote] for name, vote in zip(experts, table.votes[row].tolist(), strict=True) if vote >= 0},
        )
        for row, key in enumerate(table.keys)
    ]
