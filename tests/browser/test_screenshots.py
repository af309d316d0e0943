"""The pictures of the documents can be made anew."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser

from tests.browser.screenshots import DOCS, taken


def test_pictures_are_made_and_are_in_the_documents(browser: Browser, tmp_path: Path) -> None:
    made = taken(browser, tmp_path, least=40)
    assert [file.name for file in made] == ["service-inbox.png", "service-dashboard.png"]
    for file in made:
        assert file.stat().st_size > 30_000
        assert (DOCS / file.name).is_file()
