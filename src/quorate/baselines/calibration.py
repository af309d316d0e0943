"""A classifier's calibration by one temperature, learned from cases whose outcome was seen."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from quorate.core.arrays import Floats

SMALLEST = 1e-50
"""Probabilities are raised to this before their logarithm."""

MEAN, SD = 0.5, 0.5
"""Normal prior of the logarithm of the temperature."""

RANGE = (0.01, 100.0)
"""Where the temperature is searched."""

Likelihood = Literal["sum", "mean"]


def log_tempered(p: Floats, temperature: float) -> Floats:
    """Logarithm of p^(1/T), normalised: (..., K) to (..., K).

    >>> np.exp(log_tempered(np.array([0.1, 0.9]), 2.0)).round(4).tolist()
    [0.25, 0.75]
    """
    q: Floats = log_softmax(np.log(np.maximum(p, SMALLEST)) / temperature, axis=-1)
    return q


def fit_temperature(p: Floats, shares: Floats, *, likelihood: Likelihood = "sum") -> float:
    """Temperature of largest posterior density, given outcomes as shares: p and shares are (N, K).

    >>> round(fit_temperature(np.empty((0, 2)), np.empty((0, 2))), 4) == round(float(np.exp(0.25)), 4)
    True
    """
    # Dividing by the number of cases, as the mean does, keeps the prior as strong as all of them together.
    weight = 1.0 if likelihood == "sum" else 1.0 / max(len(p), 1)

    def loss(b: float) -> float:
        surprise = -float((shares * log_tempered(p, float(np.exp(b)))).sum())
        return weight * surprise + b + (b - MEAN) ** 2 / (2 * SD**2)

    low, high = np.log(RANGE)
    found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-7})
    return float(np.exp(found.x))
