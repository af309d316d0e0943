"""How far each way of asking is from the best there is, by the model's own account: `python -m benchmarks.optimum`.

The model is fitted on every vote of a panel. For some of its cases all ways to vote and their probabilities then stand
in a table, and what a policy asks and gets wrong on average follows without a replay. The best policy weighs votes
against errors at some rate in every state, both in whom it asks and in when it stops.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.panels import PAPER_SETS, recorded
from quorate.assembly import Options, read_target
from quorate.core.arrays import Bools, Floats
from quorate.core.history import History
from quorate.data.table import Table
from quorate.experiments.hindsight import fitted
from quorate.policy.information import entropy
from quorate.policy.settle_costs import Level, levels
from quorate.policy.votes import given_votes
from quorate.study.seeds import generator

CASES = 300
GRID = (0.1, 0.05, 0.035, 0.025, 0.015, 0.01, 0.007, 0.005, 0.003)
"""Allowed errors; for the best policy, what a vote costs in errors."""


@dataclass(frozen=True, eq=False)
class States:
    """Every state of some cases: who has voted what, its probability, its error and its entropy."""

    reached: Floats  # (N, S)
    error: Floats  # (N, S) times the probability
    entropy: Floats  # (N, S) times the probability
    classes: int
    experts: int


def states(table: Table) -> States:
    """The states of some cases of a panel, by the model fitted on all its votes; errors beyond what all votes leave."""
    target = read_target("consensus", table.panel)
    method = fitted(table, Options(method="hindsight:quorate"), target, seed=0).method
    known = method.learner.update(np.random.default_rng(0), History(table.panel), None)
    masses = []
    for row in np.random.default_rng(1).permutation(len(table))[:CASES]:
        case = table.case(int(row))
        outlook = known.forecast(generator(0, "forecast", case.key), case, target).outlook
        if outlook is not None:
            masses.append(outlook.mass)
    experts, classes = len(table.panel.experts), len(table.panel.classes)
    whole = np.array(masses).reshape(len(masses), *(classes,) * experts, -1)
    tied = np.minimum(whole.sum(axis=-1), 1) - whole.max(axis=-1)  # what nobody can avoid
    for axis in range(1, experts + 1):  # the last place of each axis: that expert was not asked
        whole = np.concatenate([whole, whole.sum(axis=axis, keepdims=True)], axis=axis)
        tied = np.concatenate([tied, tied.sum(axis=axis, keepdims=True)], axis=axis)
    state = whole.reshape(len(masses), -1, whole.shape[-1])
    reached = state.sum(axis=2)
    error = reached - state.max(axis=2) - tied.reshape(len(masses), -1)
    return States(reached, error, entropy(given_votes(state)) * reached, classes, experts)


Choose = Callable[[Level, Floats, Floats, Floats], Floats]
"""What is least for whom is asked, from the votes and errors to come, and the entropy, if each is asked: (N, S, n)."""
Stop = Callable[[Level, Floats, Floats], Bools]
"""Whether to stop, from the votes and errors to come if the best is asked: (N, S)."""


def walked(found: States, choose: Choose, stop: Stop) -> tuple[float, float]:
    """Mean queries and mean error of a policy."""
    votes: Floats = np.zeros(found.reached.shape)
    error = found.error.copy()
    for level in levels(found.classes, found.experts):
        after = level.first[..., None] + np.arange(found.classes) * level.step[..., None]
        votes_to_come = found.reached[:, level.states, None] + votes[:, after].sum(axis=-1)
        error_to_come = error[:, after].sum(axis=-1)
        told = found.entropy[:, after].sum(axis=-1)
        best = choose(level, votes_to_come, error_to_come, told).argmin(axis=-1)[..., None]
        more, wrong = (np.take_along_axis(one, best, -1)[..., 0] for one in (votes_to_come, error_to_come))
        settled = stop(level, more, wrong)
        votes[:, level.states] = np.where(settled, 0.0, more)
        error[:, level.states] = np.where(settled, error[:, level.states], wrong)
    return float(votes[:, -1].mean()), float(error[:, -1].mean())


def policies(found: States, allowed: float) -> Iterator[tuple[str, tuple[float, float]]]:
    """Mean queries and error of each policy."""

    def sure(level: Level, more: Floats, wrong: Floats) -> Bools:
        del more, wrong
        small: Bools = found.error[:, level.states] <= allowed * found.reached[:, level.states]
        return small

    def worth(level: Level, more: Floats, wrong: Floats) -> Bools:
        enough: Bools = found.error[:, level.states] / allowed <= more + wrong / allowed
        return enough

    def costs(toll: float) -> Choose:
        return lambda _level, more, wrong, _told: more + toll * wrong / allowed

    yield "entropy", walked(found, lambda _level, _more, _wrong, told: told, sure)
    yield "lookahead, error not counted", walked(found, costs(0.0), sure)
    yield "lookahead", walked(found, costs(1.0), sure)
    yield "best there is", walked(found, costs(1.0), worth)


def main() -> None:
    """Queries of each policy at some errors, by panel."""
    at = np.array([0.01, 0.005, 0.002, 0.001])
    rows = ["| panel | policy | queries at 1 % error | .5 % | .2 % | .1 % |", "|---|---|---|---|---|---|"]
    for name, table in recorded(PAPER_SETS).items():
        found = states(table)
        curves: dict[str, list[tuple[float, float]]] = {}
        for allowed in GRID:
            for policy, point in policies(found, allowed):
                curves.setdefault(policy, []).append(point)
        for policy, points in curves.items():
            queries, errors = np.array(sorted(points, key=lambda point: point[1])).T
            values = np.interp(np.log(at), np.log(np.maximum(errors, 1e-6)), queries)
            rows.append(f"| {name} | {policy} | {' | '.join(f'{value:.3f}' for value in values)} |")
    sys.stdout.write("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
