"""Which column of a table is a key, a vote or a probability."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from quorate.core.panel import Panel
from quorate.errors import PanelError, Problem

KEYS = ("item", "item_id", "case")
"""Columns that hold a case's key; the first that is there counts."""

ONLY_CLASSIFIER = "classifier"
"""Name of the classifier whose columns carry none: p_0, p_1, ..."""

_EXPERT = re.compile(r"expert_([0-9]{1,9})")
_PROBABILITY = re.compile(r"(?:(.+)\.)?p_(0|[1-9][0-9]{0,8})", re.DOTALL)
_SHOWN = 30


@dataclass(frozen=True)
class Columns:
    """The panel that a table's header describes, and where each part of it stands."""

    panel: Panel
    key: str | None
    votes: tuple[str, ...]  # (H,)
    probabilities: tuple[tuple[str, ...], ...]  # (M, K)


def find_columns(
    names: Sequence[str],
    *,
    classes: Sequence[str] | None = None,
    experts: Sequence[str] | None = None,
    classifiers: Sequence[str] | None = None,
) -> Columns | list[Problem]:
    """The parts of a table by its column names, or everything that is wrong with them.

    >>> found = find_columns(["item", "expert_1", "expert_2", "p_0", "p_1"])
    >>> found.panel.experts, found.key, found.probabilities
    (('expert_1', 'expert_2'), 'item', (('p_0', 'p_1'),))
    """
    for what, given in (("classes", classes), ("experts", experts), ("classifiers", classifiers)):
        if isinstance(given, str):
            return [Problem(None, f"{what} must be a list of names, not the single text {given!r}")]
    problems: list[Problem] = []
    try:
        votes = _find_experts(names, experts)
    except PanelError as error:
        votes = ()
        problems.append(Problem(None, str(error)))
    rest = [name for name in names if name not in votes]
    try:
        groups = _find_classifiers(rest, classifiers)
    except PanelError as error:
        groups = {}
        problems.append(Problem(None, str(error)))
    sizes = {name: len(columns) for name, columns in groups.items()}
    problems += _check_sizes(sizes, classes)
    if problems:
        return problems
    named = classes if classes is not None else [str(k) for k in range(max(sizes.values(), default=2))]
    try:
        panel = Panel(named, votes, groups if classifiers is None else classifiers)
    except PanelError as error:
        return [Problem(None, str(error))]
    key = next((name for name in KEYS if name in rest), None)
    return Columns(panel, key, votes, tuple(groups.values()))


def listed(names: Sequence[str]) -> str:
    """Names for a message: the first of them, strange characters escaped.

    >>> listed(["item", "expert_1", ""])
    "item, expert_1, ''"
    """
    shown = [name if name.isprintable() and name.strip() else ascii(name) for name in names[:_SHOWN]]
    more = [f"and {len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return ", ".join([name if len(name) <= 60 else f"{name[:57]}..." for name in shown] + more)


def probability_columns(classifier: str, classes: int) -> tuple[str, ...]:
    """The columns that hold one classifier's probabilities.

    >>> probability_columns("classifier", 2), probability_columns("resnet", 2)
    (('p_0', 'p_1'), ('resnet.p_0', 'resnet.p_1'))
    """
    prefix = "" if classifier == ONLY_CLASSIFIER else f"{classifier}."
    return tuple(f"{prefix}p_{k}" for k in range(classes))


def _find_experts(names: Sequence[str], given: Sequence[str] | None) -> tuple[str, ...]:
    if given is None:
        numbered = {name: int(match[1]) for name in names if (match := _EXPERT.fullmatch(name))}
        if not numbered:
            raise PanelError(
                "no columns expert_1, expert_2, ...; name the columns that hold votes (--experts a,b,c); "
                f"the columns are {listed(names)}"
            )
        return tuple(sorted(numbered, key=lambda name: (numbered[name], name)))
    missing = [name for name in given if name not in names]
    if missing:
        which = "expert" if len(missing) == 1 else "experts"
        raise PanelError(f"no column for {which} {listed(missing)}; the columns are {listed(names)}")
    return tuple(given)


def _find_classifiers(names: Sequence[str], given: Sequence[str] | None) -> dict[str, tuple[str, ...]]:
    groups: dict[str | None, set[int]] = {}  # None: the columns without a name
    for name in names:
        if match := _PROBABILITY.fullmatch(name):
            groups.setdefault(match[1], set()).add(int(match[2]))
    if not groups:
        raise PanelError(f"no columns p_0, p_1, ... of a classifier's probabilities; the columns are {listed(names)}")
    prefixed = [name for name in groups if name is not None]
    if given is None and None in groups and prefixed:
        raise PanelError(
            f"columns {', '.join(f'{listed([name])}.p_0' for name in prefixed[:3])} beside p_0 without a name; "
            "say which classifiers to read (--classifiers a,b)"
        )
    wanted: dict[str, str | None] = {name or ONLY_CLASSIFIER: name for name in groups}
    if given is not None:
        wanted = {}
        for name in given:
            bare = None in groups and (name == ONLY_CLASSIFIER or (not prefixed and len(given) == 1))
            if name not in groups and not bare:
                raise PanelError(f"no columns {name}.p_0, ... for classifier {name!r}; the columns are {listed(names)}")
            wanted[name] = name if name in groups else None
    found: dict[str, tuple[str, ...]] = {}
    for name, group in wanted.items():
        prefix = "" if group is None else f"{group}."
        indices = sorted(groups[group])
        gap = next((k for k, index in enumerate(indices) if k != index), None)
        if gap is not None:
            raise PanelError(
                f"no column {prefix}p_{gap}, but {prefix}p_{indices[-1]}; expected one for each class from 0"
            )
        found[name] = tuple(f"{prefix}p_{k}" for k in indices)
    return found


def _check_sizes(sizes: dict[str, int], classes: Sequence[str] | None) -> list[Problem]:
    if len(set(sizes.values())) > 1:
        each = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        return [Problem(None, f"classifiers with different numbers of probability columns: {each}; expected the same")]
    problems = []
    for name, size in list(sizes.items())[:1]:
        if size < 2:
            one = probability_columns(name, 1)[0]
            problems.append(Problem(None, f"only one class ({one} alone); at least 2 are needed: p_0 and p_1"))
        elif classes is not None and len(classes) != size:
            what = f"{len(classes)} classes are named ({listed(classes)})"
            problems.append(
                Problem(None, f"{what}, but the probabilities have {size} columns; expected one name for each")
            )
    return problems
