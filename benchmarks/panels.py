"""The panels that are measured: recorded ones where they are there, else simulated ones of the same shapes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import quorate
from quorate.core.arrays import Floats, Ints
from quorate.data.table import Table
from quorate.models.full.simplex import log_ratios

PAPER_SETS = ("chestxray", "chaoyang", "imagenet16h", "cifar10h")
EXTRA_SETS = ("sleep5",)


def recorded(names: tuple[str, ...]) -> dict[str, Table]:
    """The panels of the folder QUORATE_DATA that are there."""
    folder = Path(os.environ.get("QUORATE_DATA", ""))
    found = {name: folder / f"{name}.csv" for name in names}
    return {name: quorate.read_table(path) for name, path in found.items() if path.is_file()}


def panels(cases: int) -> dict[str, Table]:
    """The paper's panels, or simulated ones."""
    return recorded(PAPER_SETS) or {
        "simulated H=5 K=2": simulated(5, 2, cases),
        "simulated H=3 K=4": simulated(3, 4, cases),
    }


def simulated(experts: int, classes: int, cases: int) -> Table:
    """A simulated panel."""
    return quorate.simulate(np.random.default_rng(0), experts=experts, classes=classes, cases=cases)


def half_masked(table: Table, n: int) -> tuple[Floats, Ints, int]:
    """Log-ratios, votes with half of them hidden as in a running study, and the number of classes."""
    hidden = np.random.default_rng(n).random((n, len(table.panel.experts))) < 0.5
    votes = np.where(hidden, -1, table.votes[:n])
    return log_ratios(table.probabilities[:n], clip=20.0), votes, len(table.panel.classes)
