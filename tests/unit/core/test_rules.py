"""Rules of a study: never exceeded, never ignored, and what wins where two of them collide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.core.case import Case
from quorate.core.decision import Decision, Query, Settle, decide
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.panel import Panel
from quorate.core.rules import NO_RULES, Rules
from quorate.errors import SettingsError
from quorate.policy.information import PanelOrder, RandomOrder
from quorate.policy.stopping import ErrorBelow, VotesSeen

PANEL = Panel(["a", "b"], ["ann", "ben", "cho"], costs={"ann": 3.0})
CASE = Case("c", (None,), (True, True, True))
UNSURE = Forecast(("a", "b"), ("a", "b"), (0.8, 0.2), {}, PANEL.experts)
SURE = replace(UNSURE, values=(0.999, 0.001))
CERTAIN = replace(UNSURE, values=(1.0, 0.0), candidates=(), certain=True)
ILL = replace(SURE, health=Health(reasons=("ill",)))


def step(
    forecast: Forecast, rules: Rules = NO_RULES, votes: tuple[int, ...] = (), left: float | None = None
) -> Decision:
    case = replace(CASE, votes=tuple((expert, 0) for expert in votes))
    forecast = replace(forecast, candidates=tuple(e for e in forecast.candidates if PANEL.expert(e) not in votes))
    parts = {"panel": PANEL, "forecast": forecast, "chooser": PanelOrder(), "stopper": ErrorBelow(0.01)}
    return decide(np.random.default_rng(0), case, **parts, rules=rules, left=left)  # type: ignore[arg-type]  # by name


def told(found: Decision) -> tuple[str, str]:
    return (found.expert if isinstance(found, Query) else "settle", found.reason)


@pytest.mark.parametrize("forecast", [SURE, CERTAIN, ILL], ids=["sure", "certain", "ill"])
def test_what_must_be_asked_is_asked_however_sure_it_is(forecast: Forecast) -> None:
    assert told(step(forecast, Rules(min_votes=2), votes=(0,))) == ("ben", "rule")
    assert told(step(forecast, Rules(required=("cho",)), votes=(0,))) == ("cho", "rule")


def test_a_case_settles_once_the_rules_are_kept() -> None:
    rules = Rules(min_votes=2, required=("cho",))
    assert told(step(SURE, rules, votes=(0, 1))) == ("cho", "rule")
    assert told(step(SURE, rules, votes=(2,))) == ("ann", "rule")
    assert told(step(SURE, rules, votes=(2, 1))) == ("settle", "sure")
    assert told(step(CERTAIN, rules, votes=(2, 1))) == ("settle", "certain")


def test_whoever_is_required_is_asked_before_the_others() -> None:
    assert told(step(UNSURE, Rules(required=("cho",)))) == ("cho", "unsure")
    assert told(step(UNSURE, Rules(required=("cho", "ben"), max_votes=2))) == ("ben", "unsure")
    assert told(step(UNSURE, Rules(required=("cho",)), votes=(2,))) == ("ann", "unsure")


def test_a_small_panel_and_absent_experts_excuse() -> None:
    case = replace(CASE, available=(True, False, True))
    rules = Rules(min_votes=3, required=("ben",))
    assert rules.terms(PANEL, case).due
    full = case.with_vote(0, 0).with_vote(2, 0)
    assert not rules.terms(PANEL, full).due
    assert not rules.terms(PANEL, full).short


@pytest.mark.parametrize("forecast", [UNSURE, ILL], ids=["unsure", "ill"])
def test_the_limit_settles_what_is_not_sure_and_marks_it(forecast: Forecast) -> None:
    found = step(forecast, Rules(max_votes=1), votes=(0,))
    assert told(found) == ("settle", "limit")
    assert isinstance(found, Settle)
    assert (found.kept, found.limited) == (False, True)


def test_the_limit_is_no_reason_where_there_is_a_better_one() -> None:
    for forecast, reason in ((SURE, "sure"), (CERTAIN, "certain")):
        found = step(forecast, Rules(max_votes=1), votes=(0,))
        assert told(found) == ("settle", reason)
        assert isinstance(found, Settle)
        assert (found.kept, found.limited) == (True, False)


def test_only_who_can_be_paid_is_asked() -> None:
    assert told(step(UNSURE, Rules(budget=9), left=2.0)) == ("ben", "unsure")
    assert told(step(UNSURE, Rules(budget=9), left=3.0)) == ("ann", "unsure")
    found = step(UNSURE, Rules(budget=9), left=0.5)
    assert told(found) == ("settle", "budget")
    assert isinstance(found, Settle)
    assert not found.kept


def test_the_budget_wins_over_what_must_be_asked() -> None:
    required, least = Rules(required=("ann",), budget=9), Rules(min_votes=2, budget=9)
    for rules, left in ((required, 2.0), (least, 0.5)):
        found = step(SURE, rules, votes=(1,), left=left)
        assert told(found) == ("settle", "budget")
        assert isinstance(found, Settle)
        assert found.kept  # the stated error is small enough all the same
    assert told(step(UNSURE, required, left=2.0)) == ("ben", "unsure")  # nothing is held back for whom nobody can pay


def test_votes_that_nobody_asked_for_can_use_up_the_room() -> None:
    found = step(SURE, Rules(required=("cho",), max_votes=2), votes=(0, 1))
    assert told(found) == ("settle", "limit")


def test_a_budget_of_tenths_is_spent_to_the_last() -> None:
    panel = PANEL.priced([0.1, 0.1, 0.1])
    rules = Rules(budget=0.3)
    left = rules.left(0.1 + 0.1)
    assert left is not None
    assert left < 0.1
    assert rules.terms(panel, CASE, left).allowed == panel.experts


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"min_votes": -1}, "min_votes -1 is out of range; expected a whole number of at least 0"),
        ({"min_votes": 1.5}, "min_votes 1.5 is out of range"),
        ({"max_votes": -2}, "max_votes -2 is out of range"),
        ({"min_votes": 3, "max_votes": 2}, "min_votes 3 is more than max_votes 2"),
        ({"required": ["a", "b"], "max_votes": 1}, "required names 2 experts, more than max_votes 1"),
        ({"required": "ann"}, "required must be a list of names"),
        ({"budget": -1.0}, "budget -1 is out of range"),
        ({"budget": float("nan")}, "budget nan is out of range"),
        ({"budget": float("inf")}, "budget inf is out of range"),
        ({"required": ["zed"]}, "required names no expert 'zed'; the panel has ann, ben, cho"),
        ({"min_votes": 4}, "min_votes 4 is more than the panel has: 3 experts"),
    ],
)
def test_rules_that_cannot_be_kept_are_refused(rules: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Rules(**rules).check(PANEL)  # type: ignore[arg-type]  # some are wrong on purpose


NAMES = ("ann", "ben", "cho", "dee", "eli")


@st.composite
def rules_of(draw: st.DrawFn, experts: tuple[str, ...]) -> Rules:
    """Any rules that a panel can keep to."""
    required = tuple(draw(st.lists(st.sampled_from(experts), unique=True, max_size=len(experts))))
    least = draw(st.integers(0, len(experts)))
    most = draw(st.none() | st.integers(max(least, len(required)), len(experts) + 1))
    budget = draw(st.none() | st.integers(0, 25))
    return Rules(least, required, most, budget)


def any_forecast(rng: np.random.Generator, panel: Panel, case: Case) -> Forecast:
    """A forecast of anything: unsure, sure, ill, or certain."""
    p = float(rng.choice([0.5, 0.8, 0.995, 1.0]))
    unasked = [panel.experts[h] for h in case.unasked]
    certain = not unasked or rng.random() < 0.2
    candidates = () if certain else tuple(name for name in unasked if rng.random() < 0.8)
    health = Health(reasons=("ill",) if rng.random() < 0.3 else ())
    return Forecast(("a", "b"), ("a", "b"), (p, 1 - p), {}, candidates, certain=certain, health=health)


@settings(max_examples=300, deadline=None)
@given(data=st.data(), experts=st.integers(1, 5), seed=st.integers(0, 2**32 - 1), counted=st.booleans())
def test_rules_hold_over_whole_streams(data: st.DataObject, experts: int, seed: int, counted: bool) -> None:
    rng = np.random.default_rng(seed)
    panel = Panel(["a", "b"], NAMES[:experts], costs=[1.0, *rng.integers(0, 4, experts - 1).tolist()])
    rules = data.draw(rules_of(panel.experts))
    stopper = VotesSeen(int(rng.integers(0, experts + 1))) if counted else ErrorBelow(0.01)
    in_flight = int(rng.integers(1, 4))
    spent = 0.0
    for number in range(4):
        there = rng.random(experts) < 0.7
        there[rng.integers(experts)] = True
        case = Case(f"case-{number}", (None,), tuple(there.tolist()))
        while True:
            forecast, left = any_forecast(rng, panel, case), rules.left(spent)
            found = decide(
                *(rng, case),
                panel=panel,
                forecast=forecast,
                chooser=RandomOrder(),
                stopper=stopper,
                rules=rules,
                left=left,
                in_flight=in_flight,
            )
            if isinstance(found, Settle):
                break
            assert isinstance(found, Query)  # nothing is pending
            assert found.batch[0] == found.expert
            assert set(found.gains) <= {panel.experts[h] for h in case.unasked}
            assert len(found.batch) == len(set(found.batch)) <= in_flight
            for name in found.batch:
                case = case.with_vote(panel.expert(name), int(rng.integers(2)))
                spent += panel.costs[panel.expert(name)]
        check_settled(found, case, panel, rules, left)
    assert spent <= (np.inf if rules.budget is None else rules.budget)


def check_settled(found: Settle, case: Case, panel: Panel, rules: Rules, left: float | None) -> None:
    unasked = [panel.experts[h] for h in case.unasked]
    payable = [e for e in unasked if left is None or panel.costs[panel.expert(e)] <= left]
    votes = len(case.votes)
    assert votes <= (len(panel.experts) if rules.max_votes is None else rules.max_votes)
    if votes < min(rules.min_votes, sum(case.available)):
        assert (found.reason, payable) == ("budget", [])
    for name in rules.required:
        if name in unasked:
            assert found.reason in ("budget", "limit")
            assert name not in payable
    if found.reason == "limit":
        assert votes == rules.max_votes
    if found.reason == "budget":
        assert len(payable) < len(unasked)
    if not found.kept:
        assert found.reason in ("limit", "budget", "nobody left")
        assert found.reason != "nobody left" or not found.forecast.candidates
