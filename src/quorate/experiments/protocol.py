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
    """One run: so many cases from an offset on, of the table as stored or shuffled by a seed."""

    offset: int
    limit: int
    shuffle: int | None = None


def paper_runs(cases: int, runs: int | None = None) -> tuple[RunPlan, ...]:
    """The paper's 12 runs of a table, or the first so many of them.

    3 consecutive blocks of 250 in each of 4 orders (as stored and 3 shuffles); 3,000 cases and more: the first 12
    blocks as stored; fewer than 750: three equal blocks in each order.

    >>> paper_runs(810)[3]
    RunPlan(offset=0, limit=250, shuffle=1)
    >>> [plan.offset for plan in paper_runs(3000, 3)], paper_runs(460)[1]
    ([0, 250, 500], RunPlan(offset=153, limit=153, shuffle=None))
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
