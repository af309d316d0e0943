"""Pages from templates: what every page is given, and how numbers, times and addresses are written on it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from fastapi.templating import Jinja2Templates

from quorate.reporting.wording import amount, count, counted, decimal, percent
from quorate.service.rights import Right, may

if TYPE_CHECKING:
    from fastapi import Request
    from fastapi.responses import Response

    from quorate.service.access import Identity

HERE: Final = Path(__file__).parent
TEMPLATES: Final = HERE / "templates"
STATIC: Final = HERE / "static"
SAFE_ADDRESS: Final = re.compile(r"(https?://|/)[^\x00-\x20\x7f\\]*", re.IGNORECASE)
KEYS: Final = "123456789abdefghijklmnopqrtvwxyz"
"""What is pressed for each class, in their order; c, s and u mean something else."""

STOPPED: Final[Mapping[str, str]] = {
    "certain": "the votes force it",
    "tie": "the panel is tied",
    "sure": "sure enough",
    "limit": "no more votes were allowed",
    "budget": "the budget was spent",
    "nobody left": "nobody was left to ask",
}
"""Why asking about a case stopped, in words."""


def address_of(text: str | None) -> str | None:
    """An address that a page may lead to or show; anything else, such as a script, is left out.

    >>> address_of("https://pacs.example/7"), address_of("/files/7.png"), address_of("javascript:alert(1)")
    ('https://pacs.example/7', '/files/7.png', None)
    """
    return text if text is not None and SAFE_ADDRESS.fullmatch(text) else None


def part_of(text: str) -> str:
    """A text as one part of an address.

    >>> part_of("case 7/a?")
    'case%207%2Fa%3F'
    """
    return quote(text, safe="")


def width(share: float) -> str:
    """A share as the width of a bar of 100, kept within it.

    >>> width(0.254), width(1.7), width(float("nan"))
    ('25.4', '100', '0')
    """
    return f"{100 * min(max(share, 0.0), 1.0):.4g}" if share == share else "0"


def clock_time(text: str) -> str:
    """A stored time as it is read without a script.

    >>> clock_time("2024-05-06T07:08:09.123456+00:00")
    '2024-05-06 07:08 UTC'
    """
    return f"{text[:10]} {text[11:16]} UTC"


@dataclass(frozen=True)
class Candidate:
    """An expert who could be asked, with a bar and what it stands for."""

    name: str
    share: float
    value: str


@dataclass(frozen=True)
class Candidates:
    """Everyone who could be asked, the best first."""

    caption: str
    rows: tuple[Candidate, ...]


def candidates(gains: Mapping[str, float], measure: str | None) -> Candidates:
    """What each candidate's vote is worth; of a measure that is turned round, the number itself is shown.

    >>> candidates({"ann": -1.5, "ben": -2.0}, "minus expected votes to settle").rows[0]
    Candidate(name='ann', share=0.75, value='1.5')
    """
    what = measure or "nats of information"
    turned = what.startswith("minus ")
    numbers = {name: -gain if turned else gain for name, gain in gains.items()}
    most = max([*numbers.values(), 0.0]) or 1.0
    ranked = sorted(numbers.items(), key=lambda one: one[1] if turned else -one[1])
    rows = tuple(Candidate(name, max(number, 0.0) / most, f"{number:.3g}") for name, number in ranked)
    if turned:
        return Candidates(f"{what.removeprefix('minus ').capitalize()}, if this expert is asked; fewer is better", rows)
    return Candidates(f"What each candidate's vote is worth, in {what}", rows)


@cache
def asset(name: str) -> str:
    """The address of a style or script; it changes with its content, so that browsers may keep it."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()
    return f"/static/{name}?v={digest[:12]}"


def make_templates() -> Jinja2Templates:
    """The templates with all that they use."""
    made = Jinja2Templates(directory=TEMPLATES)
    made.env.trim_blocks = made.env.lstrip_blocks = True
    made.env.filters.update(
        percent=percent,
        amount=amount,
        count=count,
        decimal=decimal,
        address=address_of,
        part=part_of,
        width=width,
        clock=clock_time,
    )
    made.env.globals.update(
        asset=asset, counted=counted, may=may, Right=Right, KEYS=KEYS, STOPPED=STOPPED, candidates=candidates
    )
    return made


def render(
    request: Request, template: str, shown: Mapping[str, Any], *, who: Identity | None, status: int = 200
) -> Response:
    """A page for somebody."""
    templates: Jinja2Templates = request.app.state.templates
    context = {"who": who, "csrf": None if who is None else who.csrf, **shown}
    return templates.TemplateResponse(request, template, context, status_code=status)
