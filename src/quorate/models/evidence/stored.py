"""What was learned as bytes, so that a study goes on in another process exactly where it stopped."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from quorate.core.panel import Panel
from quorate.core.settings import EvidenceSettings
from quorate.errors import InputError
from quorate.models.evidence.cases import Cases
from quorate.models.evidence.layout import size
from quorate.models.evidence.particles import Particles, Trace
from quorate.models.evidence.predictor import EvidencePredictor
from quorate.models.packed import UNLEARNED, health_of, pack, panel_of, reading, unpack

FORMAT = 1


def predictor_to_npz(predictor: EvidencePredictor) -> bytes:
    """A predictor with its particles, cases, settings and health as the bytes of an .npz file."""
    found = predictor.particles
    about = {
        "format": FORMAT,
        "model": "evidence",
        "settings": asdict(found.settings),
        "health": asdict(predictor.health),
        "rung": predictor.rung,
        "classes": found.classes,
        "regimes": found.regimes,
        "keys": found.cases.keys,
        "step": found.step,
        "turn": found.turn,
        "arrived": found.arrived,
        "unmoved": found.unmoved,
        "seed": found.seed,
        "trace": asdict(found.trace),
    }
    arrays = {
        "theta": found.theta,
        "log_weight": found.log_weight,
        "scores": found.cases.scores,
        "missing": found.cases.missing,
        "votes": found.cases.votes,
    }
    return pack(about, arrays)


def predictor_from_npz(content: bytes, panel: Panel) -> EvidencePredictor:
    """The predictor that `predictor_to_npz` wrote, for its panel; nothing in the bytes is ever run."""
    with reading(UNLEARNED):
        about, arrays = unpack(content, FORMAT)
        cases = Cases(tuple(about["keys"]), arrays["scores"], arrays["missing"], arrays["votes"])
        particles = Particles(
            settings=EvidenceSettings(**about["settings"]),
            cases=cases,
            classes=int(about["classes"]),
            regimes=tuple(int(bits) for bits in about["regimes"]),
            theta=arrays["theta"],
            log_weight=arrays["log_weight"],
            step=float(about["step"]),
            turn=int(about["turn"]),
            arrived=int(about["arrived"]),
            unmoved=int(about["unmoved"]),
            seed=int(about["seed"]),
            trace=Trace(**about["trace"]),
        )
        _check(particles)
        health, rung = health_of(about["health"]), int(about["rung"])
    then = panel_of(panel, particles.classes, cases.scores.shape[1], cases.votes.shape[1])
    return EvidencePredictor(then, particles, health, rung)


def _check(particles: Particles) -> None:
    """Refuse arrays that do not fit together: compiled code trusts their shapes."""
    cases, count, (classes, experts, classifiers, _) = particles.cases, len(particles.theta), particles.shape
    expected = {
        "theta": (particles.theta, (count, size(particles.shape)), np.float64),
        "log_weight": (particles.log_weight, (count,), np.float64),
        "scores": (cases.scores, (len(cases), classifiers, classes), np.float64),
        "missing": (cases.missing, (len(cases),), np.int64),
        "votes": (cases.votes, (len(cases), experts), np.int64),
    }
    for name, (array, shape, kind) in expected.items():
        if array.shape != shape or array.dtype != kind:
            raise InputError(f"{name} is {array.dtype} of shape {array.shape}, expected {kind.__name__} of {shape}")
    if not (count and np.isfinite(particles.theta).all() and np.isfinite(particles.log_weight).all()):
        raise InputError("there are no particles, or some are not finite")
    if cases.votes.size and not -1 <= cases.votes.min() <= cases.votes.max() < classes:
        raise InputError(f"votes are not all -1 to {classes - 1}")
    if not {0, *particles.regimes} >= set(cases.missing.tolist()):
        raise InputError("a case misses classifiers in a way that the particles do not know")
