"""Whole replays of streams simulated from the model itself: is the stated error the error that is made?

Half of the panels have parameters from the prior, so that stated errors must be right on average; most of them disagree
so much that nearly everyone is asked. The other half agrees as real panels do: there the model has something to claim.
A few short streams are part of the test suite, `python -m tests.statistics.streams` runs many long ones.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import quorate
from quorate.assurance.calibration import expected_calibration_error
from quorate.core.panel import Panel
from quorate.core.settings import Settings
from quorate.data.table import Table
from quorate.models.full.normal import Parameters, prior_parameters, simulate
from quorate.models.full.simplex import probabilities

FORMAT = 2
SHAPES = ((5, 2), (3, 3), (3, 4), (4, 2))
"""Experts and classes of the panels, in turn."""
RESAMPLES = 4000


@dataclass(frozen=True)
class Verdict:
    """Error made and stated over many streams, with one-sided bounds of 95 % from resampled streams."""

    streams: int
    error: float
    low: float
    high: float
    stated: float
    ece: float
    queries: float
    unhealthy_fits: int
    forced_asks: int

    def honest(self, max_error: float) -> bool:
        """Whether the error made is not above what was allowed, but for luck, and the probabilities are calibrated."""
        return self.low <= max_error and self.ece <= 0.01


def stream(seed: int, number: int, cases: int) -> Table:
    """A panel of the model, by turns from its prior and one that agrees, and the votes of everyone on every case."""
    experts, classes = SHAPES[number // 2 % len(SHAPES)]
    settings, rng = Settings(), np.random.default_rng([seed, number])
    if number % 2 == 0:
        truth = prior_parameters(rng, classes=classes, classifiers=1, experts=experts, settings=settings)
    else:
        truth = agreeing(rng, classes=classes, agents=1 + experts)
    ratios, votes = simulate(rng, truth, cases, classes=classes, classifiers=1, settings=settings)
    panel = Panel([f"c{k}" for k in range(classes)], [f"e{h}" for h in range(experts)], ["m"])
    keys = tuple(f"case-{n}" for n in range(cases))
    return Table(panel, keys, votes, probabilities(ratios), source=f"stream {number}")


def agreeing(rng: np.random.Generator, *, classes: int, agents: int) -> Parameters:
    """Parameters of a panel whose members see alike and vote sharply, as posteriors of recorded panels have them."""
    size, alike = (classes - 1) * agents, rng.uniform(0.6, 0.95)
    among = alike + (1 - alike) * np.eye(agents)  # the same log-ratio of two agents
    within = 0.5 + 0.5 * np.eye(classes - 1)  # two log-ratios against one base class
    return Parameters(
        mu=rng.normal(0.0, 0.1, size),
        s=rng.uniform(0.3, 1.0, size),
        omega=np.kron(among, within).astype(np.float64),
        tau=float(rng.uniform(0.01, 0.05)),
    )


def run(seed: int, number: int, cases: int, max_error: float) -> dict[str, Any]:
    """What one replay of a stream stated and did, without a word on its cases but numbers."""
    options = quorate.Options(max_error=max_error)
    report = quorate.replay(stream(seed, number, cases), limit=cases, seed=number, options=options)
    return {
        "format": FORMAT,
        "seed": seed,
        "stream": number,
        "cases": cases,
        "max_error": max_error,
        "error": [round(case.error, 9) for case in report.scored],
        "stated": [float(f"{case.stated_error:.6g}") for case in report.scored],
        "tied": [case.reason == "tie" for case in report.scored],
        "queries": report.summary.mean_queries,
        "unhealthy_fits": report.sampler.unhealthy_fits,
        "forced_asks": report.summary.forced_asks,
    }


def verdict(lines: Sequence[dict[str, Any]]) -> Verdict:
    """The figures of some streams, without cases that settled as a tie: no question could have avoided it."""
    keep = [~np.array(line["tied"], dtype=bool) for line in lines]
    errors = [np.array(line["error"])[here] for line, here in zip(lines, keep, strict=True)]
    stated = [np.array(line["stated"])[here] for line, here in zip(lines, keep, strict=True)]
    made, count = np.array([part.sum() for part in errors]), np.array([len(part) for part in errors])
    picks = np.random.default_rng(0).integers(0, len(lines), (RESAMPLES, len(lines)))
    resampled = made[picks].sum(axis=1) / count[picks].sum(axis=1)
    low, high = np.quantile(resampled, [0.05, 0.95])  # one-sided bounds of 95 % each
    every, said = np.concatenate(errors), np.concatenate(stated)
    return Verdict(
        streams=len(lines),
        error=float(every.mean()),
        low=float(low),
        high=float(high),
        stated=float(said.mean()),
        ece=expected_calibration_error((1 - said).tolist(), (1 - every).tolist()),
        queries=float(np.mean([line["queries"] for line in lines])),
        unhealthy_fits=sum(line["unhealthy_fits"] for line in lines),
        forced_asks=sum(line["forced_asks"] for line in lines),
    )


def main() -> int:
    """Run the streams that are not in the output yet, append them, and say whether the stated errors hold."""
    parser = argparse.ArgumentParser(description="Replays of simulated streams; goes on where it stopped.")
    parser.add_argument("--streams", type=int, default=40)
    parser.add_argument("--cases", type=int, default=250)
    parser.add_argument("--max-errors", type=float, nargs="+", default=[0.05, 0.01])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/streams.jsonl"))
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.loads(text) for text in given.out.read_text().splitlines()] if given.out.exists() else []
    names = ("format", "seed", "cases", "max_error", "stream")
    done = {tuple(line[name] for name in names): line for line in lines}
    good = True
    with given.out.open("a") as out:
        for number in range(given.streams):
            for max_error in given.max_errors:
                if (FORMAT, given.seed, given.cases, max_error, number) not in done:
                    line = run(given.seed, number, given.cases, max_error)
                    done[FORMAT, given.seed, given.cases, max_error, number] = line
                    out.write(json.dumps(line) + "\n")
                    out.flush()
    for max_error in given.max_errors:
        wanted = [(FORMAT, given.seed, given.cases, max_error, number) for number in range(given.streams)]
        found = verdict([done[key] for key in wanted])
        good = good and found.honest(max_error)
        word = "honest" if found.honest(max_error) else "NOT honest"
        sys.stdout.write(f"allowed {max_error:g}: {word}: {found}\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
