"""Every example in README and docs runs: Python blocks as they are, console blocks line by line."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str]]:
    """The page's code blocks in order; those with >>> are left to doctest."""
    return [(kind, text) for kind, text in BLOCK.findall(page.read_text()) if ">>>" not in text]


def run_console(line: str, folder: Path) -> None:
    words = shlex.split(line.removeprefix("$ "))
    assert words[0] == "quorate", f"only quorate is run in examples, not {words[0]!r}"
    program = [sys.executable, "-W", "error", "-m", "quorate.cli.main", *words[1:]]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{line}: {done.stderr}"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_every_example_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for kind, text in blocks(page):
        if kind == "python":
            exec(compile(text, f"{page.name} example", "exec"), names)  # noqa: S102  # our own documents
        else:
            for line in text.splitlines():
                if line.startswith("$ ") and not line.startswith("$ make"):
                    run_console(line, tmp_path)


def test_the_examples_do_not_name_this_machine() -> None:
    home = os.path.expanduser("~")  # noqa: PTH111  # the text itself is wanted
    for page in PAGES:
        assert home not in page.read_text()
