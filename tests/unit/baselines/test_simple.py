"""The methods without a model: fixed numbers of votes, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from quorate.assembly import Options
from quorate.core.panel import Panel
from quorate.data.table import Table
from quorate.experiments.replay import replay

PANEL = Panel(["a", "b"], ["ann", "ben", "cho"], ["net"])
VOTES = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, -1, 0], [-1, 1, -1]])
P = np.array([[[0.9, 0.1]], [[0.8, 0.2]], [[0.4, 0.6]], [[0.5, 0.5]], [[np.nan, np.nan]]])
TABLE = Table(PANEL, ("1", "2", "3", "4", "5"), VOTES, P, "made")


@pytest.mark.parametrize(
    ("method", "queries", "errors"),
    [
        ("all", [3, 3, 3, 2, 1], [0, 0, 0, 0.5, 0]),
        ("majority:0", [0, 0, 0, 0, 0], [0.5, 0.5, 0.5, 0.5, 0.5]),
        ("majority:1", [1, 1, 1, 1, 1], [0, 1, 0, 0.5, 0]),
        ("majority:2", [2, 2, 2, 2, 1], [0, 0.5, 0.5, 0.5, 0]),
        ("majority:3", [3, 3, 3, 2, 1], [0, 0, 0, 0.5, 0]),
        ("until-determined", [2, 3, 3, 2, 1], [0, 0, 0, 0.5, 0]),
        ("classifier", [0, 0, 0, 0, 0], [0, 1, 0, 0.5, 0.5]),
    ],
)
def test_queries_and_expected_errors(method: str, queries: list[int], errors: list[float]) -> None:
    report = replay(TABLE, options=Options(method=method, chooser="panel"))
    assert [case.human_votes for case in report.scored] == queries
    assert [case.error for case in report.scored] == errors
    assert report.sampler.fits == 0
    assert report.summary.ties == 1


def test_a_random_order_asks_everyone_at_some_time() -> None:
    orders = {replay(TABLE, options=Options(method="all", chooser="random"), seed=s).scored[0].asked for s in range(30)}
    assert len(orders) == 6


def test_the_classifier_answers_other_targets_as_a_panel_that_votes_as_one() -> None:
    report = replay(TABLE, options=Options(method="classifier"), target="any:b")
    assert [case.outcome for case in report.scored[:3]] == ["no", "no", "yes"]
    assert report.scored[1].probability == pytest.approx(0.8)
