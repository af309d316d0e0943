"""Every dependency is annotated with a module that needs it, and that module imports it."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINE = re.compile(r'^\s+"([a-zA-Z0-9_-]+)(?:\[[a-z]+\])?>=[^"]+",\s*(?:#\s*(.*))?$', re.MULTILINE)

CALLED = {"argon2": "argon2-cffi", "prometheus_client": "prometheus-client"}
"""Packages that are imported by another name than they are installed by."""
WITH_OTHERS = {"xarray": "arviz-stats[xarray]"}
"""Packages that come with an extra of another."""

SHOWN_BY = {"argon2-cffi": r"argon2", "jinja2": r"Jinja2Templates", "python-multipart": r"\.form\(\)"}
"""What a module writes that needs it, where that is not its name."""


def requirements() -> list[tuple[str, str]]:
    """Names and notes of every requirement that has a lower bound."""
    return LINE.findall((ROOT / "pyproject.toml").read_text())


def sources(module: str) -> str:
    """The text of a module, or of every module of a package."""
    path = ROOT / "src" / "quorate" / module.replace(".", "/")
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    return "\n".join(file.read_text() for file in files)


@pytest.mark.parametrize(("name", "note"), requirements(), ids=[name for name, _ in requirements()])
def test_a_dependency_says_who_needs_it(name: str, note: str) -> None:
    assert note, f"{name} has no note in pyproject.toml"
    if name == "hatchling" or note.startswith(("tests", "make check")):
        return
    for module in re.split(r",\s*(?:and )?", note):
        word = module.strip()
        if word.startswith("every layer"):
            continue
        sign = SHOWN_BY.get(name, rf"\b{name.replace('-', '_')}\b")
        assert re.search(sign, sources(word)), f"{word} does not import {name}"


def test_whatever_is_imported_is_declared() -> None:
    imported = re.findall(r"^\s*(?:from|import) ([a-zA-Z_0-9]+)", sources(""), re.MULTILINE)
    declared = (ROOT / "pyproject.toml").read_text()
    foreign = {name for name in imported if name not in sys.stdlib_module_names and find_spec(name) is not None}
    for name in sorted(foreign - {"quorate"}):
        wanted = WITH_OTHERS.get(name) or CALLED.get(name, name.replace("_", "-"))
        assert re.search(rf'"{re.escape(wanted)}[\[>]?', declared), f"{name} is imported and not declared"
