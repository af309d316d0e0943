"""The demo as a user starts it: a process, the link that it prints, and a browser."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, expect

from quorate.service.demo import BEFORE, YOU

LONGEST = 60_000
"""Milliseconds after which something that should happen has not: much more than it takes on a busy machine."""
LINK = re.compile(r"(http://127\.0\.0\.1:\d+)/sign-in/\S+")
SETTLED = re.compile(r"(\d+) cases? settled")
LOOK = 260
"""Milliseconds that one has to look at a case before a key counts."""


@contextmanager
def started(folder: Path) -> Iterator[tuple[str, str]]:
    """`quorate serve` with the demo in a process of its own: where it is, and the link of its first start."""
    words = [sys.executable, "-m", "quorate.cli.main", "serve", "--db", f"sqlite:///{folder}/quorate.db"]
    with (
        (folder / "service.log").open("w") as log,
        subprocess.Popen(
            [*words, "--port", "0", "--simulate-experts"], cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            found = next(filter(None, map(LINK.search, process.stdout)), None)
            assert found, (folder / "service.log").read_text()
            yield found[1], found[0]
            process.send_signal(signal.SIGTERM)
            process.wait(LONGEST / 1000)
        finally:
            process.kill()


MORE = "least => Number(/(\\d+) cases? settled/.exec(document.querySelector('#tiles').innerText)[1]) >= least"


def test_the_printed_link_leads_to_a_seat_whose_votes_count(tmp_path: Path, browser: Browser) -> None:
    with started(tmp_path) as (address, link), browser.new_context() as context:
        context.set_default_timeout(LONGEST)
        noted: list[str] = []
        context.on("weberror", lambda found: noted.append(str(found.error)))
        page, board = context.new_page(), context.new_page()
        page.goto(link)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{address}/account")
        board.goto(f"{address}/studies/demo")
        board.wait_for_function(MORE, arg=BEFORE)  # until then the demo votes for everybody
        before = int(SETTLED.findall(board.locator("#tiles").inner_text())[0])
        page.goto(f"{address}/studies/demo/inbox/{YOU}")
        case = page.locator("article.question:visible").get_attribute("data-case")
        assert case
        page.wait_for_timeout(LOOK)
        page.keyboard.press("2")
        expect(page.locator("#last")).to_contain_text(f"You voted orange on {case}.", timeout=LONGEST)
        another = page.locator(f"article.question:not([data-case='{case}']):visible")
        expect(another).to_be_visible(timeout=LONGEST)  # the next comes, by itself if it must
        board.wait_for_function(MORE, arg=before + 1)  # without loading the page again
        board.goto(f"{address}/studies/demo/cases/{case}")
        expect(board.get_by_text(f"{YOU} voted orange.")).to_be_visible(timeout=LONGEST)
        assert noted == []
