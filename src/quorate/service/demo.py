"""A study to look at: pictures of dots, four experts who are simulated, and a seat for you.

Which colour has more dots? The simulated experts vote by a table of synthetic votes, the classifier's probabilities
come from it too, and the pictures are drawn so that what divides them is hard to see.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from fastapi import APIRouter
from fastapi.responses import Response

from quorate.assembly import Options
from quorate.core.case import Show
from quorate.core.panel import Panel
from quorate.core.rules import Rules
from quorate.data.synthetic import simulate
from quorate.data.table import Table
from quorate.errors import NotFoundError, QuorateError
from quorate.service.arrivals import Arrival
from quorate.service.hall import Hall
from quorate.service.live import LiveStudy
from quorate.storage.config import ServiceSettings, StudyConfig
from quorate.study.study import Study

LOG = logging.getLogger("quorate.service")
NAME = "demo"
YOU = "you"
CLASSES = ("blue", "orange")
PLAYERS = ("ada", "ben", "chi", "dev")
CASES = 2000
BEFORE = 60
"""Cases that have settled before anybody looks, so that there is something to see."""
EVERY = 2.5
"""Seconds between two new cases."""
PAUSE = 0.2
"""Seconds between two looks at what is to be done."""
LEASE = 60.0
"""Seconds after which a question lapses: whoever only watches must not hold up the rest."""
THINKING = (0.6, 4.0)
"""Shortest and longest time that a simulated expert takes."""
DOTS = 110
COLOURS = {"blue": "#2f6fb3", "orange": "#d9822b"}
ABOUT = "Which colour has more dots? Four experts are simulated; one seat is yours."

pictures = APIRouter(include_in_schema=False)


@cache
def votes() -> Table:
    """What everybody would vote, had they all been asked."""
    rng = np.random.default_rng(20)
    return simulate(
        rng,
        experts=(*PLAYERS, YOU),
        classes=CLASSES,
        cases=CASES,
        classifiers=("counter",),
        skill=(0.95, 0.92, 0.93, 0.9, 0.94),
        classifier_skill=0.88,
        correlation=0.3,
    )


def key_of(row: int) -> str:
    """The key of a case."""
    return f"dots-{row + 1:04d}"


def row_of(key: str) -> int:
    """The case of a key."""
    number = key.removeprefix("dots-")
    if not (key.startswith("dots-") and len(number) == 4 and number.isascii() and number.isdigit()):
        raise NotFoundError(f"no picture {key!r}")
    if not 1 <= int(number) <= CASES:
        raise NotFoundError(f"no picture {key!r}")
    return int(number) - 1


def config() -> StudyConfig:
    """The demo's study."""
    panel = votes().panel
    return StudyConfig(
        Panel(panel.classes, panel.experts, panel.classifiers),
        Options(max_error=0.02, rules=Rules(min_votes=1)),
        service=ServiceSettings(lease_seconds=LEASE, max_open=3, audit_share=0.1, about=ABOUT),
    )


def arrival(row: int) -> Arrival:
    """A case of the demo as it comes in."""
    (probabilities,) = votes().case(row).probabilities
    show = Show(text="Are there more blue or more orange dots?", image=f"/demo/{key_of(row)}.svg")
    return Arrival(key_of(row), {"counter": probabilities}, show=show)


def told(expert: str, key: str) -> str:
    """What an expert votes."""
    table = votes()
    return table.panel.classes[int(table.votes[row_of(key), table.panel.expert(expert)])]


def guessed(study: Study, key: str) -> str | None:
    """A vote on a case that somebody else has opened, drawn by what a classifier says; None where none does."""
    given = next((row for row in study.state.known(key).probabilities if row is not None), None)
    if given is None:
        return None
    return random.choices(study.panel.classes, given)[0]  # noqa: S311  # a simulation


def is_ours(key: str) -> bool:
    """Whether a case is one of the demo's own."""
    try:
        row_of(key)
    except NotFoundError:
        return False
    return True


@pictures.get("/demo/{name}.svg")
def picture(name: str) -> Response:
    """The dots of a case: the more the panel agrees, the clearer they are."""
    row = row_of(name)
    for_second = float((votes().votes[row] == 1).mean())
    share = 0.5 + 0.35 * (for_second - 0.5)
    rng = random.Random(row)  # noqa: S311  # a drawing
    colours = [COLOURS[CLASSES[1]]] * round(share * DOTS) + [COLOURS[CLASSES[0]]] * (DOTS - round(share * DOTS))
    rng.shuffle(colours)
    dots = "".join(
        f'<circle cx="{rng.uniform(4, 96):.1f}" cy="{rng.uniform(4, 96):.1f}" r="{rng.uniform(1.2, 2.6):.1f}" '
        f'fill="{colour}"/>'
        for colour in colours
    )
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">'
        f'<rect width="100" height="100" fill="#f6f4ef"/>{dots}</svg>'
    )
    return Response(svg, media_type="image/svg+xml", headers={"Cache-Control": "max-age=3600"})


@dataclass
class Demo:
    """Keeps the demo going: cases arrive, and simulated experts vote on what they are asked."""

    hall: Hall
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _thinking: dict[tuple[str, str], float] = field(default_factory=dict)  # when each question is answered
    _row: int = 0  # the next case
    _due: float = 0.0  # and when it comes

    def start(self) -> None:
        """Make the study if it is not there, and begin."""
        self._thread = threading.Thread(target=self._run, name="quorate-demo", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End; the study stays."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            live = self._opened()
            trouble = None
            while not self._stop.wait(PAUSE):
                try:
                    self._go_on(live, time.monotonic())
                except NotFoundError:
                    raise
                except QuorateError as error:  # somebody was faster, or the database is away: another time
                    if trouble != str(error):  # said once
                        LOG.warning("the demo could not go on", extra={"fields": {"why": str(error)}})
                    trouble = str(error)
        except QuorateError as error:  # the study is gone, or another one has its name: the service goes on without it
            LOG.warning("the demo has ended", extra={"fields": {"why": str(error)}})

    def _go_on(self, live: LiveStudy, now: float) -> None:
        """Answer what is due, and open the next case when its time has come."""
        self._answer(live, now)
        if now < self._due or live.desk.waiting >= 3:
            return
        known = live.read(lambda study: study.state.places)
        while self._row < CASES and key_of(self._row) in known:
            self._row += 1
        if self._row < CASES:
            self._due = now + EVERY
            live.open([arrival(self._row)])

    def _opened(self) -> LiveStudy:
        if NAME in self.hall.names():
            return self.hall.study(NAME)
        live = self.hall.create(NAME, config())
        admins = [user for user in self.hall.access.accounts.users() if user.role == "admin"]
        if admins:  # who starts a demo wants to vote in it
            self.hall.access.accounts.give_seat(admins[0].id, NAME, YOU)
        for row in range(BEFORE):
            if self._stop.is_set():
                break
            live.open([arrival(row)])
            key = key_of(row)
            while live.study.state.open_case(key) is not None:
                for expert in live.study.pending(key):
                    live.vote(key, expert, told(expert, key))
        return live

    def _answer(self, live: LiveStudy, now: float) -> None:
        """Vote on every question whose time has come."""
        for expert in PLAYERS:
            for question in live.questions(expert):
                place = (expert, question.case)
                ready = self._thinking.setdefault(place, now + random.uniform(*THINKING))  # noqa: S311  # a pause
                if now >= ready:
                    del self._thinking[place]
                    self._tell(live, expert, question.case)
                    break  # one thing at a time
        live.refill()

    def _tell(self, live: LiveStudy, expert: str, key: str) -> None:
        """A simulated expert votes, or abstains from a case of which nothing is known."""
        vote = told(expert, key) if is_ours(key) else live.read(lambda study: guessed(study, key))
        if vote is None:
            live.abstain(key, expert)
        else:
            live.vote(key, expert, vote)
