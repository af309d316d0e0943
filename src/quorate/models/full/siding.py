"""Who sides with whom under the paper's model: partial correlations of the latent log-ratios."""

from __future__ import annotations

import numpy as np

from quorate.core.arrays import Floats
from quorate.models.draws import Draws

MOST = 256
"""Draws whose correlations are inverted: that takes long for large panels, and more say nothing new."""


def siding(draws: Draws) -> Floats:
    """Correlation of two experts' latents given everyone else's, mean over matching log-ratios: (S, H, H).

    Of at most so many draws, evenly spaced.
    """
    omega = draws.omega.reshape(-1, draws.size, draws.size)
    taken = np.unique(np.linspace(0, len(omega) - 1, min(len(omega), MOST)).round().astype(np.int64))
    precision = np.linalg.inv(omega[taken])  # (S, d, d)
    scale = 1.0 / np.sqrt(np.einsum("sjj->sj", precision))
    partial = -precision * scale[:, :, None] * scale[:, None, :]
    block, first = draws.classes - 1, draws.classifiers * (draws.classes - 1)
    split = partial[:, first:, first:].reshape(len(taken), draws.experts, block, draws.experts, block)
    values: Floats = np.einsum("sakbk->sab", split) / block
    values[:, np.arange(draws.experts), np.arange(draws.experts)] = 1.0
    return values
