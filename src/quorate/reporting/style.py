"""The look that all plots share: colours, type and the ways out (inline SVG for pages, PNG for looking)."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from quorate.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

INK = "#1c2733"
MUTED = "#5b6875"
RULE = "#d9dfe5"
STATED = "#0b62a4"
ACTUAL = "#c4480f"
SOFT = "#d3e4f3"
RAW = "#9cc3e4"
NOBODY = "#a9b2bc"
PLACES = ("#0a4d86", "#3d86c0", "#83b5dd", "#b9d5ec", "#dfe9f3")
"""Asked first, second, third ...: one hue that fades, told apart by lightness alone."""
METHODS = (STATED, ACTUAL, "#1d7a55", "#7b4ba8", "#8a6d00")
"""Methods that are compared, in their order; safe for the colour-blind together with a mark of their own."""

LIGHT_AND_DARK = {
    "ink": (INK, "#e8edf2"),
    "muted": (MUTED, "#a3afbb"),
    "rule": (RULE, "#36424e"),
    "stated": (STATED, "#6cb8f2"),
    "actual": (ACTUAL, "#ff9a62"),
    "soft": (SOFT, "#27435c"),
    "raw": (RAW, "#3f6f97"),
    "nobody": (NOBODY, "#6f7b87"),
    "method-3": (METHODS[2], "#5fcf9f"),
    "method-4": (METHODS[3], "#c39af0"),
    "method-5": (METHODS[4], "#dcc04a"),
    "place-1": (PLACES[0], "#9ad0fb"),
    "place-2": (PLACES[1], "#5ea4da"),
    "place-3": (PLACES[2], "#3b79ab"),
    "place-4": (PLACES[3], "#2b577c"),
    "place-5": (PLACES[4], "#22405a"),
}
"""Each colour of a plot by name, on a light and on a dark page."""

TEXT = 10
SMALL = 9


def blank(width: float = 5.4, height: float = 3.3) -> tuple[Figure, Axes]:
    """A figure in inches with one plain axes; no global state is touched."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError:
        raise MissingExtraError("plots", "plots") from None
    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.06)
    figure = Figure(figsize=(width, height), layout=layout, facecolor="none")
    axes = figure.add_subplot(facecolor="none")
    _plain(axes)
    return figure, axes


def blanks(rows: int, columns: int, *, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """A figure with several plain axes, row by row."""
    figure, first = blank(width, height)
    first.remove()
    found = [figure.add_subplot(rows, columns, place + 1, facecolor="none") for place in range(rows * columns)]
    for axes in found:
        _plain(axes)
    return figure, found


def _plain(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(RULE)
    axes.tick_params(colors=MUTED, labelsize=SMALL, length=0, pad=5)
    axes.set_axisbelow(True)


def titled(axes: Axes, *, x: str = "", y: str = "") -> None:
    """Axis titles; the vertical one lies flat above the axes, where it can be read."""
    if x:
        axes.set_xlabel(x, color=MUTED, fontsize=TEXT, labelpad=7)
    if y:
        axes.set_title(y, color=MUTED, fontsize=TEXT, loc="left", pad=9)


def grid(axes: Axes, which: str) -> None:
    """Thin rules across one direction, "x" or "y"."""
    axes.grid(axis="x" if which == "x" else "y", color=RULE, linewidth=0.7)


def name_ticks(axis: Axis, at: Sequence[float], names: Sequence[str], *, longest: int = 20) -> None:
    """User-given names on an axis: shortened, and never read as mathematics."""
    axis.set_ticks(at)
    axis.set_ticklabels([shorten(name, longest) for name in names])
    for label in axis.get_ticklabels():
        label.set_parse_math(False)
        label.set_color(INK)
        label.set_fontsize(TEXT)


def shorten(name: str, longest: int = 20) -> str:
    """A name on one line, at most so long.

    >>> shorten("a very long name of an expert indeed", 12)
    'a very long…'
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def percent_ticks(axis: Axis, at: Sequence[float]) -> None:
    """Ticks at shares, written as percentages."""
    axis.set_ticks(at)
    axis.set_ticklabels([f"{100 * share:g} %" for share in at])


def legend(axes: Axes, *, columns: int, only: int | None = None) -> None:
    """A legend above the axes, flush left; `only` leaves out all but the first entries."""
    handles, labels = axes.get_legend_handles_labels()
    axes.figure.legend(
        handles[:only],
        labels[:only],
        loc="outside upper left",
        ncols=columns,
        frameon=False,
        fontsize=SMALL,
        labelcolor=INK,
        handlelength=1.4,
        columnspacing=1.3,
        borderpad=0.1,
        handletextpad=0.6,
    )


def to_png(figure: Figure, dpi: int = 144) -> bytes:
    """The figure as a PNG on white."""
    out = io.BytesIO()
    with _foreign_letters_allowed():
        figure.savefig(out, format="png", dpi=dpi, facecolor="white")
    return out.getvalue()


def to_svg_file(figure: Figure, name: str, *, ground: str = "white") -> str:
    """The figure as a file of its own, on white unless told: the same figure gives the same text."""
    import matplotlib as mpl

    out = io.StringIO()
    with _foreign_letters_allowed(), mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(out, format="svg", facecolor=ground, metadata=metadata)
    return out.getvalue()


def to_svg(figure: Figure, name: str) -> str:
    """The figure as SVG to put into a page: its own ids, text as text, colours that follow the page's theme."""
    import matplotlib as mpl

    out = io.StringIO()
    with _foreign_letters_allowed(), mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # several drawings share one page, where an id may stand only once
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", text)
    # "xlink:href" and the DTD's namespace are not needed by a page that parses HTML5
    text = text.replace("xlink:href=", "href=").replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "")
    for variable, (light, _) in LIGHT_AND_DARK.items():
        text = text.replace(light, f"var(--{variable}, {light})")
    return text


def _foreign_letters_allowed() -> warnings.catch_warnings[None]:
    """A name may hold letters that the plot's font lacks; the reader's browser has its own."""
    return warnings.catch_warnings(action="ignore", category=UserWarning)
