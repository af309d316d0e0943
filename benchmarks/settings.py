"""Settings of the shared-evidence model held against each other by what they forecast before it is learned.

`python -m benchmarks.settings` goes through stretches of every panel of QUORATE_DATA under each variant: everyone's
vote is forecast, then half of the votes are learned from. Finished parts are kept in `--out`; it goes on where it
stopped. Scores are sums of logarithms of forecast probabilities: of the pattern of votes, and of the panel's decision.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy import stats

from benchmarks.panels import PAPER_SETS, recorded
from quorate.assembly import Options, plan, read_target
from quorate.core.case import Case
from quorate.core.history import History
from quorate.core.protocols import Predictor, Target
from quorate.core.settings import EvidenceSettings
from quorate.data.table import Table
from quorate.models.evidence import particles
from quorate.models.evidence.nodes import Nodes, make_nodes

STRETCHES = {**dict.fromkeys(PAPER_SETS, (2, 150)), "sleep5": (1, 75), "mammo15": (1, 75)}
"""How many stretches of each panel, and how many cases in one."""
FREEDOM = 4.0
"""Degrees of freedom of evidence with heavy tails."""
VARIANTS = {
    "as it is": {},
    "another seed": {},
    "32 nodes": {"nodes": "32"},
    "128 nodes": {"nodes": "128"},
    "128 particles": {"particles": "128"},
    "512 particles": {"particles": "512"},
    "heavy tails": {},
    "differences between classes .15": {"class_sd": ".15"},
    "differences between classes .6": {"class_sd": ".6"},
    "residual .5": {"residual": ".5"},
    "residual 2": {"residual": "2"},
    "lapse .003": {"lapse": ".003"},
    "lapse .03": {"lapse": ".03"},
    "sigma 2": {"sigma": "2"},
    "sigma 5": {"sigma": "5"},
    "attention .6": {"attention": ".6"},
    "leaning 1": {"leaning": "1"},
}
FULL = "full model"


def heavy(classes: int, count: int) -> Nodes:
    """The nodes with evidence moved out to where a t distribution has it, scaled to the same variance."""
    found = make_nodes(classes, count)
    size = classes - 1
    far = np.sqrt((found.eta**2).sum(axis=0) * size / classes)  # lengths of standard normals
    there = np.sqrt(size * stats.f.isf(stats.chi2.sf(far**2, size), size, FREEDOM))
    eta = found.eta * np.divide(there, far, out=np.ones_like(far), where=far > 0)
    scale = np.sqrt((found.weight * eta**2).sum(axis=1).mean())
    return found._replace(eta=np.ascontiguousarray(eta / scale))


def scored(
    rng: np.random.Generator, predictor: Predictor, experts: Sequence[str], case: Case, votes: list[int], target: Target
) -> tuple[float, float]:
    """Log scores of everyone's votes, one after the other, and of the decision with no vote seen."""
    cast = np.array(votes, dtype=np.int64)
    pattern, decision = 0.0, 0.0
    for place, expert in enumerate(case.unasked):
        forecast = predictor.forecast(rng, case, target)
        if place == 0:
            outcome = target.weights(cast[None])[0]
            decision = float(outcome @ np.log(np.maximum(forecast.values, 1e-12)))
        name = experts[expert]
        pattern += math.log(max(float(forecast.joint[name][cast[expert]].sum()), 1e-12))
        case = case.with_vote(expert, int(cast[expert]))
    return pattern, decision


def run(table: Table, rows: range, variant: str) -> dict[str, list[float]]:
    """Scores of each case of a stretch under a variant."""
    target, rng = read_target("consensus", table.panel), np.random.default_rng(int(variant == "another seed"))
    if variant == FULL:
        options = Options("bayes:paper", schedule="every")
    else:
        options = Options("bayes:quorate", settings=EvidenceSettings().changed(VARIANTS[variant]))
    learner = plan(table.panel, options, target).method.learner
    seen = np.random.default_rng(rows.start).random(table.votes.shape) < 0.5
    history, scores = History(table.panel), []
    predictor = learner.update(rng, history, None)
    for row in rows:
        votes = table.votes[row].tolist()
        scores.append(scored(rng, predictor, table.panel.experts, table.case(row), votes, target))
        cast = tuple((h, vote) for h, vote in enumerate(votes) if vote >= 0 and seen[row, h])
        history = history.with_case(replace(table.case(row), votes=cast))
        predictor = learner.update(rng, history, predictor)
    patterns, decisions = zip(*scores, strict=True)
    return {"pattern": list(patterns), "decision": list(decisions)}


def table_of(found: dict[tuple[str, int, str], dict[str, list[float]]]) -> str:
    """Each variant against the settings as they are, summed over all stretches of all panels, in Markdown."""
    rows = ["| | pattern of votes | decision | panels where the decision is forecast better |", "|---|---|---|---|"]
    base = "as it is"
    for variant in [*VARIANTS, FULL]:
        gaps: dict[str, dict[str, float]] = {"pattern": {}, "decision": {}}
        for (panel, start, name), line in found.items():
            if name == variant and (panel, start, base) in found:
                for what, sums in gaps.items():
                    gap = sum(line[what]) - sum(found[panel, start, base][what])
                    sums[panel] = sums.get(panel, 0.0) + gap
        if variant != base and gaps["decision"]:
            better = [panel for panel, gap in gaps["decision"].items() if gap > 0]
            totals = [sum(sums.values()) for sums in gaps.values()]
            rows.append(
                f"| {variant} | {totals[0]:+.1f} | {totals[1]:+.1f} | {len(better)} of {len(gaps['decision'])} |"
            )
    return "\n".join(rows)


def mixed(found: dict[tuple[str, int, str], dict[str, list[float]]]) -> str:
    """Both models averaged by what they forecast so far, against each alone: log scores of the decision."""
    lines = []
    for (panel, start, name), full in found.items():
        ours = found.get((panel, start, "as it is"))
        if name == FULL and ours is not None:
            lead = np.cumsum(np.array(ours["pattern"]) - np.array(full["pattern"]))
            weight = 1 / (1 + np.exp(-np.clip(np.concatenate([[0.0], lead[:-1]]), -500, 500)))
            p = weight * np.exp(ours["decision"]) + (1 - weight) * np.exp(full["decision"])
            lines.append(
                f"{panel} from {start}: evidence {sum(ours['decision']):.1f}, full {sum(full['decision']):.1f}, mixed "
                f"{np.log(p).sum():.1f}, last weight of evidence {weight[-1]:.3f}"
            )
    return "\n".join(lines)


def main() -> None:
    """Run what is not in the output yet, and show the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/settings.jsonl"))
    parser.add_argument("--variants", nargs="+", default=[*VARIANTS, FULL])
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.loads(text) for text in given.out.read_text().splitlines()] if given.out.exists() else []
    found = {(line["panel"], line["start"], line["variant"]): line for line in lines}
    with given.out.open("a") as out:
        for variant in given.variants:
            for name, table in recorded(tuple(STRETCHES)).items():
                count, cases = STRETCHES[name]
                for start in range(0, count * (len(table) // count), len(table) // count):
                    key = (name, start, variant)
                    if key in found or (variant == FULL and len(table.panel.experts) > 10):
                        continue
                    changed: AbstractContextManager[Any] = nullcontext()
                    if variant == "heavy tails":
                        changed = mock.patch.object(particles, "make_nodes", heavy)
                    with changed:
                        scores = run(table, range(start, start + cases), variant)
                    found[key] = {"panel": name, "start": start, "variant": variant, **scores}
                    out.write(json.dumps(found[key]) + "\n")
                    out.flush()
    sys.stdout.write(table_of(found) + "\n\n" + mixed(found) + "\n")


if __name__ == "__main__":
    main()
