"""The sampler against posteriors of two made-up histories that long runs of another program (Stan) have left."""

from __future__ import annotations

import csv
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quorate.core.arrays import Floats, Ints
from quorate.core.settings import Settings
from quorate.models.full import gibbs
from quorate.models.full.simplex import log_ratios
from quorate.models.health import free_parameters, mixing

FOLDER = Path(__file__).parents[1] / "golden"
EFFORT = Settings(chains=4, warmup=500, draws=12_000)
STAN_NAMES = {"s": "std", "tau": "T"}


def golden(name: str) -> tuple[Floats, Ints, int, dict[str, dict[str, float]]]:
    """Log-ratios, votes, number of classes, and summaries by parameter."""
    known = json.loads((FOLDER / "golden_posteriors.json").read_text())[name]
    classes, experts, classifiers = known["K"], known["H"], known["M"]
    with (FOLDER / f"golden_{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    votes = np.array([[int(row[f"expert{h + 1}"]) - 1 for h in range(experts)] for row in rows])
    shares = np.array(
        [[[float(row[f"model{m + 1}_p{k + 1}"]) for k in range(classes)] for m in range(classifiers)] for row in rows]
    )
    return log_ratios(shares, clip=EFFORT.clip), votes, classes, known["parameters"]


@pytest.mark.parametrize("name", ["a", "b"])
def test_golden_posteriors(name: str) -> None:
    ratios, votes, classes, known = golden(name)
    draws = gibbs.sample(np.random.default_rng(2024), ratios, votes, classes=classes, settings=EFFORT)
    names, values = free_parameters(draws, EFFORT)
    rhat, bulk, _ = mixing(values)
    assert rhat.max() < 1.01
    assert bulk.min() >= 1000, names[int(bulk.argmin())]
    stats: Any = import_module("arviz_stats.base").array_stats
    mean_errors, sd_errors = stats.mcse(values, method="mean"), stats.mcse(values, method="sd")
    assert len(names) == len(known)
    for parameter, found, mean_error, sd_error in zip(names, values, mean_errors, sd_errors, strict=True):
        kind, bracket, index = parameter.partition("[")
        expected = known[STAN_NAMES.get(kind, kind) + bracket + index]
        error = np.hypot(mean_error, expected["mcse_mean"])
        assert found.mean() == pytest.approx(expected["mean"], abs=4 * error), parameter
        room = 0.05 * expected["sd"] + np.hypot(sd_error, expected["mcse_sd"])
        assert found.std() == pytest.approx(expected["sd"], abs=room), parameter
