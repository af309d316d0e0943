"""Panels that invite a wrong claim: nothing hangs, nothing is NaN, and no claim is bolder than the errors made."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from quorate.assembly import Options, create_study
from quorate.core.arrays import Floats, Ints
from quorate.core.decision import Query, Settle
from quorate.core.health import Health
from quorate.data.table import Table, table_from_arrays

CASES, MAX_ERROR = 40, 0.05


def skilled(rng: np.random.Generator, *, balance: float = 0.5, cases: int = CASES) -> tuple[Ints, Floats]:
    """Truth, and probabilities of a fair classifier."""
    truth = (rng.random(cases) < balance).astype(np.int64)
    p = 1.0 / (1.0 + np.exp(-(rng.normal(1.5, 1.0, cases)) * (2 * truth - 1)))
    return truth, np.stack([1.0 - p, p], axis=1)


def voters(rng: np.random.Generator, truth: Ints, skills: tuple[float, ...]) -> Ints:
    """Votes that are the truth with each expert's own probability."""
    right = rng.random((len(truth), len(skills))) < np.array(skills)
    return np.where(right, truth[:, None], 1 - truth[:, None])


def over_confident(rng: np.random.Generator) -> Table:
    truth, p = skilled(rng)
    sure = np.where(p[:, 1] > 0.5, 1.0 - 1e-12, 1e-12)
    sure[::7] = np.round(sure[::7])  # some exactly 0 or 1
    return table_from_arrays(voters(rng, truth, (0.85, 0.8, 0.8, 0.75)), np.stack([1.0 - sure, sure], axis=1))


def twins(rng: np.random.Generator) -> Table:
    truth, p = skilled(rng)
    votes = voters(rng, truth, (0.85, 0.85, 0.8, 0.75))
    votes[:, 1] = votes[:, 0]
    return table_from_arrays(votes, p)


def always_the_same(rng: np.random.Generator) -> Table:
    truth, p = skilled(rng)
    votes = voters(rng, truth, (0.85, 0.8, 0.8))
    votes[:, 2] = 1
    return table_from_arrays(votes, p)


def adversary(rng: np.random.Generator) -> Table:
    truth, p = skilled(rng)
    return table_from_arrays(voters(rng, truth, (0.05, 0.9, 0.9)), p)


def imbalance(rng: np.random.Generator) -> Table:
    truth, p = skilled(rng, balance=0.05)
    return table_from_arrays(voters(rng, truth, (0.9, 0.9, 0.85, 0.8, 0.8)), p)


def one_case(rng: np.random.Generator) -> Table:
    truth, p = skilled(rng, cases=1)
    return table_from_arrays(voters(rng, truth, (0.9, 0.9, 0.9)), p)


def equal_votes(rng: np.random.Generator) -> Table:
    """Twenty cases on which everyone votes alike, and then what nothing before has shown."""
    truth, p = skilled(rng)
    votes = voters(rng, truth, (0.85, 0.8, 0.8))
    votes[:20] = 1
    return table_from_arrays(votes, p)


PANELS = (over_confident, twins, always_the_same, adversary, imbalance, one_case, equal_votes)


def walked(table: Table, preset: str, schedule: str) -> tuple[list[Settle], list[float], list[Health]]:
    """Every case of a table as a study settles it, the error that was made, and the health of every fit."""
    study = create_study(table.panel, max_error=MAX_ERROR, options=Options(preset=preset, schedule=schedule))
    steps, errors, fits = [], [], []
    for row in range(len(table)):
        case = table.case(row)
        study.open(case.key, dict(zip(table.panel.classifiers, case.probabilities, strict=True)))
        step = study.ask(case.key)
        while isinstance(step, Query):
            study.tell(case.key, step.expert, table.panel.classes[table.votes[row, table.panel.expert(step.expert)]])
            step = study.ask(case.key)
        study.settle(case.key)
        assert isinstance(step, Settle)
        steps.append(step)
        errors.append(1.0 - float(study.target.weights(table.votes[row])[step.forecast.leader]))
        job = study.due()
        if job is not None:
            study.adopt(job, job.run())
            fits.append(study.predictor.health)
    return steps, errors, fits


@pytest.mark.parametrize(("preset", "schedule"), [("paper", "every"), ("paper", "paper"), ("quorate", "every")])
@pytest.mark.parametrize("panel", PANELS)
def test_no_claim_is_bolder_than_the_errors_made(
    panel: Callable[[np.random.Generator], Table], preset: str, schedule: str
) -> None:
    steps, errors, fits = walked(panel(np.random.default_rng(5)), preset, schedule)
    assert all(health.healthy for health in fits)
    for step in steps:
        assert np.isfinite(step.forecast.values).all()
        assert step.reason in ("tie", "certain") or (step.forecast.health.healthy and step.forecast.error <= MAX_ERROR)
    stated = sum(step.forecast.error for step in steps)
    # A Poisson number of errors with the stated mean would hardly ever be larger.
    assert sum(errors) <= stated + 3.0 * math.sqrt(stated) + 1.0
