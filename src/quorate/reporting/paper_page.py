"""The results of the paper as one self-contained page: every table and figure beside the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quorate.reporting.comparison_parts import beneath
from quorate.reporting.comparison_wording import NOTHING, allowed, share
from quorate.reporting.page import (
    Markup,
    Text,
    folded,
    footer,
    header,
    page,
    paragraph,
    plot,
    safe,
    section,
    stored,
    table,
    tag,
    tiles,
)
from quorate.reporting.paper import Number, Output, Results
from quorate.reporting.paper_plots import described, is_wide
from quorate.reporting.paper_wording import QUICK, against, interval, label, said
from quorate.reporting.wording import count, counted

CALIBRATION_ROOM = 0.005
"""How far above the paper's table our calibration error may lie."""

FOLDED = 14
"""Rows of a table beyond which it is folded away."""
CSS = ".card + .scroll, .card + details { margin-top: .9rem; } tbody th { min-width: 8rem; }"

PAPER = "Kelly, Boyd, Showalter, Steyvers and Smyth, Bayesian Inference for Correlated Human Experts and Classifiers"
LEAD = (
    f"Every table and figure of {PAPER} (ICML 2025), run again on recorded votes, beside the numbers that the paper "
    "states. “Preset paper” is exactly the paper's method, “preset quorate” is our default."
)
MEASURED = (
    "A run is a stream of 250 cases that starts with nothing learnt; the twelve runs of a data set are three blocks "
    "in each of four orders, those of CIFAR-10H the twelve blocks of its first 3,000 rows. A vote is seen only after "
    "it was asked for. Error is the share of the cases, of those that the panel decides, that were settled otherwise "
    "than all recorded votes would have.",
    "The small figures under a number are its 95 % interval. Beside the paper's number stand the difference, ours "
    "minus the paper's, and the standard error of ours: the larger of that over tables whose rows are drawn anew and "
    "that over runs. What the paper's own number may be off by is not known. Where no error was made, the interval is "
    "the exact one of as many distinct cases.",
)


def number_of(output: Output) -> str:
    """What the paper calls a table or figure; its name where the paper does not have it.

    >>> from quorate.reporting.paper import Dots
    >>> number_of(Output("fig2", "error-cost", "Error against queries", "", (), Dots("")))
    'Figure 2'
    """
    for word, name in {"fig": "Figure", "table": "Table"}.items():
        if output.name.startswith(word) and output.name[len(word) :].isdigit():
            return f"{name} {output.name[len(word) :]}"
    return output.name.capitalize()


def render_results(results: Results, drawings: Mapping[str, str], *, version: str) -> str:
    """The page as text; `drawings` holds the inline SVG of each output by its name."""
    title = "The paper's results, run again"
    parts = [paragraph(LEAD, "lead")]
    if results.quick:
        parts.insert(
            0, paragraph(f"This is a {QUICK}. Its numbers show that everything runs, nothing else.", "warning")
        )
    if results.failures:
        failed = counted(len(results.failures), "run")
        parts.insert(0, paragraph(f"{failed} failed and left no figures; the last section names them.", "warning"))
    parts += [paragraph(f"Left out: {said_}.", "note") for said_ in results.left_out]
    return page(
        title,
        header("quorate · results of the paper", title, *parts),
        tiles(_tiles(results)),
        *(_section(output, drawings[output.name], quick=results.quick) for output in results.outputs),
        *([section("Was the promise kept?", *_promises(results))] if results.promises else []),
        section("How it was measured", *(paragraph(text) for text in MEASURED), _facts(results)),
        *([section("What failed", _failures(results.failures))] if results.failures else []),
        footer(f"Made by quorate {version}. This file fetches nothing: it holds all that it shows."),
        css=stored("comparison.css") + CSS,
    )


def _tiles(results: Results) -> list[tuple[str, str, str]]:
    numbers = [one for output in results.outputs for one in output.numbers]
    kept = [promise for promise in results.promises if promise.kept]
    cells = [
        ("Outputs", count(len(results.outputs)), "tables and figures"),
        ("Beside the paper's", count(sum(one.difference is not None for one in numbers)), "numbers that it states"),
    ]
    if results.promises:
        what = "error not above what is allowed by more than chance"
        cells.append(("Promises kept", f"{len(kept)} of {len(results.promises)}", what))
    calibrated = [one for one in numbers if one.unit == "calibration" and one.difference is not None]
    if calibrated:
        within = sum((one.difference or 0.0) <= CALIBRATION_ROOM for one in calibrated)
        cells.append(("Calibrated", f"{within} of {len(calibrated)}", f"within the paper's ECE + {CALIBRATION_ROOM}"))
    return cells


def _section(output: Output, svg: str, *, quick: bool) -> Markup:
    title = number_of(output)
    head = Markup(f"{safe(title)} {tag('quick').html}") if quick else Markup(safe(title))
    numbers = numbers_table(output)
    long = len({(one.row, one.method) for one in output.numbers}) > FOLDED
    missing = f"{counted(output.missing, 'run')} of it are not finished; what they belong to is left out."
    return section(
        head,
        plot(output.name, output.title, svg, described(output), output.about, wide=is_wide(output)),
        *([paragraph(missing, "warning")] if output.missing else []),
        folded("The numbers", numbers) if long else numbers,
        *(paragraph(note, "note") for note in output.notes),
    )


def grid_of(output: Output) -> tuple[list[str], list[tuple[str, str]], dict[tuple[str, str, str], Number]]:
    """Columns, rows (with their methods) and what stands where they meet."""
    columns = list(dict.fromkeys(one.column for one in output.numbers))
    rows = list(dict.fromkeys((one.row, one.method) for one in output.numbers))
    return columns, rows, {(one.row, one.method, one.column): one for one in output.numbers}


def numbers_table(output: Output) -> Markup:
    """The numbers of an output, each beside the paper's."""
    columns, rows, found = grid_of(output)
    if not rows:
        return paragraph("No run of this is finished.", "note")
    cells: list[Sequence[Text]] = [
        [_head(row, method), *(_cell(found.get((row, method, column))) for column in columns)] for row, method in rows
    ]
    return table(output.title, ["", *(label(name) for name in columns)], cells, numbers=range(1, len(columns) + 1))


def _head(row: str, method: str) -> Markup:
    return beneath(row, label(method))


def _cell(one: Number | None) -> Markup:
    if one is None:
        return Markup(NOTHING)
    value = "never" if one.ours is None else said(one.ours.value, one.unit)
    notes = [interval(one), against(one), one.note if one.ours is not None else ""]
    return Markup(safe(value) + "".join(f"<small>{safe(note)}</small>" for note in notes if note))


def _promises(results: Results) -> list[Markup]:
    broken = [promise for promise in results.promises if not promise.kept]
    tried = counted(len(results.promises), "combination")
    text = (
        f"On {tried} of preset, data set and allowed error, the error was above what is allowed "
        f"by a one-sided 95 % bound over resampled rows on {len(broken) or 'none'}."
    )
    if not broken:
        return [paragraph(text)]
    rows: list[Sequence[Text]] = [
        [p.panel, label(p.method), allowed(p.max_error), share(p.error), share(p.at_least)] for p in broken
    ]
    heads = ("Data set", "Method", "Allowed", "Error", "At least")
    return [paragraph(text), table("Promises that were broken", heads, rows, numbers=(2, 3, 4))]


def _facts(results: Results) -> Markup:
    rows: list[Sequence[Text]] = [[name, count(cases), f"{digest[:16]}…"] for name, cases, digest in results.tables]
    runs = f"{results.runs} runs" + (", quick" if results.quick else "")
    found = table("Tables of votes", ("Table", "Cases", "SHA-256 of the data"), rows, numbers=(1,))
    return Markup(
        found.html + paragraph(f"{runs}; {results.seconds / 3600:.1f} hours of one core in all.", "note").html
    )


def _failures(failures: Sequence[str]) -> Markup:
    return Markup('<ul class="plain">' + "".join(f"<li>{safe(one)}</li>" for one in failures) + "</ul>")
