"""An interrupt ends the program even where something passed it over."""

from __future__ import annotations

import signal
from contextlib import suppress

import pytest

from quorate.cli.interrupt import kept_interrupt

steps: list[str] = []


def drop_one() -> str:
    """Pass an interrupt over, as a callback does."""
    with kept_interrupt():
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        steps.append("went on")
    return "nobody noticed"


def test_an_interrupt_that_was_dropped_comes_at_the_end() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        drop_one()
    assert steps == ["went on"]
    assert signal.getsignal(signal.SIGINT) is before


def test_nothing_happens_without_one() -> None:
    with kept_interrupt():
        pass
