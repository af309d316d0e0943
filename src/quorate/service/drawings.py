"""The numbers and plots of every study, made when looked at and kept for a while, so that voting stays fast."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from quorate.core.arrays import Bools, Floats, Ints
from quorate.errors import NotFoundError
from quorate.models.collected import Portrayable
from quorate.models.portrait import spread
from quorate.reporting import board_plots as plots
from quorate.reporting.wording import count, counted, decimal, percent
from quorate.service.board import Board
from quorate.service.hall import Hall
from quorate.study.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FRESH: Final = 5.0
"""Seconds for which plots are kept at least, whatever happens in their study."""
SHARE: Final = 60.0
"""Plots are kept so many times longer than drawing them took."""
COUNTING: Final = 20.0
"""The same for numbers, which take a while in a large study."""
MARKS: Final = 500
"""Cases that the plot of queries goes back to."""
ENOUGH: Final = 20
"""Cases that must have been learned from before the model is asked who sides with whom."""
PAIRS: Final = 2000
"""Cases that are looked at for who voted alike."""


@dataclass(frozen=True)
class Drawing:
    """A plot with what it shows in words."""

    name: str
    title: str
    description: str  # for those who cannot see it
    caption: str
    figure: Callable[[], Figure] = field(repr=False)


@dataclass
class Scene:
    """The plots of a study at one moment, each drawn when it is first wanted."""

    version: int
    at: float
    drawings: dict[str, Drawing]
    took: float = 0.0
    _svg: dict[str, tuple[str, str]] = field(default_factory=dict)

    def svg(self, name: str, *, dark: bool) -> str:
        """A plot as SVG, for a light or a dark page."""
        if name not in self.drawings:
            raise NotFoundError(f"no plot {name!r}; there are {', '.join(self.drawings)}")
        if name not in self._svg:
            begun = time.perf_counter()
            self._svg[name] = plots.themed_svg(self.drawings[name].figure(), name)
            self.took += time.perf_counter() - begun
        return self._svg[name][dark]


@dataclass(frozen=True)
class Count:
    """The numbers of a study at one moment."""

    board: Board
    at: float
    took: float


@dataclass
class Gallery:
    """The newest numbers and the newest scene of each study."""

    hall: Hall
    clock: Callable[[], float] = time.monotonic
    _scenes: dict[int, Scene] = field(default_factory=dict, init=False)  # by number: a name may pass to another study
    _counts: dict[int, Count] = field(default_factory=dict, init=False)
    _counting: threading.Lock = field(default_factory=threading.Lock, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)  # matplotlib draws one thing at a time

    def board(self, study: str) -> Board:
        """A study at a glance; of a moment ago if counting takes long. Whether it is of now, its version tells."""
        live = self.hall.study(study)
        with self._counting:
            found = self._counts.get(live.stored.id)
            if found is None or (
                found.board.version != live.version and self.clock() - found.at >= COUNTING * found.took
            ):
                begun = time.perf_counter()
                board = self.hall.board(study)
                found = self._counts[live.stored.id] = Count(board, self.clock(), time.perf_counter() - begun)
        worker = self.hall.worker
        now = replace(found.board.learning, running=worker.busy(study), problem=worker.problem(study))
        return replace(found.board, learning=now)

    def scene(self, study: str) -> Scene:
        """The plots of a study; those of a moment ago while they are fresh."""
        live = self.hall.study(study)
        version = live.version
        with self._lock:
            found = self._scenes.get(live.stored.id)
            if found is None or (found.version != version and not self._fresh(found)):
                found = self._scenes[live.stored.id] = Scene(
                    version, self.clock(), drawings_of(self.hall, self.board(study))
                )
            return found

    def _aged(self, count: Count) -> bool:
        return self.clock() - count.at >= COUNTING * count.took

    def _fresh(self, scene: Scene) -> bool:
        return self.clock() - scene.at < max(FRESH, SHARE * scene.took)

    def svg(self, study: str, name: str, *, dark: bool) -> str:
        """One plot of a study."""
        scene = self.scene(study)
        with self._lock:
            return scene.svg(name, dark=dark)


def drawings_of(hall: Hall, board: Board) -> dict[str, Drawing]:
    """The plots that a study has something to show in."""
    found = [_queries(board), _errors(board), _reliability(board), _load(board)]
    names, same, both, sides = hall.study(board.study).read(_together)
    if len(names) > 1:
        found.append(_sides(names, *sides) if sides is not None else _agreement(names, same, both))
    return {one.name: one for one in found if one is not None}


def _queries(board: Board) -> Drawing | None:
    shown = board.queries[-MARKS:]
    if not shown:
        return None
    saved = board.savings
    full = saved.panel_votes / saved.cases
    recent = float(plots.running_mean(np.array(shown, dtype=np.float64))[-1])
    return Drawing(
        "queries",
        "Votes a case, over time",
        f"Votes of {counted(len(shown), 'settled case')}; the last ones took {decimal(recent)} on average, "
        f"the whole panel has {decimal(full)}.",
        "Each mark is a settled case. The line falls as the study learns whom to ask.",
        lambda: plots.queries(shown, saved.cases - len(shown) + 1, full),
    )


def _errors(board: Board) -> Drawing | None:
    if board.stated_error is None:
        return None
    audit, stated = board.audit, board.stated_error
    found = (
        f"audits of {counted(audit.cases, 'case')} found {percent(audit.rate)}, 95 % interval {percent(audit.low)} "
        f"to {percent(audit.high)}"
        if audit.rate is not None
        else "no audit has finished"
    )
    return Drawing(
        "errors",
        "The error stated, and the error found",
        f"{percent(board.max_error)} is allowed, {percent(stated)} is stated on average, {found}.",
        "Audited cases are drawn blindly, and the whole panel votes on them. The stated error holds if it lies in the "
        "interval of the audited one.",
        lambda: plots.errors(stated, audit, board.max_error),
    )


def _reliability(board: Board) -> Drawing | None:
    audit = board.audit
    if not audit.bins:
        return None
    said = "; ".join(
        f"stated {percent(one.stated)}, right {percent(one.right)} of {counted(one.cases, 'case')}"
        for one in audit.bins
    )
    return Drawing(
        "reliability",
        "Is the stated probability true",
        f"Audited cases by how sure they were: {said}.",
        "Below the line quorate was surer than it should have been, above it less sure. Larger dots are more cases.",
        lambda: plots.reliability_diagram(audit),
    )


def _load(board: Board) -> Drawing:
    loads = [plots.Load(one.name, one.votes, one.open, one.passed) for one in board.experts]
    said = "; ".join(f"{one.expert} {count(one.votes)} votes, {one.open} waiting" for one in loads)
    return Drawing(
        "load",
        "Load of each expert",
        f"Votes and open questions: {said}.",
        "Votes cast, past ones that were imported included; questions that wait; and questions left without a vote.",
        lambda: plots.load(loads),
    )


Sides = tuple[Floats, Bools]
"""How far each pair sides with each other, and whether that is sure."""


def _together(study: Study) -> tuple[tuple[str, ...], Ints, Ints, Sides | None]:
    """Who voted alike how often, and who sides with whom where a model has learned it."""
    state, predictor = study.state, study.predictor
    names = state.panel.experts
    same, both = (np.zeros((len(names), len(names)), dtype=np.int64) for _ in range(2))
    for case in state.history.cases[-PAIRS:]:
        for (h, vote), (g, other) in combinations(case.votes, 2):
            for pair in ((h, g), (g, h)):
                both[pair] += 1
                same[pair] += vote == other
    if state.learned < ENOUGH or not isinstance(predictor, Portrayable) or predictor.panel.experts != names:
        return names, same, both, None
    weight, values = predictor.siding()
    found = spread(values, weight)
    return names, same, both, (found[..., 0], (found[..., 1] > 0) | (found[..., 2] < 0))


def _sides(names: tuple[str, ...], values: Floats, sure: Bools) -> Drawing:
    h, g = max(combinations(range(len(names)), 2), key=lambda pair: float(values[pair]))
    return Drawing(
        "agreement",
        "Who sides with whom",
        f"Siding of each pair of experts beyond the evidence; the largest is {values[h, g]:.2f}, "
        f"of {names[h]} and {names[g]}.",
        "How alike two experts vote once the evidence that all of them see is taken out: near 1 as one, near 0 "
        "independently, below 0 against each other. Bold: the 95 % interval leaves 0 out.",
        lambda: plots.siding(names, values, sure),
    )


def _agreement(names: tuple[str, ...], same: Ints, both: Ints) -> Drawing | None:
    pairs = [pair for pair in combinations(range(len(names)), 2) if both[pair]]
    if not pairs:
        return None
    said = "; ".join(
        f"{names[h]} and {names[g]} {percent(float(same[h, g] / both[h, g]))} of {both[h, g]}" for h, g in pairs
    )
    return Drawing(
        "agreement",
        "Who votes alike",
        f"Share of the cases that both voted on in which they voted alike: {said}.",
        "Counted from the votes so far. Once the study has learned enough, who sides with whom beyond the evidence "
        "is shown instead.",
        lambda: plots.agreement(names, same, both),
    )
