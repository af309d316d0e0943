"""Every page, light and dark, wide and on a phone: no barrier, no error, nothing that the policy forbids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from quorate.core.case import Show
from quorate.service.live import LiveStudy
from tests.browser.conftest import Open
from tests.browser.server import EXPERTS, Server, arrivals

GRAVE = ("serious", "critical")
PAGES: Mapping[str, str] = {
    "home": "/",
    "board": "/studies/gallery",
    "empty board": "/studies/bare",
    "inbox": "/studies/gallery/inbox/ann",
    "empty inbox": "/studies/bare/inbox/ann",
    "cases": "/studies/gallery/cases",
    "cases by key": "/studies/gallery/cases?key=film",
    "no cases": "/studies/bare/cases",
    "open case": "/studies/gallery/cases/film-99",
    "settled case": "/studies/gallery/cases/film-1",
    "case that nobody saw": "/studies/unseen/cases/alone",
    "new study": "/studies/new",
    "import": "/studies/gallery/import",
    "users": "/users",
    "account": "/account",
    "tokens": "/account/tokens",
}


@pytest.fixture(scope="session")
def gallery(server: Server) -> None:
    """Studies with cases of every kind."""
    server.create("bare")
    server.create("unseen", min_votes=0, max_error=0.5).open(arrivals("alone", p=0.01))
    live = server.create("gallery", audit_share=0.3)
    for number in range(1, 26):
        _settled(live, number)
    show = Show(text="Frontal view.\nCompare with last year.", image="/static/mark.svg", link="https://pacs.example/7")
    live.open(arrivals("film-99", show=show))
    live.open(arrivals("film-98"))


def _settled(live: LiveStudy, number: int) -> None:
    """A case on which everybody who is asked votes at once."""
    key = f"film-{number}"
    live.open(arrivals(key, to=EXPERTS, p=0.2 + 0.02 * number))
    while live.read(lambda study: study.state.open_case(key)) is not None:
        for expert in live.read(lambda study: study.pending(key)):
            live.vote(key, expert, "abnormal" if (number + ord(expert[0])) % 3 == 0 else "normal")


def grave_in(page: Page) -> list[str]:
    """What axe finds that keeps somebody out."""
    found: dict[str, Any] = Axe().run(page).response
    return [
        f"{problem['id']}: {problem['help']} {[node['target'] for node in problem['nodes']]}"
        for problem in found["violations"]
        if problem["impact"] in GRAVE
    ]


@pytest.mark.usefixtures("gallery")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_keeps_anybody_out(open_window: Open, scheme: str) -> None:
    window = open_window(by="admin", color_scheme=scheme)
    found = {name: grave_in(window.go(path)) for name, path in PAGES.items()}
    found["missing"] = grave_in(window.go("/studies/nowhere"))
    found["sign-in"] = grave_in(open_window(color_scheme=scheme).go("/sign-in"))
    assert {name: problems for name, problems in found.items() if problems} == {}
    assert [said for said in window.noted if "404" not in said] == []


@pytest.mark.usefixtures("gallery")
@pytest.mark.parametrize("width", [360, 390])
def test_no_page_is_wider_than_a_phone(open_window: Open, width: int) -> None:
    window = open_window(by="admin", width=width, height=780, has_touch=True, is_mobile=True)
    wide = {}
    for name, path in PAGES.items():
        page = window.go(path)
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if over > 0:
            wide[name] = over
    assert wide == {}


@pytest.mark.usefixtures("gallery")
def test_pages_break_no_rule_of_their_own(open_window: Open) -> None:
    window = open_window(by="admin")
    for path in PAGES.values():
        window.go(path)
        window.page.wait_for_timeout(150)
    assert window.noted == []


@pytest.mark.usefixtures("gallery")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_plots_are_drawn_and_described(open_window: Open, scheme: str) -> None:
    page = open_window(by="mia", color_scheme=scheme).go("/studies/gallery")
    plots = page.locator("figure picture img")
    expect(plots).to_have_count(5)
    for number in range(5):
        plot = plots.nth(number)
        plot.scroll_into_view_if_needed()
        assert len(plot.get_attribute("alt") or "") > 30
        page.wait_for_function("one => one.complete && one.naturalWidth > 0", arg=plot.element_handle())
        source = str(plot.evaluate("one => one.currentSrc"))
        assert ("theme=dark" in source) == (scheme == "dark")


@pytest.mark.usefixtures("gallery")
def test_a_case_that_nobody_saw_says_so_everywhere(open_window: Open) -> None:
    window = open_window(by="mia")
    page = window.go("/studies/unseen/cases/alone")
    expect(page.locator(".nobody")).to_contain_text("No expert saw this case")
    page = window.go("/studies/unseen/cases?key=alone")
    expect(page.get_by_role("row", name="alone")).to_contain_text("no expert saw this case")
    page = window.go("/studies/unseen")
    expect(page.locator(".tile.alarm", has_text="Cases that no expert saw")).to_be_visible()


@pytest.mark.usefixtures("gallery")
def test_nothing_moves_for_those_who_do_not_want_it(open_window: Open) -> None:
    page = open_window(by="admin", reduced_motion="reduce").go("/studies/gallery/inbox/ann")
    page.wait_for_timeout(300)
    page.keyboard.press("s")
    assert page.evaluate("document.getAnimations().length") == 0
