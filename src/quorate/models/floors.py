"""Bounds of the parameters that models and their kernels share."""

from __future__ import annotations

SCALE_FLOOR = 1e-4
"""No standard deviation of a log-ratio lies below it: few equal votes would drive it to 0."""
TAU_FLOOR = 1e-5
"""No temperature lies below it."""
