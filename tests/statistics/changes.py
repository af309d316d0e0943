"""Streams in which an expert joins and a classifier is replaced, and whether skills are covered by their intervals.

`python -m tests.statistics.changes` runs many of them; a few short ones are part of the test suite.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import quorate
from quorate.core.health import Health
from quorate.core.panel import Panel
from quorate.core.settings import EvidenceSettings
from quorate.models.evidence.cases import read_scores
from quorate.models.evidence.layout import Shape, size
from quorate.models.evidence.particles import make_model
from quorate.models.evidence.predictor import EvidencePredictor
from quorate.models.evidence.simulated import simulate
from quorate.models.full.simplex import softmax
from quorate.models.portrait import portrait

FORMAT = 1
SHAPES = ((4, 2), (3, 3))
"""Experts at the end and classes of the panels, in turn."""
OLD, NEW = 2, 1
"""Bits of the classifier that is missing while the old one, and while the new one, is in use."""


@dataclass(frozen=True)
class Moments:
    """When the last expert joins, when the classifier is replaced, and when the stream ends."""

    joins: int = 100
    replaced: int = 150
    ends: int = 250


def stream(seed: int, number: int, moments: Moments, max_error: float) -> dict[str, Any]:
    """One stream from the model's prior through a study: errors made and stated, queries, skills covered."""
    rng = np.random.default_rng([seed, number])
    experts, classes = SHAPES[number % len(SHAPES)]
    settings, n = EvidenceSettings(), moments.ends
    p = softmax(rng.normal(0.0, 2.0, (n, 2, classes)))
    late = np.arange(n) >= moments.replaced
    p[late, 0], p[~late, 1] = np.nan, np.nan
    scores, missing = read_scores(p)
    model = make_model(settings, Shape(classes, experts, 2, 2), (OLD, NEW))
    truth = rng.standard_normal(size(model.shape))
    votes = simulate(rng, truth, model, scores, np.where(missing == OLD, 1, 2))
    names = [f"e{h}" for h in range(experts)]
    panel = Panel([f"c{k}" for k in range(classes)], names[:-1], ["old"])
    options = quorate.Options(preset="quorate", settings=settings)
    study = quorate.create_study(panel, max_error=max_error, options=options, seed=number)
    errors, stated, queries, tied = [], [], [], []
    for row in range(n):
        if row == moments.joins:
            study.add_expert(names[-1])
        if row == moments.replaced:
            study.replace_classifier("old", "new")
        key = f"case-{row}"
        study.open(key, {"new": p[row, 1].tolist()} if late[row] else {"old": p[row, 0].tolist()})
        while isinstance(step := study.ask(key), quorate.Query):
            study.tell(key, step.expert, study.panel.classes[votes[row, study.panel.expert(step.expert)]])
        study.settle(key)
        assert isinstance(step, quorate.Settle)
        there = votes[row : row + 1, : len(study.panel.experts)]
        errors.append(float(1 - study.target.weights(there)[0][step.forecast.leader]))
        stated.append(step.forecast.error)
        queries.append(step.human_votes)
        tied.append(step.reason == "tie")
        job = study.due()
        if job is not None:
            study.adopt(job, job.run())
    assert isinstance(study.predictor, EvidencePredictor)
    return {
        "format": FORMAT,
        "seed": seed,
        "stream": number,
        "moments": [moments.joins, moments.replaced, moments.ends],
        "max_error": max_error,
        "error": errors,
        "stated": stated,
        "queries": queries,
        "tied": tied,
        **covered(study, truth),
    }


def covered(study: quorate.Study, truth: np.ndarray[Any, Any]) -> dict[str, int]:
    """How many of the experts' skills lie inside their 95 % intervals, and how many there are."""
    learned = study.predictor
    assert isinstance(learned, EvidencePredictor)
    particles = learned.particles
    assert particles.regimes == (OLD, NEW)
    exact = replace(particles, theta=truth[None], log_weight=np.zeros(1))
    oracle = EvidencePredictor(learned.panel, exact, Health())
    true = portrait(np.random.default_rng(0), oracle, study.history).skill[..., 0]
    found = portrait(np.random.default_rng(0), learned, study.history).skill
    inside = (found[..., 1] <= true) & (true <= found[..., 2])
    return {"covered": int(inside.sum()), "skills": int(inside.size)}


def report(lines: Sequence[dict[str, Any]], moments: Moments) -> str:
    """Errors made and stated, queries by stretch of the stream, and how many skills were covered."""
    keep = np.array([~np.array(line["tied"], dtype=bool) for line in lines])
    errors, stated = (np.array([line[name] for line in lines]) for name in ("error", "stated"))
    queries = np.array([line["queries"] for line in lines])
    cuts = (0, moments.joins, moments.replaced, moments.ends)
    stretches = [
        f"{start}-{stop - 1}: {queries[:, start:stop].mean():.2f} queries, made "
        f"{errors[:, start:stop][keep[:, start:stop]].sum():.1f}, stated "
        f"{stated[:, start:stop][keep[:, start:stop]].sum():.1f}"
        for start, stop in itertools.pairwise(cuts)
    ]
    last = queries[:, -50:].mean()
    skills = sum(line["covered"] for line in lines) / sum(line["skills"] for line in lines)
    return "; ".join([*stretches, f"last 50: {last:.2f} queries", f"skills covered {skills:.3f}"])


def main() -> None:
    """Run the streams that are not in the output yet, append them, and say what they show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=20)
    parser.add_argument("--max-errors", type=float, nargs="+", default=[0.05, 0.01])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/changes.jsonl"))
    given, moments = parser.parse_args(), Moments()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    done = [json.loads(text) for text in given.out.read_text().splitlines()] if given.out.exists() else []
    names = ("format", "seed", "max_error", "stream")
    found = {tuple(line[name] for name in names): line for line in done}
    with given.out.open("a") as out:
        for max_error in given.max_errors:
            keys = [(FORMAT, given.seed, max_error, number) for number in range(given.streams)]
            for key in keys:
                if key not in found:
                    found[key] = stream(given.seed, int(key[3]), moments, max_error)
                    out.write(json.dumps(found[key]) + "\n")
                    out.flush()
            sys.stdout.write(f"allowed {max_error:g}: {report([found[key] for key in keys], moments)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
