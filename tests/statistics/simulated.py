"""Streams of votes from the models themselves, and from worlds that the shared-evidence model does not know."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.core.panel import Panel
from quorate.core.settings import EvidenceSettings, Settings
from quorate.data.table import Table
from quorate.models.evidence.cases import read_scores
from quorate.models.evidence.density import Model
from quorate.models.evidence.layout import Shape, natural, size
from quorate.models.evidence.particles import make_model
from quorate.models.evidence.simulated import simulate as simulate_evidence
from quorate.models.full.normal import Parameters, prior_parameters, simulate
from quorate.models.full.simplex import probabilities, softmax

SHAPES = ((5, 2), (3, 3), (3, 4), (4, 2))
"""Experts and classes of the panels, in turn."""


def full(rng: np.random.Generator, number: int, cases: int) -> Table:
    """A panel of the paper's model, by turns from its prior and one that agrees."""
    experts, classes = SHAPES[number // 2 % len(SHAPES)]
    settings = Settings()
    if number % 2 == 0:
        truth = prior_parameters(rng, classes=classes, classifiers=1, experts=experts, settings=settings)
    else:
        truth = agreeing(rng, classes=classes, agents=1 + experts)
    ratios, votes = simulate(rng, truth, cases, classes=classes, classifiers=1, settings=settings)
    return named(votes, probabilities(ratios), number)


def agreeing(rng: np.random.Generator, *, classes: int, agents: int) -> Parameters:
    """Parameters of a panel whose members see alike and vote sharply, as posteriors of recorded panels have them."""
    block, alike = (classes - 1) * agents, rng.uniform(0.6, 0.95)
    among = alike + (1 - alike) * np.eye(agents)  # the same log-ratio of two agents
    within = 0.5 + 0.5 * np.eye(classes - 1)  # two log-ratios against one base class
    return Parameters(
        mu=rng.normal(0.0, 0.1, block),
        s=rng.uniform(0.3, 1.0, block),
        omega=np.kron(among, within).astype(np.float64),
        tau=float(rng.uniform(0.01, 0.05)),
    )


def evidence(rng: np.random.Generator, number: int, cases: int) -> Table:
    """A panel of the shared-evidence model's prior."""
    model, truth, p = _drawn(rng, number, cases)
    scores, missing = read_scores(p)
    return named(simulate_evidence(rng, truth, model, scores, missing), p, number)


def _drawn(rng: np.random.Generator, number: int, cases: int) -> tuple[Model, Floats, Floats]:
    experts, classes = SHAPES[number % len(SHAPES)]
    model = make_model(EvidenceSettings(), Shape(classes, experts, 1, 0), ())
    return model, rng.standard_normal(size(model.shape)), softmax(rng.normal(0.0, 2.0, (cases, 1, classes)))


def heavy(rng: np.random.Generator, number: int, cases: int) -> Table:
    """The same with evidence that has far heavier tails than a normal (t with 3 degrees of freedom)."""
    model, truth, p = _drawn(rng, number, cases)
    found = natural(truth, model.shape, model.B, model.prior, model.alone)
    scores, _ = read_scores(p)
    classes = model.shape.classes
    stretched = np.sqrt(classes / (classes - 1)) * model.B.T  # (K-1, K)
    scale = 1.0 / np.sqrt(rng.chisquare(3, (cases, 1)))  # unit variance
    eta = scale * rng.standard_normal((cases, classes - 1)) @ stretched
    zeta = rng.standard_normal((cases, classes - 1)) @ stretched
    seen = (found.beta * found.bend[:, None] * np.arcsinh(scores / found.bend[:, None])).sum(axis=1)
    u = found.bias + found.leaning + found.attention * (seen + found.sigma[0] * eta)[:, None, :]
    u = u + found.residual[:, None] * zeta[:, None, :]
    chance = (1 - found.lapse[:, None]) * softmax(u) + found.lapse[:, None] / classes  # (n, H, K)
    votes = (rng.random((*chance.shape[:2], 1)) > chance.cumsum(axis=2)).sum(axis=2)
    return named(np.minimum(votes, classes - 1), p, number)


def twins(rng: np.random.Generator, number: int, cases: int) -> Table:
    """The second expert votes as the first, always."""
    votes = evidence(rng, number, cases)
    return named(_with(votes.votes, 1, votes.votes[:, 0]), votes.probabilities, number)


def adversary(rng: np.random.Generator, number: int, cases: int) -> Table:
    """The first expert votes for the class after the one that they think right, nine times in ten."""
    votes = evidence(rng, number, cases)
    turned = (votes.votes[:, 0] + (rng.random(cases) < 0.9)) % len(votes.panel.classes)
    return named(_with(votes.votes, 0, turned), votes.probabilities, number)


def constant(rng: np.random.Generator, number: int, cases: int) -> Table:
    """The last expert votes for the first class, whatever the case."""
    votes = evidence(rng, number, cases)
    return named(_with(votes.votes, -1, np.zeros(cases, dtype=np.int64)), votes.probabilities, number)


def _with(votes: Ints, expert: int, cast: Ints) -> Ints:
    result = votes.copy()
    result[:, expert] = cast
    return result


def named(votes: Ints, p: Floats, number: int) -> Table:
    """Votes (n, H) and probabilities (n, M, K) as a table."""
    cases, experts = votes.shape
    panel = Panel([f"c{k}" for k in range(p.shape[2])], [f"e{h}" for h in range(experts)], ["m"])
    return Table(panel, tuple(f"case-{n}" for n in range(cases)), votes, p, source=f"stream {number}")


WORLDS: dict[str, tuple[str, Callable[[np.random.Generator, int, int], Table]]] = {
    "full": ("paper", full),
    "evidence": ("quorate", evidence),
    "heavy": ("quorate", heavy),
    "twins": ("quorate", twins),
    "adversary": ("quorate", adversary),
    "constant": ("quorate", constant),
    "full by evidence": ("quorate", full),
}
"""Where votes come from, and the preset that is tried on them."""
