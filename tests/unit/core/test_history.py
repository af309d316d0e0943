"""Histories whose cases are replaced."""

from __future__ import annotations

import numpy as np
import pytest

from quorate.core.case import Case, open_case
from quorate.core.history import History
from quorate.core.panel import Panel

PANEL = Panel(["normal", "abnormal"], ["ann", "ben", "cho"], ["densenet"])
CASES = tuple(open_case(PANEL, str(n), {"densenet": [0.5, 0.5]}).with_vote(n % 3, 1) for n in range(4))


@pytest.mark.parametrize("row", range(4))
def test_one_case_is_replaced_and_the_others_stay(row: int) -> None:
    history = History(PANEL, CASES)
    after = history.replaced(row, CASES[row].with_vote((row + 1) % 3, 0))
    assert [case.key for case in after] == [case.key for case in history]
    assert [n for n in range(4) if after.cases[n] != history.cases[n]] == [row]
    assert history.cases == CASES  # the history before is another value


def test_a_case_without_votes_is_a_row_of_nothing() -> None:
    history = History(PANEL, CASES).replaced(1, CASES[1].without_vote(1))
    assert history.votes()[1].tolist() == [-1, -1, -1]
    assert history.probabilities()[1].tolist() == [[0.5, 0.5]]


def test_a_window_holds_its_rows_after_a_change() -> None:
    history = History(PANEL, CASES).replaced(3, CASES[3].amended(0, 0)).replaced(0, CASES[0].without_vote(0))
    assert [case.key for case in history.window(2)] == ["2", "3"]
    assert history.window(2).votes().tolist() == [[-1, -1, 1], [0, -1, -1]]


@pytest.mark.parametrize("cases", [(), CASES])
def test_a_history_grows_with_its_panel(cases: tuple[Case, ...]) -> None:
    larger = PANEL.with_expert("dee").with_classifier("vit")
    before, grown = History(PANEL, cases), History(PANEL, cases).grown(larger)
    assert grown.panel == larger
    assert grown.votes().shape == (len(cases), 4)
    assert grown.votes()[:, :3].tolist() == before.votes().tolist()
    assert (grown.votes()[:, 3] == -1).all()
    assert grown.probabilities()[:, :1].tolist() == before.probabilities().tolist()
    assert np.isnan(grown.probabilities()[:, 1]).all()
