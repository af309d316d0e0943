"""Which cases a run of an experiment takes, and in what order."""

from __future__ import annotations

from dataclasses import dataclass

from quorate.errors import SettingsError

LENGTH = 250
LARGE = 3000
ORDERS = (None, 1, 2, 3)
BLOCKS = 3


@dataclass(frozen=True)
class RunPlan:
    """One run: so many cases from an offset on, of the table as stored or shuffled by a seed.

    `halves` is a seed that shuffles either half of the run by itself, for streams that change in their middle.
    """

    offset: int
    limit: int
    shuffle: int | None = None
    halves: int | None = None


def shift_runs(cases: int, runs: int | None = None, *, length: int = LENGTH) -> tuple[RunPlan, ...]:
    """The runs of a table of streams of 250, each of which shifts in its middle: 12 shuffles within its halves.

    `runs` takes the first so many shuffles of every stream, `length` so many cases about the middle.

    >>> len(shift_runs(1000)), shift_runs(1000, 1)[1]
    (48, RunPlan(offset=250, limit=250, shuffle=None, halves=1))
    >>> shift_runs(250, 1, length=60)
    (RunPlan(offset=95, limit=60, shuffle=None, halves=1),)
    """
    if cases < LENGTH:
        raise SettingsError(f"{cases} cases are too few for a stream that shifts; expected at least {LENGTH}")
    most = BLOCKS * len(ORDERS)
    if runs is not None and not 1 <= runs <= most:
        raise SettingsError(f"runs = {runs} is out of range; expected 1 to {most}")
    start = (LENGTH - length) // 2
    streams = range(start, cases - LENGTH + start + 1, LENGTH)
    return tuple(RunPlan(offset, length, halves=seed) for seed in range(1, (runs or most) + 1) for offset in streams)


def paper_runs(cases: int, runs: int | None = None) -> tuple[RunPlan, ...]:
    """The paper's 12 runs of a table, or the first so many of them.

    3 consecutive blocks of 250 in each of 4 orders (as stored and 3 shuffles); 3,000 cases and more: the first 12
    blocks as stored; fewer than 750: three equal blocks in each order.

    >>> paper_runs(810)[3]
    RunPlan(offset=0, limit=250, shuffle=1, halves=None)
    >>> [plan.offset for plan in paper_runs(3000, 3)], paper_runs(460)[1]
    ([0, 250, 500], RunPlan(offset=153, limit=153, shuffle=None, halves=None))
    """
    if cases < BLOCKS:
        raise SettingsError(f"{cases} cases are too few for {BLOCKS} blocks; expected at least {BLOCKS}")
    if cases >= LARGE:
        every = tuple(RunPlan(block * LENGTH, LENGTH) for block in range(BLOCKS * len(ORDERS)))
    else:
        length = min(LENGTH, cases // BLOCKS)
        every = tuple(RunPlan(block * length, length, order) for order in ORDERS for block in range(BLOCKS))
    if runs is not None and not 1 <= runs <= len(every):
        raise SettingsError(f"runs = {runs} is out of range; expected 1 to {len(every)}")
    return every[:runs]
