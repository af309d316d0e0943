"""When what was learned is brought up to date."""

from __future__ import annotations

from collections.abc import Callable

Schedule = Callable[[int], bool]
"""Whether a fit is due once so many cases have settled."""


def paper_schedule(settled: int) -> bool:
    """The paper's schedule (appendix D): after every case to 20, every 10 to 100, then every 50.

    >>> [n for n in range(1, 251) if paper_schedule(n)][18:]
    [19, 20, 30, 40, 50, 60, 70, 80, 90, 100, 150, 200, 250]
    """
    if settled <= 20:
        return settled > 0
    return settled % (10 if settled <= 100 else 50) == 0


def shift_schedule(settled: int) -> bool:
    """That of the authors' program in their experiment with a shift after 125 cases, which it is told.

    After every case to 19 and from 126 to 144, and after every 10 throughout.

    >>> [n for n in range(1, 251) if shift_schedule(n)][18:32]
    [19, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 126, 127]
    """
    return 0 < settled < 20 or 125 < settled < 145 or (settled > 0 and settled % 10 == 0)


def every_schedule(settled: int) -> bool:
    """After every settled case."""
    return settled > 0


def never_schedule(settled: int) -> bool:
    """Not at all: there is nothing to learn."""
    del settled
    return False


SCHEDULES: dict[str, Schedule] = {"paper": paper_schedule, "every": every_schedule, "shift": shift_schedule}
