"""Simulation-based calibration of the shared-evidence model's particles, carried case by case as in a study.

Parameters are drawn from the prior, a stream of votes is simulated from them and learned case by case: the rank of
each true parameter among the particles must be uniform, and so must that of a vote's probability on one case more. A
short run is part of the test suite, `python -m tests.statistics.evidence_sbc` a long one.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

import numpy as np

from quorate.core.arrays import Floats
from quorate.core.settings import EvidenceSettings
from quorate.models.evidence import particles as particles_module
from quorate.models.evidence.cases import Cases, read_scores, regime_numbers, regimes_of
from quorate.models.evidence.density import Model
from quorate.models.evidence.layout import natural, size
from quorate.models.evidence.particles import Particles, carried, from_prior, make_model, refreshed, with_regime
from quorate.models.evidence.simulated import simulate
from quorate.models.evidence.tables import Question, table
from quorate.models.full.simplex import softmax
from tests.statistics.sbc import p_value, resumed, tell

KEPT = 31
"""Particles kept of each fit, drawn by weight."""


@dataclass(frozen=True)
class Corner:
    """One kind of stream: classes, classifiers, experts, cases, and which part of it is missing."""

    classes: int
    classifiers: int
    experts: int
    n: int = 20
    missing_votes: float = 0.3
    missing_rows: float = 0.0


CORNERS = (Corner(2, 1, 4), Corner(3, 1, 3), Corner(4, 1, 3), Corner(2, 2, 3, missing_rows=0.3))

Learn = Callable[[np.random.Generator, Particles, Cases], Particles]


def case_by_case(rng: np.random.Generator, begun: Particles, cases: Cases) -> Particles:
    """Particles carried through a stream, as a study carries them."""
    for n in range(1, len(cases) + 1):
        begun = refreshed(rng, carried(rng, begun, cases.some(np.arange(n))))
    return begun


def overcounted(rng: np.random.Generator, begun: Particles, cases: Cases) -> Particles:
    """A sampler broken on purpose: every case counts six times."""
    copies = [replace(cases, keys=tuple(f"{key}, {time}" for key in cases.keys)) for time in range(6)]
    return case_by_case(rng, begun, reduce(Cases.then, copies))


def quantities(theta: Floats, model: Model, question: Question) -> dict[str, Floats]:
    """One quantity of each kind for each of some parameters: (P, D) to (P,)."""
    found = [natural(row, model.shape, model.B, model.prior, model.alone) for row in theta]
    chance = table(theta, np.ones(len(theta)), model, question)
    result = {
        "trust": [np.log(one.beta[0]).mean() for one in found],
        "trust of a class": [one.beta[0, 0] for one in found],
        "bend": [one.bend[0] for one in found],
        "sigma": [np.log(one.sigma[0]).mean() for one in found],
        "sigma of a class": [one.sigma[0, 0] for one in found],
        "bias": [one.bias[0] for one in found],
        "leaning": [one.leaning[0, 0] for one in found],
        "leaning scale": [one.leaning_scale for one in found],
        "attention": [one.attention[0, 0] for one in found],
        "attention scale": [one.attention_scale for one in found],
        "residual": [abs(one.residual[0]) for one in found],
        "siding": [one.residual[0] * one.residual[1] for one in found],
        "residual scale": [one.residual_scale for one in found],
        "lapse": [one.lapse[0] for one in found],
        "vote": chance[:, 0] / chance.sum(axis=1),
    }
    if model.shape.regimes:
        result["sigma without"] = [one.sigma[1, 0] for one in found]
    return {name: np.array(values) for name, values in result.items()}


def one_fit(seed: int, number: int, corner: Corner, learn: Learn, settings: EvidenceSettings) -> dict[str, int]:
    """Ranks of the true quantities among KEPT particles of one simulated stream."""
    rng = np.random.default_rng([seed, number])
    shape = (corner.n + 1, corner.classifiers, corner.classes)
    probabilities = softmax(rng.normal(0.0, 2.0, shape))
    probabilities[rng.random(shape[:2]) < corner.missing_rows] = np.nan
    scores, missing = read_scores(probabilities)
    nobody = np.full((corner.n + 1, corner.experts), -1, dtype=np.int64)
    every = Cases(tuple(f"case-{n}" for n in range(corner.n + 1)), scores, missing, nobody)
    begun = from_prior(rng, every, corner.classes, settings)
    regimes = regimes_of(missing)
    model = make_model(settings, begun.shape._replace(regimes=len(regimes)), regimes)
    regime = regime_numbers(missing, regimes)
    truth = rng.standard_normal(size(model.shape))
    votes = simulate(rng, truth, model, scores, regime)
    votes[rng.random(votes.shape) < corner.missing_votes] = -1
    cases = Cases(every.keys, scores, missing, votes)
    learned = learn(rng, begun, cases.some(np.arange(corner.n)))
    learned = with_regime(learned, int(missing[-1]))
    chosen = rng.choice(len(learned.theta), KEPT, p=learned.weight)
    question = Question(scores[-1], int(regime[-1]), np.arange(1), nobody[0])
    true = quantities(truth[None], model, question)
    drawn = quantities(learned.theta[chosen], model, question)
    return {
        name: int((drawn[name] < value).sum() + rng.integers((drawn[name] == value).sum() + 1))
        for name, value in true.items()
    }


def calibration(records: Iterable[Mapping[str, int]]) -> dict[str, float]:
    """P-value of uniform ranks for each quantity."""
    by_name: dict[str, list[int]] = {}
    for record in records:
        for name, rank in record.items():
            by_name.setdefault(name, []).append(rank)
    return {name: p_value(np.array(found), KEPT) for name, found in by_name.items()}


def definition(seed: int, settings: EvidenceSettings) -> str:
    """What a rank is a rank of: those of another definition, or of another sampler, are not added to these."""
    folder = Path(inspect.getfile(particles_module)).parent
    sampler = ("nodes", "layout", "density", "moves", "particles", "cases", "tables", "simulated")
    source = hashlib.sha256(b"".join((folder / f"{name}.py").read_bytes() for name in sampler)).hexdigest()
    return f"seed {seed}, {CORNERS}, {KEPT} kept, {settings}, sampler {source[:16]}"


def main() -> int:
    """Run the fits that are not in the output yet, print all p-values, and fail outside the band."""
    parser = argparse.ArgumentParser(description="Long simulation-based calibration; goes on where it stopped.")
    parser.add_argument("--fits", type=int, default=600, help="over all corners")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--particles", type=int, default=EvidenceSettings().particles)
    parser.add_argument("--out", type=Path, default=Path("out/evidence-sbc.jsonl"))
    given = parser.parse_args()
    settings, corners = EvidenceSettings(particles=given.particles), len(CORNERS)

    def fit(number: int) -> dict[str, int]:
        return one_fit(given.seed, number, CORNERS[number % corners], case_by_case, settings)

    return tell(resumed(given.fits, given.out, definition(given.seed, settings), fit), CORNERS, calibration)


if __name__ == "__main__":
    sys.exit(main())
