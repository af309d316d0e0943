"""Whole replays of simulated streams: is the stated error the error that is made?

Of the paper's model half of the panels have parameters from the prior; most of them disagree so much that nearly
everyone is asked. The other half agrees as real panels do: there the model has something to claim. A few short streams
are part of the test suite, `python -m tests.statistics.streams` runs many long ones, and others of worlds that the
shared-evidence model does not know.
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
from quorate.data.table import Table
from tests.statistics.simulated import WORLDS

FORMAT = 3
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

    def word(self, max_error: float) -> str:
        """Whether, but for luck, more went wrong than was allowed or stated, or so much less that it is no promise."""
        if self.low > min(max_error, self.stated):
            return "too sure"
        return "honest" if self.ece <= 0.01 else "too cautious"


def stream(world: str, seed: int, number: int, cases: int) -> Table:
    """A panel of a world and the votes of everyone on every case."""
    return WORLDS[world][1](np.random.default_rng([seed, number]), number, cases)


def run(world: str, seed: int, number: int, cases: int, max_error: float) -> dict[str, Any]:
    """What one replay of a stream stated and did, without a word on its cases but numbers."""
    options = quorate.Options(preset=WORLDS[world][0], max_error=max_error)
    report = quorate.replay(stream(world, seed, number, cases), limit=cases, seed=number, options=options)
    return {
        "format": FORMAT,
        "world": world,
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
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=["full", "evidence"])
    parser.add_argument("--streams", type=int, default=40)
    parser.add_argument("--cases", type=int, default=250)
    parser.add_argument("--max-errors", type=float, nargs="+", default=[0.05, 0.01])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/streams.jsonl"))
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.loads(text) for text in given.out.read_text().splitlines()] if given.out.exists() else []
    done = {_key(line): line for line in lines if line["format"] == FORMAT}
    good = True
    with given.out.open("a") as out:
        for world in given.worlds:
            keys = [
                (world, given.seed, given.cases, max_error, number)
                for number in range(given.streams)
                for max_error in given.max_errors
            ]
            for key in keys:
                if key not in done:
                    done[key] = run(world, given.seed, key[4], given.cases, key[3])
                    out.write(json.dumps(done[key]) + "\n")
                    out.flush()
            for max_error in given.max_errors:
                found = verdict([done[key] for key in keys if key[3] == max_error])
                word = found.word(max_error)
                good = good and word == "honest"
                sys.stdout.write(f"{world}, allowed {max_error:g}: {word}: {found}\n")
                sys.stdout.flush()
    return 0 if good else 1


def _key(line: dict[str, Any]) -> tuple[str, int, int, float, int]:
    return line["world"], line["seed"], line["cases"], line["max_error"], line["stream"]


if __name__ == "__main__":
    sys.exit(main())
