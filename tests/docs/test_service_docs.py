"""The page on the service names every address of the API and every column of an export, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path

from quorate.service.app import create_app, open_hall
from quorate.service.exporting import COLUMNS

PAGE = Path(__file__).parents[2] / "docs" / "service.md"


def written() -> set[tuple[str, str]]:
    """Methods and addresses in the table, `GET`, `POST /api/...` being two."""
    found: set[tuple[str, str]] = set()
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            methods: list[str] = []
            for piece in re.findall(r"`([^`]*)`", line.split("|")[1]):
                method, _, address = piece.partition(" ")
                methods.append(method)
                if address:
                    found |= {(one, address) for one in methods}
                    methods = []
    return found


def test_the_page_names_every_address_of_the_api(tmp_path: Path) -> None:
    hall = open_hall(f"sqlite:///{tmp_path}/q.db", base_url="http://testserver")
    paths = create_app(hall).openapi()["paths"]
    hall.db.close()
    served = {(method.upper(), path) for path, operations in paths.items() for method in operations}
    assert written() == served


def test_the_page_names_every_column_of_an_export_in_its_order() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("| column | meaning |")[2].partition("\n\n")[0]
    named = [name for line in table.splitlines() if line for name in re.findall(r"`([^`]*)`", line.split("|")[1])]
    assert named == list(COLUMNS)
