"""Events of every kind, and studies in which much has happened."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from quorate.assembly import Options
from quorate.core.case import Case, Show
from quorate.core.decision import Query
from quorate.core.health import Health
from quorate.core.panel import Panel
from quorate.core.settings import EvidenceSettings
from quorate.storage.config import StudyConfig
from quorate.study.events import (
    Abstained,
    Adopted,
    Amended,
    Audited,
    Away,
    Back,
    Event,
    Expired,
    Imported,
    Joined,
    Leased,
    Opened,
    Reopened,
    Replaced,
    Restored,
    Retired,
    Returned,
    Settled,
    Voted,
    Why,
    Withdrawn,
)
from quorate.study.study import Study

PANEL = Panel(["normal", "abnormal"], ["ann", "ben", "cho"], ["net"], costs={"ann": 2.5})
COUNTING = StudyConfig(PANEL, Options(method="until-determined"))
LEARNING = StudyConfig(PANEL, Options(settings=EvidenceSettings(particles=64)), seed=7)

CASE = Case("Fall 1 \u2013 ö/é\u2028", ((0.1 + 0.2, 0.7),), (True, True, True))
EVERY_KIND: tuple[Event, ...] = (
    Opened(CASE, audit=True, show=Show(text="<b>one</b>\n", link="https://example.org/?a=1&b=2")),
    Leased(CASE.key, 0, 1.75e9, Why("unsure", "abnormal", 0.25, "bits", ((2, 0.5), (0, 1e-17)))),
    Expired(CASE.key, 0),
    Leased(CASE.key, 1),
    Voted(CASE.key, 1, 0),
    Amended(CASE.key, 1, 1),
    Abstained(CASE.key, 2),
    Audited(CASE.key, "abnormal", 0.99, 0.01, "sure", kept=True, human_votes=1, interval=(0.9, 1.0)),
    Settled(CASE.key, "abnormal", 0.995, 0.005, "certain", human_votes=1),
    Withdrawn(CASE.key, 1),
    Reopened(CASE.key, whole=True),
    Imported(Case("past", (None,), (True, False, True), ((0, 1), (2, 0)))),
    Away(0),
    Back(0),
    Adopted(1, 12, 1, Health(("R-hat inf is above 1.05",), math.inf, 12.5, None, 3), "ab" * 32),
    Joined("dee", 0.5),
    Retired(0),
    Returned(0),
    Replaced(0, "vit"),
    Restored(1, 0),
)
"""In an order in which they could happen."""


class Ticking:
    """A clock that goes on by a second whenever it is read."""

    def __init__(self) -> None:
        self.moment = datetime(2025, 3, 30, 0, 59, 57, 5, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.moment += timedelta(seconds=1)
        return self.moment


def lived(study: Study) -> None:
    """Let most of what can happen happen to a study that counts votes."""
    study.import_case("past-1", {"net": [0.3, 0.7]}, {"ann": "abnormal", "cho": "normal"})
    study.open("plain", {"net": [0.2, 0.8]}, show=Show(text="look"))
    for expert in ("ann", "ben"):
        study.lease("plain", expert, until=2e9)
        study.tell("plain", expert, "abnormal")
    study.settle("plain")
    study.tell("plain", "cho", "normal")  # late
    study.open("doubtful", {"net": [0.5, 0.5]}, audit=True)
    study.lease("doubtful", "ann", "ben")
    study.expire("doubtful", "ann")
    study.tell("doubtful", "ben", "normal")
    study.tell("doubtful", "ben", "abnormal", amend=True)
    study.withdraw("doubtful", "ben")
    study.open("again", {"net": None})
    study.abstain("again", "cho")
    for expert in ("ben", "ann"):
        study.tell("again", expert, "normal")
    study.settle("again")
    study.reopen("again", whole=True)
    study.away("cho")
    study.back("cho")
    study.add_expert("dee", cost=0.5)
    study.retire_expert("ann")
    study.replace_classifier("net", "vit")
    study.open("new", {"vit": [0.9, 0.1]})
    study.lease("new", "dee")


def learned(study: Study, first: int, last: int) -> None:
    """Some cases of a study that learns: asked, settled, and each fit adopted."""
    for number in range(first, last):
        key, p = f"case-{number}", (0.15 + 0.37 * number) % 1.0
        study.open(key, {study.classifiers[0]: [1 - p, p]})
        step = study.ask(key)
        while isinstance(step, Query):
            study.tell(key, step.expert, "abnormal" if p > 0.4 else "normal")
            step = study.ask(key)
        study.settle(key)
        job = study.due()
        assert job is not None
        study.adopt(job, job.run())
