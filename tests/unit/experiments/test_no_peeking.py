"""A method behind the protocols sees no vote that it did not ask for, and cannot know the target's value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from quorate.assembly import Options, plan, read_target
from quorate.baselines.simple import VotesSoFar
from quorate.core.case import Case
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.history import History
from quorate.core.protocols import Predictor, Target
from quorate.core.settings import EvidenceSettings, Settings
from quorate.data.synthetic import simulate
from quorate.data.table import Table
from quorate.experiments import replay as module
from quorate.experiments.replay import replay
from quorate.study.method import Method

QUICK = Settings(chains=2, warmup=50, draws=100, extensions=0, latents=2000, max_rhat=9.0, min_ess=1.0)


def flipped(table: Table, asked: list[set[str]]) -> Table:
    """The same table with every vote that was not asked for changed."""
    votes = table.votes.copy()
    for row, names in enumerate(asked):
        for h, name in enumerate(table.panel.experts):
            if name not in names and votes[row, h] >= 0:
                votes[row, h] = 1 - votes[row, h]
    return replace(table, votes=votes)


@pytest.mark.parametrize(
    "options",
    [
        Options(max_error=0.1, settings=EvidenceSettings(particles=64)),
        Options(method="bayes:paper", max_error=0.1, settings=QUICK),
        Options(method="majority:2", chooser="random"),
        Options(method="infexp", max_error=0.1),
        Options(method="confusion", max_error=0.1),
        Options(method="classifier"),
    ],
    ids=lambda options: options.method,
)
def test_votes_that_were_not_asked_for_change_nothing(options: Options) -> None:
    table = simulate(np.random.default_rng(1), experts=4, classes=2, cases=15, missing=0.1)
    seen = replay(table, options=options)
    hidden = flipped(table, [set(case.asked) for case in seen.scored])
    assert (hidden.votes != table.votes).any()
    again = replay(hidden, options=options)
    for one, two in zip(seen.scored, again.scored, strict=True):
        assert (one.asked, one.votes, one.outcome, one.stated_error) == (
            two.asked,
            two.votes,
            two.outcome,
            two.stated_error,
        )


@dataclass
class Spy:
    """A learner and predictor that keeps whatever it is handed."""

    inner: VotesSoFar
    cases: list[Case] = field(default_factory=list)
    histories: list[History] = field(default_factory=list)

    @property
    def health(self) -> Health:
        return Health()

    def update(self, rng: np.random.Generator, history: History, previous: Predictor | None) -> Predictor:
        self.histories.append(history)
        return self

    def forecast(self, rng: np.random.Generator, case: Case, target: Target) -> Forecast:
        self.cases.append(case)
        return self.inner.forecast(rng, case, target)


def test_all_that_a_method_is_handed_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    table = simulate(np.random.default_rng(2), experts=4, classes=3, cases=12, missing=0.1)
    aim = read_target("consensus", table.panel)
    counting = plan(table.panel, Options(method="majority:2", chooser="random"), aim)
    spy = Spy(VotesSoFar(table.panel, on=True))
    method: Method = replace(counting.method, learner=spy, schedule=lambda settled: settled > 0)
    monkeypatch.setattr(module, "plan", lambda *_: replace(counting, method=method))
    report = replay(table)
    asked = {case.key: dict(zip(case.asked, case.votes, strict=True)) for case in report.scored}
    handed = [*spy.cases, *(case for history in spy.histories for case in history)]
    assert len(handed) > 50
    for case in handed:
        for expert, vote in case.votes:
            assert asked[case.key][table.panel.experts[expert]] == table.panel.classes[vote]
    # and what is handed out never refers to the table it came from
    assert not any(value is table.votes for case in handed for value in vars(case).values())
