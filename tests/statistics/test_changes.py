"""A few short streams in which an expert joins and a classifier is replaced."""

from __future__ import annotations

from tests.statistics import changes


def test_a_panel_that_changes_stays_honest() -> None:
    moments = changes.Moments(joins=15, replaced=25, ends=40)
    lines = [changes.stream(2, number, moments, 0.05) for number in range(3)]
    made, stated = (sum(sum(line[name]) for line in lines) for name in ("error", "stated"))
    assert made <= stated + 3 * stated**0.5 + 1
    assert all(0 < len(line["queries"]) == 40 for line in lines)
    covered, skills = (sum(line[name] for line in lines) for name in ("covered", "skills"))
    assert skills == 8 + 9 + 8
    assert covered >= 0.8 * skills
    assert "skills covered" in changes.report(lines, moments)
