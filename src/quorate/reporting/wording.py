"""Figures in words: the sentence a report opens with, and the rows that every table of results shows."""

from __future__ import annotations

import math

from quorate.reporting.replay import ReplayReport

Row = tuple[str, str, str]
"""A label, its value and what it means."""


def percent(share: float) -> str:
    """A share as a percentage with two figures that count, never rounded to none.

    >>> percent(0.584), percent(0.004), percent(0.00012), percent(0.0), percent(1e-7), percent(1.0)
    ('58 %', '0.40 %', '0.012 %', '0 %', '< 0.001 %', '100 %')
    """
    value = 100 * share
    if value == 0:
        return "0 %"
    if 0 < value < 0.001:
        return "< 0.001 %"
    if 99.5 <= value < 100:
        return f"{math.floor(value * 100) / 100:.2f} %"
    places = 0 if value >= 9.95 else 1 - math.floor(math.log10(value) + 1e-9)
    return f"{value:.{places}f} %"


def count(number: int) -> str:
    """A whole number with its thousands set apart.

    >>> count(12500)
    '12,500'
    """
    return f"{number:,}"


def counted(number: int, noun: str) -> str:
    """A number and its noun, plural where it must be.

    >>> counted(1, "case"), counted(3, "vote")
    ('1 case', '3 votes')
    """
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"


def decimal(number: float, places: int = 2) -> str:
    """A number without needless zeros.

    >>> decimal(5.0), decimal(2.084), decimal(4.5)
    ('5', '2.08', '4.5')
    """
    text = f"{number:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def amount(number: float) -> str:
    """A cost with its thousands set apart, without needless zeros.

    >>> amount(1250.0), amount(3.5), amount(0.0)
    ('1,250', '3.5', '0')
    """
    text = f"{number:,.2f}"
    return text.rstrip("0").rstrip(".")


def headline(report: ReplayReport) -> str:
    """What the replay came to, in plain sentences."""
    found = report.summary
    who = "quorate" if report.method.startswith("bayes") else f"The method {report.method}"
    if report.method.startswith("hindsight"):
        who = "A floor, not a method: with its model fitted on every vote of the table beforehand, quorate"
    whole = amount(found.full_panel_cost) if report.priced else counted(found.full_panel_votes, "vote")
    wrong = "none" if found.errors == 0 else count(found.errors)
    sentences = [
        f"{who} asked {decimal(found.mean_queries)} of {decimal(found.full_panel_queries)} experts a case on average "
        f"and was wrong on {wrong} of {count(found.decided)}; the whole panel would have cost "
        f"{whole}, this took {amount(found.cost)} ({percent(found.saved_share)} saved)."
    ]
    if found.ties:
        verb = "ends" if found.ties == 1 else "end"
        ties = counted(found.ties, "further case")
        sentences.append(f"{ties} {verb} in a tie of the panel itself, where no outcome is fully right.")
    if found.no_human:
        verb = "was" if found.no_human == 1 else "were"
        share = percent(found.no_human_share)
        sentences.append(f"{counted(found.no_human, 'case')} ({share}) {verb} settled with no human vote.")
    if found.limited:
        verb = "was" if found.limited == 1 else "were"
        limited = f"{counted(found.limited, 'case')} {verb} settled by a limit on votes or the budget"
        sentences.append(f"{limited}, {count(found.unsure) if found.unsure else 'none'} of them unsure.")
    if found.forced_asks:
        verb = "was" if found.forced_asks == 1 else "were"
        asked = counted(found.forced_asks, "vote")
        sentences.append(f"{asked} {verb} asked for only because a forecast was not healthy.")
    return " ".join(sentences)


def result_rows(report: ReplayReport) -> list[Row]:
    """The main figures."""
    found = report.summary
    low, high = found.error_interval
    edge = min(50, found.cases)
    rows = [
        ("Cases", count(found.cases), f"{counted(len(report.experts), 'expert')}, {len(report.classes)} classes"),
        ("Queries a case", f"{found.mean_queries:.2f}", f"of {decimal(found.full_panel_queries)} on the whole panel"),
        *_rounds(report),
        ("First and last cases", f"{found.queries_first_50:.2f} → {found.queries_last_50:.2f}", _edge(edge)),
        *_saved(report),
        (
            "Wrong",
            f"{count(found.errors)} of {count(found.decided)}",
            f"95 % interval of the rate {percent(low)} to {percent(high)}",
        ),
    ]
    if found.ties:
        rows.append(("Ties of the panel", count(found.ties), "left out of the count of wrong cases"))
    allowed = None if report.loss else report.max_error
    limit = "" if allowed is None else f"; asked for: at most {100 * allowed:g} % a case"
    rows += [
        ("Error rate", percent(found.error_rate), "expected error; a tie counts as the share that is wrong"),
        ("Stated error", percent(found.stated_error), f"mean of what was stated when a case settled{limit}"),
        *_lost(report),
        ("Calibration error", percent(found.ece), "top label, 15 bins of equal width"),
        (
            "No human vote",
            counted(found.no_human, "case"),
            f"{percent(found.no_human_share)} were settled on the classifiers alone",
        ),
    ]
    if found.limited:
        unsure = f"a limit on votes or the budget kept from asking on; unsure: {count(found.unsure)}"
        rows.append(("Settled by a limit", counted(found.limited, "case"), unsure))
    return rows


def _rounds(report: ReplayReport) -> list[Row]:
    """How often votes were waited for, where several experts may be asked at once."""
    found, most = report.summary, report.settings.get("in_flight")
    if most in (None, 1):
        return []
    return [("Rounds a case", f"{found.mean_rounds:.2f}", f"in each up to {most} experts are asked at once")]


def _lost(report: ReplayReport) -> list[Row]:
    """What was lost where outcomes are not equally grave, and how often each of the others was missed."""
    found = report.summary
    if found.mean_loss is None or found.stated_loss is None:
        return []
    limit = "" if report.max_error is None else f"; asked for: at most {report.max_error:g} a case"
    weights = ", ".join(f"{name} {weight:g}" for name, weight in (report.loss or {}).items())
    rows = [
        ("Mean loss", f"{found.mean_loss:.3g}", f"a miss counts as grave as it is: {weights}, any other 1"),
        ("Stated loss", f"{found.stated_loss:.3g}", f"mean of what was expected when a case settled{limit}"),
    ]
    for name, part in report.missed.items():
        low, high = part.interval
        seen = f"{count(part.errors)} of {count(part.cases)}"
        rows.append((f"Missed {name}", seen, f"95 % interval of the rate {percent(low)} to {percent(high)}"))
    return rows


def _saved(report: ReplayReport) -> list[Row]:
    """Votes and, where they cost something else, what they cost; the share saved with its interval."""
    found = report.summary
    saved = f"{percent(found.saved_share)} saved"
    if report.saved is not None:
        saved += f", 95 % interval {percent(report.saved.low)} to {percent(report.saved.high)}"
    votes = f"of {count(found.full_panel_votes)}"
    if not report.priced:
        return [("Votes in all", count(found.votes), f"{votes}; {saved}")]
    cost = ("Cost", amount(found.cost), f"of {amount(found.full_panel_cost)}; {saved}")
    return [("Votes in all", count(found.votes), votes), cost]


def _edge(edge: int) -> str:
    return f"queries a case in the first and the last {edge}" if edge > 1 else "queries in the only case"


def health_rows(report: ReplayReport) -> list[Row]:
    """Whether the fits behind the forecasts may be trusted, and what it cost where not."""
    sampler, found = report.sampler, report.summary
    nothing = "nothing was sampled"
    rows = [
        ("Fits", count(sampler.fits), "times the model was brought up to date with the cases settled so far"),
        (
            "Unhealthy fits",
            count(sampler.unhealthy_fits),
            "failed a check; no case is settled on them while anyone is left to ask",
        ),
        (
            "Worst R-hat",
            "none" if sampler.worst_rhat is None else f"{sampler.worst_rhat:.3f}",
            nothing
            if sampler.worst_rhat is None
            else "agreement of the chains, or of halves of what is carried; 1 is perfect",
        ),
        (
            "Worst ESS",
            "none" if sampler.worst_ess is None else count(round(sampler.worst_ess)),
            nothing
            if sampler.worst_ess is None
            else "effective sample size of the worst parameter, or of all particles",
        ),
        ("Forced asks", count(found.forced_asks), "queries made only because a forecast was not healthy"),
    ]
    if report.timing:
        time = report.timing
        rows += [
            (
                "Time",
                f"{time.seconds:.1f} s",
                f"{time.seconds_fitting:.1f} s fitting, {time.seconds_deciding:.1f} s deciding",
            ),
            ("Slow decisions", f"{time.decision_p95_ms:.0f} ms", "19 of 20 decisions took less"),
        ]
    return rows
