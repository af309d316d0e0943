"""Particles in the parameters' own units: by name for ArviZ, and who sides with whom."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from quorate.core.arrays import Floats
from quorate.core.panel import Panel
from quorate.models.evidence.layout import natural
from quorate.models.evidence.particles import Particles, resampled

if TYPE_CHECKING:
    import xarray as xr

CHOICE = math.pi**2 / 3
"""Variance of what neither the evidence nor the residual explains of a choice between two classes."""

PLAIN = {
    "trust": ("beta", ["classifier", "class"]),
    "bend": ("bend", ["classifier"]),
    "sigma": ("sigma", ["class"]),
    "sigma_without": ("sigma", ["without", "class"]),
    "bias": ("bias", ["class"]),
    "leaning": ("leaning", ["expert", "class"]),
    "attention": ("attention", ["expert", "class"]),
    "residual": ("residual", ["expert"]),
    "lapse": ("lapse", ["expert"]),
}
"""Each parameter's name outside: its field of `Natural`, and its axes."""


def in_own_units(particles: Particles) -> dict[str, Floats]:
    """Every parameter by its field of `Natural`, stacked over the particles: (P, ...)."""
    model = particles.model
    found = [natural(theta, model.shape, model.B, model.prior, model.alone) for theta in particles.theta]
    return {name: np.stack([getattr(one, name) for one in found]) for name in found[0]._fields}


def siding(particles: Particles) -> Floats:
    """Correlation of what the shared evidence leaves unexplained of two experts' choices, by particle: (P, H, H).

    The sign of one residual means nothing; that of a product of two does.
    """
    residual = in_own_units(particles)["residual"]  # (P, H)
    apart = 2.0 * particles.classes / (particles.classes - 1)  # variance of the residual's difference of two classes
    share = residual / np.sqrt(residual**2 + CHOICE / apart)
    values: Floats = share[:, :, None] * share[:, None, :]
    values[:, np.arange(residual.shape[1]), np.arange(residual.shape[1])] = 1.0
    return values


def to_datatree(particles: Particles, panel: Panel) -> xr.DataTree:
    """The posterior as ArviZ takes it: one chain of equally weighted draws, the panel's names on every axis.

    `sigma` is the spread where every classifier is there, `sigma_without` that of each way in which some were missing.
    """
    from arviz_base import from_dict  # slow to import, and most programs never need it

    even = resampled(np.random.default_rng(particles.seed), particles)
    values = in_own_units(even)
    values["sigma"], without = values["sigma"][:, 0], values["sigma"][:, 1:]
    posterior = {name: values[field][None] for name, (field, _) in PLAIN.items() if name != "sigma_without"}
    if particles.regimes:
        posterior["sigma_without"] = without[None]
    return from_dict(
        {"posterior": posterior},
        coords={
            "expert": list(panel.experts),
            "class": list(panel.classes),
            "classifier": list(panel.classifiers),
            "without": [_names(bits, panel) for bits in particles.regimes],
        },
        dims={name: axes for name, (_, axes) in PLAIN.items() if name in posterior},
    )


def _names(missing: int, panel: Panel) -> str:
    """The classifiers that are missing, as bits of a number, by name."""
    return ", ".join(name for m, name in enumerate(panel.classifiers) if missing >> m & 1)
