"""What the documents name exists: dotted names, the modules of the house, and links between files."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").glob("*.md"))
SOURCE = ROOT / "src" / "quorate"


def resolve(dotted: str) -> object:
    """The module, or what hangs from one, that a dotted name stands for."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError as error:
            if error.name is None or not dotted.startswith(error.name):
                raise
            continue
        for name in parts[length:]:
            fields = getattr(found, "__dataclass_fields__", {})
            found = fields[name] if name in fields else getattr(found, name)
        return found
    raise ModuleNotFoundError(dotted)


def named(path: Path) -> list[str]:
    return sorted(set(re.findall(r"`(quorate(?:\.\w+)+)(?:\([^`]*\))?`", path.read_text(encoding="utf-8"))))


@pytest.mark.parametrize(("document", "dotted"), [(path.name, name) for path in DOCS for name in named(path)])
def test_every_dotted_name_in_the_docs_resolves(document: str, dotted: str) -> None:
    assert resolve(dotted) is not None, document


@pytest.mark.parametrize("dotted", ["quorate.nothing", "quorate.core.panel.Nobody", "quorate.core.case.Case.nothing"])
def test_a_name_that_does_not_exist_is_noticed(dotted: str) -> None:
    with pytest.raises((AttributeError, ModuleNotFoundError)):
        resolve(dotted)


def test_the_map_names_every_section_algorithm_figure_and_equation() -> None:
    text = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    assert len(named(ROOT / "docs" / "paper.md")) > 30
    for part in (
        "Algorithm 1",
        "Algorithm 2",
        "figure 1",
        "figures 2 and 5",
        "figure 3",
        "figure 4",
        "table 1",
        "table 2",
    ):
        assert part in text
    for number in (1, 2, 3):
        assert f"equation {number}" in text
    assert "equations 4 and 5" in text


def house() -> dict[str, list[str]]:
    """Packages and top-level modules of the drawn house, with the modules named beside each."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawn = text.split("src/quorate/\n", 1)[1].split("\ntests/", 1)[0]
    found: dict[str, list[str]] = {}
    package = ""
    for line in drawn.splitlines():
        start = re.match(r"^( {2,4})([a-z_]+/|[a-z_]+\.py) ", line)
        if start:
            inner = start.group(1) == " " * 4
            package = f"{package.split('/')[0]}/{start.group(2)}" if inner else start.group(2)
            found[package.rstrip("/")] = []
        elif re.match(r"^ {15,}\S", line):
            found[package.rstrip("/")] += line.split()
    return found


def test_the_drawn_house_is_the_house_that_stands() -> None:
    drawn = house()
    standing = {path.name for path in SOURCE.iterdir() if path.suffix == ".py" and path.name != "__init__.py"}
    standing |= {path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.glob("**/__init__.py")} - {"."}
    assert set(drawn) == standing


@pytest.mark.parametrize("package", [name for name in house() if not name.endswith(".py")])
def test_every_module_of_a_package_is_drawn(package: str) -> None:
    modules = {path.stem for path in (SOURCE / package).glob("*.py")} - {"__init__"}
    assert set(house()[package]) == modules


@pytest.mark.parametrize("path", [*DOCS, *sorted(ROOT.glob("*.md"))], ids=lambda path: path.name)
def test_links_between_files_lead_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        assert link.startswith("https://") or (path.parent / link).exists(), link
