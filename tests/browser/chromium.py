"""Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb")


def executable() -> str:
    """Where the browser is; one that is missing is an error, never a test left out."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if found is None:
        raise RuntimeError("no browser to test with; install Debian's package chromium, or set CHROMIUM to a program")
    return found


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()
