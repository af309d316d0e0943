"""The pieces of a self-contained HTML page; every text that comes from outside is escaped here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from quorate.reporting.style import LIGHT_AND_DARK


@dataclass(frozen=True)
class Markup:
    """HTML that is safe to put into a page as it is."""

    html: str


Text = str | Markup


def safe(text: Text) -> str:
    """HTML of a text: escaped unless it is markup already.

    >>> safe("<b>"), safe(Markup("<b>bold</b>"))
    ('&lt;b&gt;', '<b>bold</b>')
    """
    return text.html if isinstance(text, Markup) else escape(text).replace(" %", "&nbsp;%")


def table(
    caption: str,
    headers: Sequence[str],
    rows: Sequence[Sequence[Text]],
    *,
    numbers: Sequence[int] = (),
    best: Sequence[int] = (),
) -> Markup:
    """A table whose rows begin with their header; `numbers` are columns set flush right, `best` rows set off."""
    kind = dict.fromkeys(numbers, ' class="number"')
    head = "".join(f'<th scope="col"{kind.get(n, "")}>{safe(text)}</th>' for n, text in enumerate(headers))
    body = "".join(
        ('<tr class="best">' if at in best else "<tr>")
        + f'<th scope="row">{safe(row[0])}</th>'
        + "".join(f"<td{kind.get(n, '')}>{safe(cell)}</td>" for n, cell in enumerate(row[1:], 1))
        + "</tr>\n"
        for at, row in enumerate(rows)
    )
    return Markup(
        f'<div class="scroll" role="region" aria-label="{escape(caption)}" tabindex="0"><table>'
        f'<caption class="unseen">{safe(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
    )


def plot(name: str, title: str, svg: str, description: str, caption: Text, *, wide: bool = False) -> Markup:
    """A drawing with its title, what it shows for those who cannot see it, and how to read it."""
    kind = "card wide" if wide else "card"
    drawing = svg.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)
    return Markup(
        f'<figure class="{kind}" id="{escape(name)}"><h3>{safe(title)}</h3>\n{drawing}\n'
        f"<figcaption>{safe(caption)}</figcaption></figure>"
    )


def section(title: Text, *parts: Markup) -> Markup:
    """A titled part of the page."""
    inner = "\n".join(part.html for part in parts)
    return Markup(f"<section><h2>{safe(title)}</h2>\n{inner}</section>")


def paragraph(text: Text, kind: str = "") -> Markup:
    """A paragraph."""
    return Markup(f'<p class="{kind}">{safe(text)}</p>' if kind else f"<p>{safe(text)}</p>")


def tiles(cells: Sequence[tuple[str, str, str]]) -> Markup:
    """The figures that matter most, large: label, value and note."""
    inner = "".join(
        f'<div class="tile"><dt>{safe(label)}</dt>'
        f"<dd><strong>{safe(value)}</strong><span>{safe(note)}</span></dd></div>"
        for label, value, note in cells
    )
    return Markup(f'<dl class="tiles">{inner}</dl>')


def pairs(cells: Sequence[tuple[str, str]]) -> Markup:
    """Names and values in as many columns as there is room for."""
    inner = "".join(f"<div><dt>{safe(name)}</dt><dd>{safe(value)}</dd></div>\n" for name, value in cells)
    return Markup(f'<dl class="pairs">{inner}</dl>')


def header(kind: str, title: str, *parts: Markup) -> Markup:
    """The top of the page: what it is, its title and what matters most."""
    inner = "\n".join(part.html for part in parts)
    return Markup(f'<header><p class="kind">{safe(kind)}</p>\n<h1>{safe(title)}</h1>\n{inner}</header>')


def footer(text: str) -> Markup:
    """The last line of the page."""
    return Markup(f"<footer><p>{safe(text)}</p></footer>")


def gallery(drawings: Sequence[Markup]) -> Markup:
    """Drawings side by side where there is room."""
    inner = "\n".join(drawing.html for drawing in drawings)
    return Markup(f'<div class="plots">{inner}</div>')


def tag(text: str) -> Markup:
    """A mark that stands out within a row."""
    return Markup(f'<span class="tag">{safe(text)}</span>')


def folded(summary: str, *parts: Markup) -> Markup:
    """A part that opens when it is wanted."""
    inner = "\n".join(part.html for part in parts)
    return Markup(f"<details><summary>{safe(summary)}</summary>\n{inner}</details>")


def page(title: str, *parts: Markup, css: str = "") -> str:
    """The whole page, which fetches nothing from anywhere; `css` adds to the style that all pages share."""
    body = "\n".join(part.html for part in parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{safe(title)}</title>\n<style>{_theme()}{stored('page.css')}{css}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _theme() -> str:
    light = "".join(f"--{name}:{pair[0]};" for name, pair in LIGHT_AND_DARK.items())
    dark = "".join(f"--{name}:{pair[1]};" for name, pair in LIGHT_AND_DARK.items())
    return (
        f"\n:root{{{light}--ground:#f4f6f8;--card:#ffffff;}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}--ground:#12181f;--card:#1a222b;}}}}\n"
    )


def stored(name: str) -> str:
    """A style or script that lies beside this module."""
    return files("quorate.reporting").joinpath(name).read_text(encoding="utf-8")
