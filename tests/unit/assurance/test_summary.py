"""The figures of a replay against cases counted by hand."""

import dataclasses
import math

import pytest
from scipy.stats import binom

from quorate.assurance.scored import Scored
from quorate.assurance.summary import Asked, ClassError, exact_interval, is_wrong, running_mean, summarise
from quorate.errors import InputError

EXPERTS = ("ann", "ben", "cho")
OUTCOMES = ("no", "yes")


def case(
    key: str,
    asked: tuple[str, ...],
    outcome: str,
    truth: tuple[str, ...],
    *,
    stated: float = 0.01,
    panel: int = 3,
    forced: int = 0,
) -> Scored:
    error = 1.0 - 1.0 / len(truth) if outcome in truth else 1.0
    return Scored(
        key=key,
        asked=asked,
        votes=("yes",) * len(asked),
        outcome=outcome,
        probability=1.0 - stated,
        stated_error=stated,
        reason="sure",
        truth=truth,
        error=error,
        panel=panel,
        cost=float(len(asked)),
        panel_cost=float(panel),
        forced_asks=forced,
    )


FOUR = (
    case("a", ("ann", "ben"), "yes", ("yes",), stated=0.02),
    case("b", ("ben",), "yes", ("no",), stated=0.04, panel=2),
    case("c", (), "no", ("no",), stated=0.0),
    case("d", ("ben", "ann", "cho"), "no", ("no", "yes"), stated=0.5, forced=2),
)


def test_every_figure_of_four_cases_counted_by_hand() -> None:
    found = summarise(FOUR, experts=EXPERTS, outcomes=OUTCOMES)
    assert (found.cases, found.cost, found.full_panel_cost) == (4, 6, 11)
    assert found.mean_queries == 1.5
    assert found.full_panel_queries == 11 / 4
    assert found.saved_share == pytest.approx(5 / 11)
    assert (found.errors, found.ties, found.decided) == (1, 1, 3)
    assert found.error_rate == pytest.approx((0 + 1 + 0 + 0.5) / 4)
    assert found.stated_error == pytest.approx((0.02 + 0.04 + 0.0 + 0.5) / 4)
    assert (found.no_human, found.no_human_share) == (1, 0.25)
    assert found.forced_asks == 2
    assert found.running_queries == (2.0, 1.5, 1.0, 1.5)


def test_costs_are_counted_beside_votes() -> None:
    dear = [dataclasses.replace(one, cost=2.5 * one.cost, panel_cost=20.0) for one in FOUR]
    found = summarise(dear, experts=EXPERTS, outcomes=OUTCOMES)
    assert (found.votes, found.cost, found.full_panel_votes, found.full_panel_cost) == (6, 15.0, 11, 80.0)
    assert found.saved_share == 1 - 15 / 80
    assert found.mean_queries == 1.5
    free = [dataclasses.replace(one, cost=0.0, panel_cost=0.0) for one in FOUR]
    assert summarise(free, experts=EXPERTS, outcomes=OUTCOMES).saved_share == 0.0


def test_ece_counts_a_tie_as_the_share_that_is_right() -> None:
    # bins of width 1/15: {0.98, 0.96, 1.0} with two of three right, and {0.5} with half of it right
    found = summarise(FOUR, experts=EXPERTS, outcomes=OUTCOMES)
    assert found.ece == pytest.approx(3 / 4 * abs((0.98 + 0.96 + 1.0) / 3 - 2 / 3))


def test_parts_are_in_the_given_order_and_leave_ties_out() -> None:
    found = summarise(FOUR, experts=EXPERTS, outcomes=OUTCOMES)
    assert found.by_outcome == (ClassError("no", 2, 1), ClassError("yes", 1, 0))
    assert found.by_expert == (
        Asked("ann", (1, 1, 0), 2 / 6),
        Asked("ben", (2, 1, 0), 3 / 6),
        Asked("cho", (0, 0, 1), 1 / 6),
    )
    assert [a.cases for a in found.by_expert] == [2, 3, 1]


def test_first_and_last_fifty() -> None:
    many = [case(str(t), EXPERTS[: 3 if t < 50 else 1], "yes", ("yes",)) for t in range(120)]
    found = summarise(many, experts=EXPERTS, outcomes=OUTCOMES)
    assert (found.queries_first_50, found.queries_last_50) == (3.0, 1.0)
    few = summarise(many[45:55], experts=EXPERTS, outcomes=OUTCOMES)
    assert few.queries_first_50 == few.queries_last_50 == few.mean_queries == 2.0


def test_nobody_asked_at_all() -> None:
    found = summarise([case("a", (), "yes", ("yes",))], experts=EXPERTS, outcomes=OUTCOMES)
    assert (found.cost, found.saved_share, found.no_human_share) == (0, 1.0, 1.0)
    assert found.by_expert[0] == Asked("ann", (), 0.0)
    assert found.by_outcome[0].rate is None


def test_no_case_is_refused() -> None:
    with pytest.raises(InputError, match="no settled case"):
        summarise([], experts=EXPERTS, outcomes=OUTCOMES)


def test_a_tied_case_is_never_wrong() -> None:
    tied = case("a", (), "yes", ("no", "yes"))
    assert not is_wrong(tied)
    assert is_wrong(dataclasses.replace(tied, truth=("no",)))


@pytest.mark.parametrize(("errors", "cases"), [(0, 30), (3, 40), (17, 20), (20, 20)])
def test_exact_interval_solves_the_binomial_tails(errors: int, cases: int) -> None:
    low, high = exact_interval(errors, cases)
    if errors > 0:
        assert binom.sf(errors - 1, cases, low) == pytest.approx(0.025, rel=1e-6)
    if errors < cases:
        assert binom.cdf(errors, cases, high) == pytest.approx(0.025, rel=1e-6)
    assert low <= errors / cases <= high


def test_exact_interval_of_nothing_is_everything() -> None:
    assert exact_interval(0, 0) == (0.0, 1.0)


def test_running_mean_is_the_mean_of_each_window() -> None:
    values = [1.0, 5.0, 0.0, 2.0, 7.0]
    by_hand = [math.fsum(values[max(0, t - 2) : t + 1]) / min(t + 1, 3) for t in range(5)]
    assert running_mean(values, window=3) == pytest.approx(by_hand)
