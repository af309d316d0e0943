"""An expert votes with the keyboard, in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from quorate.core.case import Show
from quorate.service.arrivals import Arrival
from quorate.service.live import LiveStudy
from tests.browser.conftest import Open
from tests.browser.server import Server, arrivals

LOOK = 260
"""Milliseconds that one has to look at a case before a key counts."""


def votes_of(live: LiveStudy, key: str) -> dict[str, str]:
    """Votes that are stored."""
    return live.read(
        lambda study: {study.panel.experts[h]: study.panel.classes[vote] for h, vote in study.state.known(key).votes}
    )


def press(page: Page, key: str) -> None:
    page.wait_for_timeout(LOOK)
    page.keyboard.press(key)


def until_voted(page: Page, live: LiveStudy, key: str, vote: str) -> None:
    """Wait until a vote is stored."""
    for _ in range(100):
        if votes_of(live, key).get("ann") == vote:
            return
        page.wait_for_timeout(50)
    pytest.fail(f"the vote on {key} was not stored: {votes_of(live, key)}")


def test_votes_by_key_settle_the_case_and_move_the_dashboard(study: LiveStudy, open_window: Open) -> None:
    study.open(arrivals("film-1", "film-2"))
    manager = open_window(by="mia")
    board = manager.go(f"/studies/{study.name}")
    expect(board.locator("#open-cases")).to_have_text("2")
    expert = open_window(by=f"ann-of-{study.name}")
    page = expert.page
    expect(page).to_have_url(f"{expert.base}/studies/{study.name}/inbox/ann")
    expect(page.locator("#waiting")).to_have_text("2 waiting")
    expect(page.get_by_role("heading", name="film-1")).to_be_visible()
    expect(page.get_by_role("heading", name="film-2")).to_be_hidden()
    press(page, "2")
    expect(page.get_by_role("heading", name="film-2")).to_be_visible()
    expect(page.locator("#said")).to_contain_text("Voted abnormal on film-1. Next: film-2. 1 waiting.")
    until_voted(page, study, "film-1", "abnormal")
    press(page, "1")
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    until_voted(page, study, "film-2", "normal")
    expect(board.locator("#open-cases")).to_have_text("0")  # without loading the page again
    expect(board.locator("#tiles")).to_contain_text("2 cases settled")
    board.get_by_role("link", name="film-1", exact=True).click()
    expect(board.get_by_text("ann voted abnormal.")).to_be_visible()
    assert manager.noted == expert.noted == []


def test_new_questions_come_by_themselves(study: LiveStudy, open_window: Open) -> None:
    page = open_window(by=f"ann-of-{study.name}").page
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    study.open(arrivals("late"))
    expect(page.get_by_role("heading", name="late")).to_be_visible()
    expect(page.locator("#waiting")).to_have_text("1 waiting")
    study.expire("late", "ann")
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()


def test_skip_shows_the_next_and_stores_nothing(study: LiveStudy, open_window: Open) -> None:
    study.open(arrivals("a", "b"))
    page = open_window(by=f"ann-of-{study.name}").page
    press(page, "s")
    expect(page.get_by_role("heading", name="b", exact=True)).to_be_visible()
    press(page, "s")
    expect(page.get_by_role("heading", name="a", exact=True)).to_be_visible()
    assert len(study.questions("ann")) == 2


def test_cannot_tell_leaves_the_case_to_the_others(study: LiveStudy, open_window: Open) -> None:
    study.open(arrivals("a", to=("ann", "ben")))
    asked = study.questions("ann") or study.questions("ben")
    if asked[0].expert == "ben":
        study.expire("a", "ben")
    page = open_window(by=f"ann-of-{study.name}").page
    press(page, "c")
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    page.wait_for_timeout(500)
    assert votes_of(study, "a") == {}
    assert study.questions("ann") == ()


def test_undo_takes_the_vote_back_and_lets_one_vote_again(study: LiveStudy, open_window: Open) -> None:
    study.open(arrivals("a", "b"))
    page = open_window(by=f"ann-of-{study.name}").page
    press(page, "1")
    until_voted(page, study, "a", "normal")
    expect(page.locator("#last")).to_contain_text("You voted normal on a.")
    press(page, "u")
    expect(page.get_by_role("heading", name="a", exact=True)).to_be_visible()
    for _ in range(40):
        if not votes_of(study, "a"):
            break
        page.wait_for_timeout(50)
    assert votes_of(study, "a") == {}
    press(page, "2")
    until_voted(page, study, "a", "abnormal")
    expect(page.get_by_role("heading", name="b", exact=True)).to_be_visible()


def test_a_vote_that_does_not_arrive_brings_its_case_back(study: LiveStudy, open_window: Open) -> None:
    study.open(arrivals("a", "b"))
    page = open_window(by=f"ann-of-{study.name}").page

    def fail(route: Route) -> None:
        route.abort()

    page.route("**/votes", fail)
    press(page, "1")
    expect(page.get_by_role("alert")).to_contain_text(
        "a: The service does not answer. Whether this was recorded is not known"
    )
    expect(page.get_by_role("heading", name="a", exact=True)).to_be_visible()
    expect(page.locator("#waiting")).to_have_text("2 waiting")
    assert votes_of(study, "a") == {}
    page.unroute("**/votes", fail)
    press(page, "1")
    until_voted(page, study, "a", "normal")


def test_a_key_that_is_held_or_pressed_twice_is_one_vote(study: LiveStudy, open_window: Open) -> None:
    study.open(arrivals("a", "b"))
    page = open_window(by=f"ann-of-{study.name}").page
    page.wait_for_timeout(LOOK)
    page.keyboard.press("1")
    page.keyboard.press("1")
    until_voted(page, study, "a", "normal")
    page.wait_for_timeout(300)
    assert votes_of(study, "b") == {}


def test_shortcuts_can_be_turned_off(study: LiveStudy, open_window: Open) -> None:
    study.open(arrivals("a"))
    page = open_window(by=f"ann-of-{study.name}").page
    page.get_by_label("Vote with single keys").uncheck()
    press(page, "1")
    expect(page.get_by_role("heading", name="a", exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_label("Vote with single keys")).not_to_be_checked()
    page.get_by_role("button", name="normal", exact=True).click()
    until_voted(page, study, "a", "normal")


def test_away_empties_the_desk_until_one_is_back(study: LiveStudy, open_window: Open) -> None:
    study.open(arrivals("a", to=("ann",)))
    page = open_window(by=f"ann-of-{study.name}").page
    page.get_by_role("button", name="I am away").click()
    expect(page.locator("#gone")).to_be_visible()
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    assert study.read(lambda found: found.pending("a")) == ()
    page.get_by_role("button", name="I am back").click()
    expect(page.get_by_role("heading", name="a", exact=True)).to_be_visible()


def test_the_keyboard_alone_reaches_every_answer(study: LiveStudy, open_window: Open) -> None:
    study.open(arrivals("a", show=Show(text="look", link="https://pacs.example/a")))
    page = open_window(by=f"ann-of-{study.name}").page
    reached = []
    for _ in range(25):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent.trim().replace(/\\s+/g, ' ')"))
    wanted = ("I am away", "1normal", "2abnormal", "cCannot tell")
    assert [name for name in reached if name in wanted][: len(wanted)] == list(wanted)
    link = page.get_by_role("link", name="Open the whole case")
    assert (link.get_attribute("target"), link.get_attribute("rel")) == ("_blank", "noopener noreferrer")


def test_it_works_without_scripts(study: LiveStudy, open_window: Open) -> None:
    study.open(arrivals("a", "b"))
    page = open_window(by=f"ann-of-{study.name}", java_script_enabled=False).page
    page.get_by_role("button", name="abnormal").first.click()
    expect(page.get_by_role("heading", name="b", exact=True)).to_be_visible()
    assert votes_of(study, "a") == {"ann": "abnormal"}


def test_letters_are_keys_beyond_nine_classes(server: Server, open_window: Open) -> None:
    live = server.create("many", classes=tuple(f"kind {n}" for n in range(12)))
    server.join("ann-of-many", "expert", ("many", "ann"))
    live.open([Arrival("a", {"net": [1 / 12] * 12}, ("ann",))])
    page = open_window(by="ann-of-many").page
    press(page, "d")  # c means "cannot tell"
    until_voted(page, live, "a", "kind 11")
