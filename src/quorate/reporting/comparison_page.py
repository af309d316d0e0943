"""The report of a comparison: one self-contained page whose slider goes over the allowed errors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import escape
from pathlib import PurePath
from typing import TYPE_CHECKING

from quorate.assurance.bootstrap import RESAMPLES
from quorate.assurance.summary import exact_interval
from quorate.reporting import comparison_plots as plots
from quorate.reporting.comparison import Comparison, Point, Recommendation
from quorate.reporting.comparison_parts import (
    THOUSAND,
    area_table,
    best_point,
    classes_table,
    differences_table,
    edges_table,
    effort_table,
    glance_table,
    methods_table,
    savings_table,
)
from quorate.reporting.comparison_wording import (
    allowed,
    ends,
    is_floor,
    number,
    opening,
    priced,
    share,
    stops_by_error,
    thresholds,
    wrong_of,
)
from quorate.reporting.page import (
    Markup,
    footer,
    gallery,
    header,
    page,
    pairs,
    paragraph,
    plot,
    safe,
    section,
    stored,
    table,
    tiles,
)
from quorate.reporting.style import to_svg
from quorate.reporting.wording import count, counted, decimal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEW = 8
"""Most allowed errors whose names all stand under the slider."""

LEARNS = "learns who agrees with whom, asks the expert whose vote tells most, stops by its stated error"
ABOUT = {
    "bayes": LEARNS,
    "bayes:quorate": f"the shared-evidence model: {LEARNS}",
    "bayes:paper": f"the paper's model: {LEARNS}",
    "infexp": "takes the panel for a sample of one large crowd (INFEXP, a rival), stops by its stated error",
    "confusion": "a confusion matrix for each expert and a calibrated classifier (a rival), stops by its stated error",
    "majority": "asks N experts in panel order and takes their majority; states no doubt",
    "until-determined": "asks in random order until the votes decide by themselves: never wrong, the cost to beat",
    "all": "asks everybody",
    "classifier": "asks nobody",
    "hindsight": "a floor, no method: bayes with its model fitted on every vote of the table before the first case",
}


SMALL_PRINT = (
    "Small figures are 95 % intervals. Error: share of the cases settled otherwise than the whole panel would have; "
    "“above” marks more than is allowed. Stated error: what the method itself said, on average. ECE: how far the two "
    "lie apart (top label, 15 bins). Wrong: of the cases that the panel decides. No human: settled on the classifiers "
    "alone."
)
EDGES = (
    "First and last: queries a case in the first and the last cases of a run. The rest: each expert's share of all "
    "queries that the method made."
)
AREA = (
    "Area under the error-cost curve over the costs that every curve reaches, so that no single allowed error decides: "
    "smaller is better. A method of a single point has none."
)


def render_comparison(comparison: Comparison, *, version: str) -> str:
    """The page as text; the same comparison gives the same page."""
    title = f"Methods compared on {PurePath(comparison.table).name}"
    limits = thresholds(comparison)
    shown = opening(limits)
    chosen = f'<span class="allowed">{safe(allowed(limits[shown]))}</span>'

    def switched(part: Callable[[Comparison, float], Markup]) -> Markup:
        return _switched(comparison, shown, part)

    return page(
        title,
        _opening(comparison, title, shown),
        _control(comparison, shown),
        _stack([_tiles(comparison, found) for found in _recommendations(comparison)], shown),
        section("Plots", gallery(_plots(comparison, shown))),
        section(Markup(f"Methods at {chosen} error allowed"), switched(methods_table), *_small_print(comparison)),
        section("Every allowed error at a glance", glance_table(comparison)),
        section(
            "Votes and money saved" if priced(comparison) else "Votes saved",
            switched(savings_table),
            _whole_panel(comparison),
        ),
        section("Is the difference more than luck?", *_differences(comparison, switched)),
        section("Error by class", switched(classes_table)),
        section("Over time, and who is asked", switched(edges_table), paragraph(EDGES, "note")),
        section("Whole curves", area_table(comparison), paragraph(AREA, "note")),
        section("How it was measured", *_measured(comparison)),
        *([section("What failed", _failures(comparison))] if comparison.failures else []),
        footer(f"Made by quorate {version}. This file fetches nothing: it holds all that it shows."),
        _script(limits, shown),
        css=stored("comparison.css"),
    )


def _recommendations(comparison: Comparison) -> list[Recommendation]:
    return sorted(comparison.recommendations, key=lambda found: found.max_error)


def _now(at: int, shown: int) -> str:
    """The attributes of a part that is in force at one allowed error."""
    return f'data-at="{at}"' + (' class="now"' if at == shown else "")


def _stack(parts: list[Markup], shown: int) -> Markup:
    """Parts in one place, as high as the highest: what follows does not jump when another is shown."""
    inner = "".join(f"<div {_now(at, shown)}>{part.html}</div>\n" for at, part in enumerate(parts))
    return Markup(f'<div class="stack">{inner}</div>')


def _switched(comparison: Comparison, shown: int, part: Callable[[Comparison, float], Markup]) -> Markup:
    """A part for each allowed error: one at a time by the slider, or unfolded one by one where no script runs."""
    inner = "\n".join(
        f"<details {_now(at, shown)}{' open' if at == shown else ''}>"
        f"<summary>At {safe(allowed(max_error))} error allowed</summary>\n{part(comparison, max_error).html}</details>"
        for at, max_error in enumerate(thresholds(comparison))
    )
    return Markup(inner)


def _opening(comparison: Comparison, title: str, shown: int) -> Markup:
    leads = _stack([paragraph(found.text, "lead") for found in _recommendations(comparison)], shown)
    parts = [Markup(f'<div aria-live="polite">{leads.html}</div>')]
    if comparison.failures:
        failed = counted(len(comparison.failures), "run")
        parts.insert(0, paragraph(f"{failed} failed and left no figures; the last section names them.", "warning"))
    return header("quorate · comparison of methods", title, *parts)


def _control(comparison: Comparison, shown: int) -> Markup:
    """The slider over the allowed errors; it needs the script and is not shown without it."""
    limits = thresholds(comparison)
    if len(limits) == 1:
        # nothing to choose from, but the script and the keyboard still find what they look for
        note = f"One error was allowed: {allowed(limits[0])}."
        return Markup(f'{paragraph(note, "note").html}<input type="hidden" id="allowed" value="0">')
    names = "".join(f"<span {_now(at, shown)}>{safe(allowed(limit))}</span>" for at, limit in enumerate(limits))
    return Markup(
        '<div class="control"><label for="allowed">Error you allow '
        f'<output id="allowed-value" for="allowed">{safe(allowed(limits[shown]))}</output></label>\n'
        f'<div><input type="range" id="allowed" min="0" max="{len(limits) - 1}" step="1" value="{shown}" '
        f'aria-valuetext="{escape(allowed(limits[shown]))}">\n'
        f'<div class="ticks{" many" if len(limits) > FEW else ""}" aria-hidden="true">{names}</div></div></div>'
    )


def _tiles(comparison: Comparison, found: Recommendation) -> Markup:
    point = best_point(comparison, found.max_error)
    panel = decimal(comparison.panel_queries)
    if found.method is None or point is None:
        return tiles([("Recommended", "everyone", f"no method kept within {allowed(found.max_error)}")])
    saved = comparison.panel_queries - point.queries.value
    cells = [
        ("Recommended", found.method, f"the cheapest that kept within {allowed(found.max_error)}"),
        ("Queries a case", number(point.queries.value), f"of {panel}{_between(ends(point.queries, number))}"),
        ("Saved", share(point.saved_share.value), f"{count(round(THOUSAND * saved))} votes in {count(THOUSAND)} cases"),
        ("Error", share(point.error.value), f"{wrong_of(point)} wrong; {_doubt(comparison, point)}"),
    ]
    if priced(comparison):
        whole = number(comparison.panel_cost)
        cells[2] = ("Saved", share(point.saved_share.value), f"a case costs {number(point.cost.value)} of {whole}")
    return tiles(cells)


def _between(interval: str) -> str:
    return f"; interval {interval}" if interval else ""


def _doubt(comparison: Comparison, point: Point) -> str:
    """How large the error may truly be; resampling knows no error that was never made."""
    if not point.wrong:
        return f"may truly be up to {share(_unseen(comparison))}"
    return f"interval {ends(point.error, share)}"


def _unseen(comparison: Comparison) -> float:
    """Upper end of the exact interval of an error that was not seen in as many distinct cases."""
    return exact_interval(0, min(comparison.cases, comparison.runs * comparison.run_length))[1]


def _drawn(figure: Figure, name: str, shown: int) -> str:
    """A plot whose groups of one allowed error follow the slider."""

    def follow(found: re.Match[str]) -> str:
        return f'<g id="{found[1]}" {_now(int(found[2]), shown)}'

    return re.sub(rf'<g id="({name}-at-(\d+)-[\w-]+)"', follow, to_svg(figure, name))


def _plots(comparison: Comparison, shown: int) -> list[Markup]:
    cheapest = "; ".join(
        f"{allowed(found.max_error)} allowed: {found.method or 'none'}" for found in _recommendations(comparison)
    )
    drawn = [
        plot(
            "tradeoff",
            "What each method costs, and how often it is wrong",
            _drawn(plots.error_cost(comparison), "tradeoff", shown),
            f"Error over cost of each method. Recommended at {cheapest}.",
            "Down and to the left is better. Large marks and the dashed line belong to the error you allow, the ring "
            "to the recommended method. Thin lines are 95 % intervals. Grey methods do the same whatever is allowed."
            + _floor_note(comparison),
        ),
        plot(
            "promise",
            "Is the promise kept?",
            _drawn(plots.promise(comparison), "promise", shown),
            "Realised and stated error of each method beside the error allowed.",
            "A filled mark above the black line: more errors than were allowed. A hollow mark below its filled one: "
            "the method states less doubt than it should. Methods that do not stop by a stated error promise nothing "
            "and are left out.",
        ),
        plot(
            "classes",
            "Where the errors are",
            _drawn(plots.by_class(comparison), "classes", shown),
            "Error of each method over the cases of each outcome, at the error allowed; a table below has the numbers.",
            "At the error you allow, grouped by what the whole panel decides. An error that is small over all cases "
            "may lie in one class alone.",
        ),
        plot(
            "time",
            "Queries over time",
            _drawn(plots.over_time(comparison), "time", shown),
            "Queries a case along the stream at the error allowed; a table below has the first and the last cases.",
            "At the error you allow, mean over the runs. A method that learns asks less as it goes.",
        ),
    ]
    if not any(stops_by_error(curve) and not is_floor(curve) for curve in comparison.curves):
        del drawn[1]
    return drawn


def _floor_note(comparison: Comparison) -> str:
    if not any(map(is_floor, comparison.curves)):
        return ""
    return " The dashed black line is a floor, no method: its model knew every vote before the first case."


def _small_print(comparison: Comparison) -> list[Markup]:
    notes = [SMALL_PRINT]
    ties = max((point.ties for curve in comparison.curves for point in curve.points), default=0)
    if ties:
        notes.append(
            f"{counted(ties, 'case')} of the runs end in a tie of the panel itself, where no outcome is fully right. "
            "In the error each counts as the share that is wrong, even if everyone is asked; the count of wrong cases "
            "leaves them out."
        )
    return [paragraph(note, "note") for note in notes]


def _whole_panel(comparison: Comparison) -> Markup:
    votes = count(round(THOUSAND * comparison.panel_queries))
    price = f", which cost {count(round(THOUSAND * comparison.panel_cost))}" if priced(comparison) else ""
    return paragraph(f"In {count(THOUSAND)} cases the whole panel casts {votes} votes{price}.", "note")


def _differences(
    comparison: Comparison, switched: Callable[[Callable[[Comparison, float], Markup]], Markup]
) -> list[Markup]:
    if not comparison.differences:
        text = "No model of the experts was compared with another method: add bayes to the methods to see it."
        return [paragraph(text, "note")]
    text = (
        "First minus second, on the same cases of the same runs: a negative number is in favour of the first. Only an "
        "interval that excludes 0 shows a difference; where it holds 0, these votes cannot tell the two apart."
    )
    return [switched(differences_table), paragraph(text, "note")]


def _measured(comparison: Comparison) -> list[Markup]:
    runs, length, cases = comparison.runs, comparison.run_length, comparison.cases
    texts = [
        f"Every method walked the same {counted(runs, 'run')} of {counted(length, 'case')} out of the {count(cases)} "
        "of the table, as if the cases arrived one by one; it saw a vote only after asking for it and started each run "
        f"knowing nothing. An outcome is right if it is the target ({comparison.target}) of all recorded votes.",
        f"Intervals come from {count(RESAMPLES)} tables whose rows are drawn anew. Runs share rows, so that a row is "
        "drawn with everything that any run did on it; to resample runs would take the luck of one row for that of "
        "several. Intervals say how much other cases of the same kind would change a figure, not what happens when "
        "the cases, the experts or the classifiers change.",
        "Where a figure never varies, no interval is shown. A method that made no error may still make some: "
        f"resampling invents none, but with {count(min(cases, runs * length))} distinct cases an error of up to "
        f"{share(_unseen(comparison))} can stay unseen (exact 95 % interval).",
    ]
    if any(map(is_floor, comparison.curves)):
        texts.append(
            "What is fitted in hindsight is the exception: its model knew every vote of the table before the first "
            "case. It is a floor, which shows what there is to gain by learning faster: it is never recommended, and "
            "has no part in the differences and areas."
        )
    methods = [curve.method for curve in comparison.curves]
    kinds = dict.fromkeys(method if method in ABOUT else method.partition(":")[0] for method in methods)
    known = [("majority:N" if kind == "majority" else kind, ABOUT.get(kind, "")) for kind in kinds]
    facts = [
        ("table", comparison.table),
        ("SHA-256 of the data", comparison.data_sha256[:16] + "…"),
        ("target", comparison.target),
        ("experts", ", ".join(comparison.experts)),
        ("classes", ", ".join(comparison.outcomes)),
        ("runs", f"{runs} of {counted(length, 'case')}"),
        ("seed", str(comparison.seed)),
    ]
    if priced(comparison):
        facts.append(("cost of a vote", ", ".join(f"{who} {decimal(cost)}" for who, cost in comparison.costs.items())))
        facts.append(("costs weighed in choosing", "no" if comparison.cost_blind else "yes"))
    if comparison.chooser is not None:
        facts.append(("chooser of the models", comparison.chooser))
    about = table("What each method does", ("Method", "What it does"), known)
    return [*(paragraph(text) for text in texts), about, effort_table(comparison), pairs(facts)]


def _failures(comparison: Comparison) -> Markup:
    listed = "".join(f"<li>{safe(failure)}</li>" for failure in comparison.failures)
    return Markup(f'<ul class="plain">{listed}</ul>')


def _script(limits: tuple[float, ...], shown: int) -> Markup:
    """The allowed errors as data, and the script that shows one of them."""
    data = {"at": shown, "allowed": [{"error": limit, "text": allowed(limit)} for limit in limits]}
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    held = f'<script type="application/json" id="allowed-errors">{text}</script>'
    return Markup(f"{held}\n<script>{stored('comparison.js')}</script>")
