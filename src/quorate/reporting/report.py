"""The report of a replay: one self-contained page of words, tables and plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quorate.assurance.scored import Scored
from quorate.assurance.summary import WINDOW, is_wrong
from quorate.reporting import plots
from quorate.reporting.page import (
    Markup,
    Text,
    folded,
    footer,
    gallery,
    header,
    page,
    pairs,
    paragraph,
    plot,
    section,
    table,
    tag,
    tiles,
)
from quorate.reporting.portrait import portrait_parts
from quorate.reporting.replay import Correlation, ReplayReport
from quorate.reporting.style import to_svg
from quorate.reporting.wording import amount, count, counted, decimal, headline, health_rows, percent, result_rows

LISTED = 500
"""Most cases that a list shows; steps.csv holds them all."""

WIDE = 8
"""Agents whose map of correlations still fits beside another plot."""

HEADERS = ("Case", "Settled as", "The panel's outcome", "Votes asked for", "Stated error", "Marks")


def render_report(report: ReplayReport, *, version: str) -> str:
    """The page as text; the same report gives the same page."""
    results = table("Results", ("Figure", "Value", "Meaning"), result_rows(report), numbers=(1,))
    health = table("Sampler health", ("Check", "Value", "Meaning"), health_rows(report), numbers=(1,))
    return page(
        report.title,
        _opening(report),
        section("Results", results),
        section("Plots", gallery(_plots(report))),
        *_portrait(report),
        section("Sampler health", health),
        section("Cases to look at", *_cases(report.scored)),
        section("Settings", pairs(_settings(report.settings))),
        footer(f"Made by quorate {version}. This file fetches nothing: it holds all that it shows."),
    )


def _opening(report: ReplayReport) -> Markup:
    found = report.summary
    low, high = found.error_interval
    allowed = None if report.loss else report.max_error
    limit = "" if allowed is None else f", at most {100 * allowed:g} % wanted in each"
    cells = [
        ("Queries a case", f"{found.mean_queries:.2f}", f"of {decimal(found.full_panel_queries)} experts"),
        (
            "Cost saved" if report.priced else "Votes saved",
            percent(found.saved_share),
            f"{amount(found.cost)} instead of {amount(found.full_panel_cost)}",
        ),
        (
            "Wrong",
            f"{count(found.errors)} of {count(found.decided)}",
            f"95 % interval {percent(low)} to {percent(high)}",
        ),
        ("Stated error", percent(found.stated_error), f"mean of the cases{limit}"),
    ]
    if found.stated_loss is not None and found.mean_loss is not None:
        wanted = "" if report.max_error is None else f", at most {report.max_error:g} wanted in each"
        cells.append(("Mean loss", f"{found.mean_loss:.3g}", f"stated {found.stated_loss:.3g}{wanted}"))
    lead = paragraph(headline(report), "lead")
    return header("quorate · replay of recorded votes", report.title, lead, tiles(cells))


def _plots(report: ReplayReport) -> list[Markup]:
    found, scored = report.summary, report.scored
    left_out = f" {counted(found.ties, 'tied case')} left out." if found.ties else ""
    drawn = [
        plot(
            "queries",
            "Queries over time",
            to_svg(plots.queries_over_time(scored, found), "queries"),
            f"Queries of each case in order: {found.queries_first_50:.2f} a case at the start, "
            f"{found.queries_last_50:.2f} at the end, {decimal(found.full_panel_queries)} for the whole panel.",
            f"One stroke is one case; the line is the mean of the last {WINDOW} cases.",
        ),
        plot(
            "errors",
            "Errors stated and errors made",
            to_svg(plots.stated_and_actual(scored), "errors"),
            f"Errors so far over the cases: {found.errors} made in the end, "
            f"{sum(case.stated_error for case in scored if not case.tied):.2f} stated.",
            "Were every stated error true, the actual line would end inside the shaded range in 95 of 100 "
            f"replays: above it, the method claims too much; below it, it is too cautious.{left_out}",
        ),
        plot(
            "reliability",
            "Is the stated error true?",
            to_svg(plots.reliability_plot(scored), "reliability"),
            "Actual error with its interval beside the mean stated error, for cases grouped by stated error.",
            "Cases grouped by the error stated when they settled; at the right, how many of them were wrong. "
            f"The scale is a root, to give small errors room.{left_out}",
        ),
        plot(
            "classes",
            "Error by outcome",
            to_svg(plots.error_by_outcome(found), "classes"),
            "Wrong cases by the panel's outcome: "
            + ", ".join(f"{part.outcome} {part.errors} of {part.cases}" for part in found.by_outcome)
            + ".",
            f"Grouped by what the whole panel decides; exact 95 % intervals.{left_out}",
        ),
        plot(
            "asked",
            "Who was asked",
            to_svg(plots.who_was_asked(found), "asked"),
            "Share of the cases each expert was asked in: "
            + ", ".join(f"{a.expert} {percent(a.cases / found.cases)}" for a in found.by_expert)
            + f"; no one in {percent(found.no_human_share)}.",
            "Split by whether the expert was asked first, second and so on.",
        ),
    ]
    if report.correlation is not None and len(report.correlation.agents) > 1:
        drawn.append(_correlation(report.correlation))
    return drawn


def _portrait(report: ReplayReport) -> list[Markup]:
    if report.portrait is None:
        return []
    parts = portrait_parts(report.portrait, model=str(report.settings.get("model")))
    return [section("What was learned about the panel", *parts)]


def _correlation(correlation: Correlation) -> Markup:
    base = correlation.classes[-1]
    values = correlation.by_agent()
    found = [
        (float(values[i, j]), correlation.agents[j], correlation.agents[i])
        for i in range(len(correlation.agents))
        for j in range(i)
    ]
    value, one, other = max(found)
    if len(correlation.classes) == 2:
        what = f"the latent log-ratio of {correlation.classes[0]} to {base}"
    else:
        what = f"the latent log-ratios of each class to {base}, mean over the {len(correlation.classes) - 1} of them"
    return plot(
        "correlation",
        "Who goes with whom",
        to_svg(plots.correlation_map(correlation), "correlation"),
        f"Correlation of each pair of agents; the largest is {value:.2f}, between {one} and {other}.",
        f"Posterior mean correlation, after the last fit, of {what}. Near 1: two agents lean the same way on the same "
        "cases; near 0: the one says little about the other. After few cases such a mean is still close to its prior.",
        wide=len(correlation.agents) > WIDE,
    )


def _cases(scored: Sequence[Scored]) -> list[Markup]:
    wrong = [case for case in scored if is_wrong(case)]
    tied = [case for case in scored if case.tied]
    unseen = [case for case in scored if case.human_votes == 0]
    limited = [case for case in scored if case.limited]
    parts = [paragraph("No case that the panel decides was settled wrongly.")] if not wrong else []
    for title, cases in (
        ("Wrong", wrong),
        ("The panel itself is tied", tied),
        ("Settled with no human vote", unseen),
        ("Settled by a limit on votes or the budget", limited),
    ):
        if cases:
            shown = table(title, HEADERS, [_case_row(case) for case in cases[:LISTED]], numbers=(4,))
            rest = len(cases) - LISTED
            more = [paragraph(f"And {counted(rest, 'more case')}, in steps.csv.", "note")] if rest > 0 else []
            name = f"{title}: {counted(len(cases), 'case')}"
            if title == "Wrong":
                parts += [paragraph(name), shown, *more]
            else:
                parts.append(folded(name, shown, *more))
    return parts


def _case_row(case: Scored) -> tuple[Text, ...]:
    votes = ", ".join(f"{who}: {vote}" for who, vote in zip(case.asked, case.votes, strict=True))
    marks = [tag("no human vote")] if case.human_votes == 0 else []
    if is_wrong(case):
        marks.append(tag("wrong"))
    if case.tied:
        marks.append(tag("tie"))
    if case.limited:
        marks += [tag(case.reason)] if case.kept else [tag(case.reason), tag("unsure")]
    joined = Markup(" ".join(mark.html for mark in marks))
    truth = " or ".join(case.truth)
    return case.key, case.outcome, truth, votes or "none", percent(case.stated_error), joined


def _settings(settings: Mapping[str, object]) -> list[tuple[str, str]]:
    """Every setting by its own name, groups of them laid open."""
    found: list[tuple[str, str]] = []
    for name, value in settings.items():
        found += _settings(value) if isinstance(value, Mapping) else [(str(name), _value(value))]
    return found


def _value(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
