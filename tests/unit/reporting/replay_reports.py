"""Reports to test with: a small replay whose figures are known."""

from collections.abc import Sequence
from html.parser import HTMLParser

import numpy as np

from quorate.assurance.scored import Scored
from quorate.assurance.summary import summarise
from quorate.models.portrait import Portrait
from quorate.models.worth import Worth
from quorate.reporting.replay import Correlation, ReplayReport, SamplerFigures, Timing

CLASSES = ("normal", "abnormal")


def scored_case(
    t: int,
    asked: Sequence[str] = (),
    *,
    outcome: str = "normal",
    truth: Sequence[str] = ("normal",),
    stated: float = 0.004,
) -> Scored:
    error = 1.0 if outcome not in truth else 1.0 - 1.0 / len(truth)
    votes = (outcome,) * len(asked)
    return Scored(
        f"case-{t}",
        tuple(asked),
        votes,
        outcome,
        1.0 - stated,
        stated,
        "sure",
        tuple(truth),
        error,
        panel=3,
        cost=float(len(asked)),
        panel_cost=3.0,
        rounds=len(asked),
    )


def small_report(experts: tuple[str, ...] = ("ann", "ben", "cho"), classes: tuple[str, ...] = CLASSES) -> ReplayReport:
    """Ten cases: one wrong, one tied, two without a human vote, twelve queries."""
    a, b, c = experts
    one, two = classes[:2]
    cases = [
        scored_case(0, (a, b, c), outcome=one, truth=(one,), stated=0.0),
        scored_case(1, (b, a), outcome=one, truth=(one,)),
        scored_case(2, (b, a), outcome=two, truth=(two,), stated=0.0005),
        scored_case(3, (b,), outcome=one, truth=(two,), stated=0.008),
        scored_case(4, (), outcome=one, truth=(one,)),
        scored_case(5, (b,), outcome=one, truth=(one,)),
        scored_case(6, (c,), outcome=one, truth=(one, two), stated=0.5),
        scored_case(7, (b,), outcome=two, truth=(two,)),
        scored_case(8, (), outcome=one, truth=(one,), stated=0.009),
        scored_case(9, (b,), outcome=one, truth=(one,)),
    ]
    agents = ("net", *experts)
    side = len(agents) * (len(classes) - 1)
    omega = np.full((side, side), 0.25) + 0.75 * np.eye(side)
    return ReplayReport(
        title="Replay of small.csv",
        method="bayes",
        settings={"preset": "paper", "max_error": 0.01, "window": None, "temperature": True},
        summary=summarise(cases, experts=experts, outcomes=classes),
        scored=tuple(cases),
        experts=experts,
        classes=classes,
        outcomes=classes,
        max_error=0.01,
        sampler=SamplerFigures(fits=9, worst_rhat=1.012, worst_ess=321.4, unhealthy_fits=1),
        timing=Timing(12.5, 11.0, 1.25, 33.0),
        correlation=Correlation(agents, classes, omega),
    )


def small_portrait(
    experts: tuple[str, ...] = ("ann", "ben", "cho"), classes: tuple[str, ...] = CLASSES, classifiers: int = 1
) -> Portrait:
    """Ann and ben side with each other, cho stands alone; skills rise from expert to expert."""
    many, kinds = len(experts), len(classes)
    value = 0.7 + 0.2 * np.add.outer(np.arange(many), 0.1 * np.arange(kinds)) / many
    siding = np.zeros((many, many, 3))
    siding[:, :] = [0.0, -0.2, 0.2]
    if many > 1:
        siding[0, 1] = siding[1, 0] = [0.5, 0.25, 0.75]
    return Portrait(
        experts=experts,
        classes=classes,
        classifiers=tuple(f"net-{m}" for m in range(classifiers)),
        cases=10,
        skill=np.stack([value, value - 0.1, value + 0.05], axis=-1),
        siding=siding,
        together=np.where(siding[..., 0] > 0, 0.99, 0.5),
        worth=Worth(np.array([1.4, 0.9, 1.9]), 0.31, (0.0, 0.25, 0.4)),
    )


VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """A page read strictly: every element must be closed where it was opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).replace("\u00a0", " ").split())

    def attributes(self, name: str) -> list[str]:
        return [value for _, attrs in self.tags if (value := attrs.get(name)) is not None]
