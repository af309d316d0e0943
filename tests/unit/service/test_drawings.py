"""Plots are drawn when they are looked at, kept for a while, and told in words."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorate.errors import NotFoundError
from quorate.service.drawings import COUNTING, FRESH, SHARE, Count, Gallery
from quorate.service.live import LiveStudy
from tests.unit.service.visitors import House, arrival, house


@pytest.fixture
def place(tmp_path: Path) -> Iterator[House]:
    with house(tmp_path) as found:
        yield found


def settle(live: LiveStudy, key: str) -> None:
    live.open([arrival(key)])
    while live.read(lambda study: study.state.open_case(key)) is not None:
        for expert in live.read(lambda study: study.pending(key)):
            live.vote(key, expert, "normal")


def test_a_new_study_has_only_its_load(place: House) -> None:
    place.study()
    assert list(Gallery(place.hall).scene("heart").drawings) == ["load"]


def test_a_study_with_audits_has_every_plot_in_words_and_lines(place: House) -> None:
    live = place.study(audit_share=1.0)
    for number in range(3):
        settle(live, f"film-{number}")
    gallery = Gallery(place.hall)
    scene = gallery.scene("heart")
    assert set(scene.drawings) == {"queries", "errors", "reliability", "load", "agreement"}
    for name, drawing in scene.drawings.items():
        assert drawing.description.endswith(".")
        for dark in (False, True):
            svg = gallery.svg("heart", name, dark=dark)
            assert ET.fromstring(svg).tag.endswith("svg")  # noqa: S314  # our own
            assert "style" not in svg
    assert "ann and ben 100 % of 3" in scene.drawings["agreement"].description
    assert gallery.svg("heart", "load", dark=False) != gallery.svg("heart", "load", dark=True)


def test_plots_are_kept_while_they_are_fresh(place: House) -> None:
    live, now = place.study(), [0.0]
    gallery = Gallery(place.hall, clock=lambda: now[0])
    first = gallery.scene("heart")
    settle(live, "a")
    now[0] = FRESH - 0.1
    assert gallery.scene("heart") is first
    now[0] = FRESH + 0.1
    second = gallery.scene("heart")
    assert second is not first
    now[0] += 100 * FRESH
    assert gallery.scene("heart") is second  # nothing has changed
    settle(live, "b")
    assert gallery.scene("heart") is not second
    third = gallery.scene("heart")
    third.took = 1.0
    settle(live, "c")
    now[0] += SHARE - 1  # drawing took long, so it is kept longer
    assert gallery.scene("heart") is third


def test_a_plot_that_is_not_there_is_told(place: House) -> None:
    place.study()
    with pytest.raises(NotFoundError, match="no plot 'maze'; there are load"):
        Gallery(place.hall).svg("heart", "maze", dark=False)


def test_plots_may_be_kept_by_the_browser_alone(place: House) -> None:
    place.study()
    answer = place.visitor("mia", "manager").get("/studies/heart/plots/load.svg?theme=dark")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["cache-control"].startswith("private, max-age=")


def test_the_parts_of_a_dashboard_that_renew_themselves(place: House) -> None:
    live = place.study()
    settle(live, "a")
    manager = place.visitor("mia", "manager")
    page = manager.page("/studies/heart/board")
    for name in ("tiles", "experts", "learning", "recent"):
        assert f'<div id="{name}" hx-swap-oob="innerHTML">' in page
    assert "1 case settled" in page
    assert 'id="plot-queries"' in manager.page("/studies/heart/plots")
    assert "data-stale" not in manager.page("/studies/heart/plots")
    settle(live, "b")
    assert "data-stale" in manager.page("/studies/heart/plots")


def test_numbers_that_take_long_to_count_are_kept_longer(place: House) -> None:
    live, now = place.study(), [0.0]
    gallery = Gallery(place.hall, clock=lambda: now[0])
    gallery.board("heart")
    settle(live, "a")
    gallery._counts[live.stored.id] = Count(gallery._counts[live.stored.id].board, at=0.0, took=1.0)
    now[0] = COUNTING - 1
    assert gallery.board("heart").counts["settled"] == 0
    now[0] = COUNTING + 1
    assert gallery.board("heart").counts["settled"] == 1
    assert gallery.board("heart").version == live.version


def test_a_new_study_of_an_old_name_has_its_own_numbers(place: House) -> None:
    place.study()
    gallery = Gallery(place.hall)
    before = gallery.board("heart")
    place.hall.delete("heart")
    place.study(experts=("xia", "yan"))
    after = gallery.board("heart")
    assert [one.name for one in after.experts] == ["xia", "yan"] != [one.name for one in before.experts]
