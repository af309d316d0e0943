"""Cells of a table turned into keys, votes and probabilities, with every problem by its row."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from decimal import Decimal

import numpy as np

from quorate.core.arrays import Bools, Floats, Ints
from quorate.core.case import SUM_TOLERANCE
from quorate.data.columns import listed
from quorate.errors import Problem

ABSENT = -1
"""The vote of an expert who was not available."""

ROUNDING = 1e-12
"""A row this close to summing to 1 is left as it is, so that reading what was written changes nothing."""

_UNKNOWN = -2
_WHOLE = re.compile(r"(-?[0-9]{1,18})(?:\.0*)?")


def cell_text(cell: object) -> str:
    """A cell as text: "" where it is empty, whole numbers without a decimal point.

    >>> cell_text(None), cell_text(19.0), cell_text(" benign "), cell_text(True)
    ('', '19', ' benign ', 'true')
    """
    if isinstance(cell, str):
        return cell
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    if isinstance(cell, int) and abs(cell) > 10**100:  # str refuses thousands of digits
        return f"{cell:#x}"
    return str(cell)


def read_keys(cells: Sequence[object] | None, rows: int) -> tuple[tuple[str, ...], list[Problem]]:
    """Keys of the cases, the row's number where there is no column of keys."""
    if cells is None:
        return tuple(str(row) for row in range(1, rows + 1)), []
    keys = tuple(map(cell_text, cells))
    return keys, key_problems(keys)


def key_problems(keys: Sequence[str]) -> list[Problem]:
    """Keys that are empty, not text, or used twice."""
    problems = []
    first: dict[str, int] = {}
    for row, key in enumerate(keys, start=1):
        if not key.strip():
            problems.append(Problem(row, "its key is empty; expected a text of its own"))
        elif not key.isascii() and any("\ud800" <= letter <= "\udfff" for letter in key):
            problems.append(Problem(row, f"its key {key!a} holds half a character (a lone surrogate)"))
        elif key in first:
            problems.append(Problem(row, f"its key {_short(key)} is already that of row {first[key]}"))
        else:
            first[key] = row
    return problems


def read_votes(
    columns: Sequence[tuple[str, Sequence[object]]], classes: Sequence[str], *, named: bool
) -> tuple[Ints, list[Problem]]:
    """Votes (N, H) from the experts' columns; `named` = the user has given the classes' names."""
    known: dict[str, int] = {"": ABSENT}
    unknown: dict[str, str] = {}
    # Where a class is called like a number, a number is that name: "2" of classes 1,2,3 is the second.
    indexed = not any(_WHOLE.fullmatch(name) for name in classes)
    names = {name: k for k, name in enumerate(classes)}

    def understand(text: str) -> int:
        word = text.strip()
        whole = _WHOLE.fullmatch(word)
        number = str(int(whole[1])) if whole else word
        if not word:
            return ABSENT
        if word in names or number in names:
            return names[word] if word in names else names[number]
        if whole and indexed and 0 <= int(number) < len(classes):
            return int(number)
        unknown[text] = word
        return _UNKNOWN

    votes = np.empty((len(columns[0][1]), len(columns)), dtype=np.int64)
    for h, (_, cells) in enumerate(columns):
        codes = []
        for cell in cells:
            text = cell if type(cell) is str else cell_text(cell)
            code = known.get(text)
            if code is None:
                code = known[text] = understand(text)
            codes.append(code)
        votes[:, h] = codes
    words = [word for word in unknown.values() if not _WHOLE.fullmatch(word)]  # a number is an index, if a wrong one
    if words and not named and not (votes >= 0).any():
        example = _short(words[0])
        names_wanted = ",".join(f"NAME{k}" for k in range(len(classes)))
        message = f"votes are class names such as {example}; name the classes in index order (--classes {names_wanted})"
        return votes, [Problem(None, message)]
    expected = f"expected one of {listed(classes)}" + (f" or an index from 0 to {len(classes) - 1}" if indexed else "")
    problems = [
        Problem(row + 1, f"{columns[h][0]}: unknown class {_short(cell_text(columns[h][1][row]).strip())}; {expected}")
        for row, h in np.argwhere(votes == _UNKNOWN).tolist()
    ]
    return votes, problems


def vote_problems(votes: Ints, *, skip: Collection[int | None] = ()) -> list[Problem]:
    """Cases that nobody voted on, but for the rows (1 = the first) to skip."""
    silent: Bools = np.asarray((votes == ABSENT).all(axis=1))
    silent[[row - 1 for row in skip if row is not None and row <= len(silent)]] = False
    if len(silent) > 1 and silent.all():
        return [Problem(None, "no expert voted on any case; expected at least one vote a row")]
    return [Problem(row + 1, "no expert voted; expected at least one vote") for row in np.flatnonzero(silent).tolist()]


def read_numbers(cells: Sequence[object]) -> tuple[Floats, Bools, Bools]:
    """One column of numbers (N,), where it is empty, and where it holds something else."""
    kinds = set(map(type, cells))
    if kinds <= {float} or (kinds == {str} and not any("_" in str(cell) for cell in cells)):
        try:
            plain = np.array([float(cell) for cell in cells], dtype=np.float64)  # type: ignore[arg-type]  # else ValueError
            return plain, np.zeros(len(plain), dtype=bool), np.zeros(len(plain), dtype=bool)
        except ValueError:  # an empty cell or a word: look at each
            pass
    values = np.full(len(cells), np.nan)
    empty = np.zeros(len(cells), dtype=bool)
    wrong = np.zeros(len(cells), dtype=bool)
    for row, cell in enumerate(cells):
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            empty[row] = True
            continue
        number = _number(cell)
        wrong[row] = number is None
        values[row] = math.nan if number is None else number
    return values, empty, wrong


def _number(cell: object) -> float | None:
    if isinstance(cell, bool) or not isinstance(cell, str | int | float | Decimal):
        return None
    if isinstance(cell, str) and "_" in cell:  # Python's own way to write large numbers
        return None
    try:
        return float(cell)
    except (ValueError, OverflowError):
        return None


def read_probabilities(
    columns: Sequence[Sequence[tuple[str, Sequence[object]]]], rows: int
) -> tuple[Floats, list[Problem]]:
    """Probabilities (N, M, K), NaN rows where a classifier's cells are all empty."""
    values = np.empty((rows, len(columns), len(columns[0])))
    problems: list[Problem] = []
    for m, group in enumerate(columns):
        read = [read_numbers(cells) for _, cells in group]
        values[:, m, :] = np.column_stack([number for number, _, _ in read])
        empty = np.column_stack([mask for _, mask, _ in read])
        wrong = np.column_stack([mask for _, _, mask in read])
        unusable: Bools = np.asarray((wrong | empty).any(axis=1))
        for row, k in np.argwhere(wrong).tolist():
            name, cells = group[k]
            problems.append(Problem(row + 1, f"{name} is {_short(str(cells[row]))}; expected a number from 0 to 1"))
        for row in np.flatnonzero(empty.any(axis=1) & ~empty.all(axis=1)).tolist():
            gaps = [name for k, (name, _) in enumerate(group) if empty[row, k]]
            message = f"{listed(gaps)} empty beside other probabilities; fill all of a classifier's columns or none"
            problems.append(Problem(row + 1, message))
        names = [name for name, _ in group]
        problems += probability_problems(values[:, m, :], names, skip=unusable)
        values[unusable, m, :] = np.nan
    return values, problems


def probability_problems(values: Floats, names: Sequence[str], *, skip: Bools) -> list[Problem]:
    """One classifier's rows (N, K) that are no probabilities."""
    problems = []
    outside = ~((values >= 0) & (values <= 1)) & ~skip[:, None]  # NaN is outside too
    for row, k in np.argwhere(outside).tolist():
        problems.append(Problem(row + 1, f"{names[k]} is {values[row, k]:g}; expected a number from 0 to 1"))
    with np.errstate(over="ignore", invalid="ignore"):  # of rows already refused
        total = values.sum(axis=1)
    off = ~skip & ~outside.any(axis=1) & (np.abs(total - 1) > SUM_TOLERANCE)
    span = f"{names[0]} to {names[-1]}"
    for row in np.flatnonzero(off).tolist():
        problems.append(Problem(row + 1, f"{span} sum to {total[row]:.6g}; expected 1 within {SUM_TOLERANCE:g}"))
    return problems


def normalised(values: Floats) -> Floats:
    """Rows scaled to sum to 1, but for those that do up to rounding; -0 becomes 0."""
    total = values.sum(axis=-1, keepdims=True)
    scaled: Floats = np.where(np.abs(total - 1) > ROUNDING, values / total, values) + 0.0
    return scaled


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
