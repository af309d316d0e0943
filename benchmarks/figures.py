"""One measured number, and how long a call takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

Call = ParamSpec("Call")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Figure:
    """One measured number: what it is, on which data, and in which unit."""

    part: str
    what: str
    on: str
    value: float
    unit: str


def timed(act: Callable[Call, Result], *args: Call.args, **options: Call.kwargs) -> tuple[float, Result]:
    """Seconds that a call takes, and what it gives."""
    began = time.perf_counter()
    result = act(*args, **options)
    return time.perf_counter() - began, result
