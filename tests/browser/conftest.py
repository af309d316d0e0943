"""One service and one browser for all tests; each test has a study and a window of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from quorate.service.live import LiveStudy
from tests.browser.chromium import launched
from tests.browser.server import PASSWORD, Server, serving

NUMBERS = count(1)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("service")) as found:
        found.join("admin", "admin")
        found.join("mia", "manager")
        yield found


@pytest.fixture(scope="package")  # its driver keeps this thread's event loop, which other tests need for themselves
def browser() -> Iterator[Browser]:
    with launched() as found:
        yield found


@dataclass
class Window:
    """A person at a browser; everything that went wrong on the way is noted."""

    page: Page
    base: str
    noted: list[str] = field(default_factory=list)

    def hear(self, said: ConsoleMessage) -> None:
        """Note an error that the browser tells of, such as a rule of the page's policy that was broken."""
        if said.type == "error":
            self.noted.append(said.text)

    def go(self, path: str) -> Page:
        """Open a page."""
        self.page.goto(self.base + path)
        return self.page

    def sign_in(self, name: str) -> Page:
        """Sign in with a password."""
        page = self.go("/sign-in")
        page.fill("#name", name)
        page.fill("#password", PASSWORD)
        page.click("button:has-text('Sign in')")
        page.wait_for_url(lambda url: "/sign-in" not in url)
        return page


Open = Callable[..., Window]


@pytest.fixture
def open_window(browser: Browser, server: Server) -> Iterator[Open]:
    contexts: list[BrowserContext] = []

    def opened(*, by: str | None = None, width: int = 1280, height: int = 900, **how: Any) -> Window:
        context = browser.new_context(viewport={"width": width, "height": height}, **how)
        context.set_default_timeout(10_000)
        contexts.append(context)
        window = Window(context.new_page(), server.base)
        window.page.on("console", window.hear)
        window.page.on("pageerror", lambda error: window.noted.append(str(error)))
        if by is not None:
            window.sign_in(by)
        return window

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def study(server: Server) -> LiveStudy:
    """A study of its own, with a user who sits as ann."""
    live = server.create(f"study-{next(NUMBERS)}")
    server.join(f"ann-of-{live.name}", "expert", (live.name, "ann"))
    return live
