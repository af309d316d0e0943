"""The pictures of the documents: `python -m tests.browser.screenshots` makes them from the demo as it runs."""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page

from quorate.service import demo
from quorate.service.live import LiveStudy
from tests.browser.chromium import launched
from tests.browser.server import PASSWORD, Server, serving

DOCS = Path(__file__).parents[2] / "docs"
SETTLED = 120
"""Cases that must have settled before the dashboard is worth a look."""
WAIT = 400
"""Seconds that they may take."""


def flowing(server: Server, page: Page, least: int) -> LiveStudy:
    """The demo once it has something to show and something to ask."""
    for _ in range(WAIT):
        if demo.NAME in server.hall.names():
            live = server.hall.study(demo.NAME)
            settled = live.read(lambda study: len(study.state.settled))
            if settled >= least and live.questions(demo.YOU):
                return live
            for question in live.questions(demo.YOU)[1:]:  # somebody has to
                live.vote(question.case, demo.YOU, demo.told(demo.YOU, question.case))
        page.wait_for_timeout(1000)
    raise RuntimeError(f"the demo has not settled {least} cases within {WAIT} seconds")


def taken(browser: Browser, folder: Path, *, least: int = SETTLED) -> list[Path]:
    """Take the pictures, into a folder, once enough cases have settled."""
    made = []
    with tempfile.TemporaryDirectory() as data, serving(Path(data), demo=True) as server:
        window = browser.new_context(viewport={"width": 1200, "height": 860}, device_scale_factor=1.5)
        page = window.new_page()
        page.goto(f"{server.base}/sign-in")
        page.fill("#name", "admin")
        page.fill("#password", PASSWORD)
        page.click("button:has-text('Sign in')")
        flowing(server, page, least)
        for name, path in (("inbox", f"inbox/{demo.YOU}"), ("dashboard", "")):
            page.goto(f"{server.base}/studies/{demo.NAME}/{path}".rstrip("/"))
            page.wait_for_load_state("load")
            page.wait_for_function("[...document.images].every((one) => one.complete && one.naturalWidth)")
            page.wait_for_timeout(500)
            file = folder / f"service-{name}.png"
            height = page.evaluate("document.documentElement.scrollHeight") if name == "dashboard" else 860
            page.set_viewport_size({"width": 1200, "height": min(int(height), 1480)})
            page.screenshot(path=file)
            made.append(file)
        window.close()
    return made


if __name__ == "__main__":
    with launched() as found:
        for picture in taken(found, DOCS):
            print(picture)  # noqa: T201  # what was made
