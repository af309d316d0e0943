"""Probabilities as log-ratios against the last class, and back (paper section 4)."""

from __future__ import annotations

import numpy as np

from quorate.core.arrays import Floats


def log_ratios(probabilities: Floats, *, clip: float) -> Floats:
    """Log-ratios of rows of probabilities against their last class, kept within `clip` of 0: (..., K) to (..., K-1).

    Real classifiers give exact 0 and 1. A class of probability 0 counts as e^-clip of the largest one, whichever
    place it has, so that no order of the classes is special. A missing row (NaN) stays missing.

    >>> log_ratios(np.array([[0.8, 0.2], [1.0, 0.0], [np.nan, np.nan]]), clip=20.0).round(3).tolist()
    [[1.386], [20.0], [nan]]
    """
    with np.errstate(divide="ignore"):
        logs = np.log(probabilities)
    logs = np.maximum(logs - logs.max(axis=-1, keepdims=True), -clip)  # NaN passes through maximum
    ratios: Floats = np.clip(logs[..., :-1] - logs[..., -1:], -clip, clip)
    return ratios


def probabilities(ratios: Floats) -> Floats:
    """Probabilities whose log-ratios against the last class are given: (..., K-1) to (..., K).

    >>> probabilities(np.array([[np.log(4.0)]])).round(3).tolist()
    [[0.8, 0.2]]
    """
    last = np.zeros((*ratios.shape[:-1], 1))
    return softmax(np.concatenate([ratios, last], axis=-1))


def softmax(utilities: Floats) -> Floats:
    """Exponentials that sum to 1 along the last axis, without overflow.

    >>> softmax(np.array([1000.0, 1000.0])).tolist()
    [0.5, 0.5]
    """
    weights = np.exp(utilities - utilities.max(axis=-1, keepdims=True))
    shares: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return shares


def tempered(shares: Floats, tau: float | Floats) -> Floats:
    """How an expert with latent probabilities votes: softmax(theta / tau) (paper section 4); tau broadcasts.

    >>> tempered(np.array([0.6, 0.4]), 0.1).round(3).tolist()
    [0.881, 0.119]
    """
    return softmax(shares / np.asarray(tau)[..., None])
