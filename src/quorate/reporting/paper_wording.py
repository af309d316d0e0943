"""The paper's results in words: names of methods, and numbers beside the paper's."""

from __future__ import annotations

import math

from quorate.reporting.comparison_wording import NOTHING, number, share, signed, signed_number
from quorate.reporting.paper import Claim, Number, Unit
from quorate.reporting.paper_facts import CONFUSION, FLOOR, INFEXP, OURS, THEIRS

QUICK = "quick run: 60 cases, three allowed errors; not the paper's protocol"
LABELS = {
    THEIRS: "preset paper",
    OURS: "preset quorate",
    INFEXP: "INFEXP",
    CONFUSION: "confusion",
    FLOOR: "floor: fitted in hindsight",
}


def label(name: str) -> str:
    """What a method is called where results are read.

    >>> label("bayes:paper"), label("ChestX-ray")
    ('preset paper', 'ChestX-ray')
    """
    return LABELS.get(name, name)


def said(value: float, unit: Unit) -> str:
    """A figure as it is written.

    >>> said(2.546, "queries"), said(0.0123, "percent"), said(0.0093, "calibration")
    ('2.55', '1.2 %', '0.0093')
    """
    if math.isnan(value):
        return NOTHING
    if unit == "queries":
        return number(value)
    return f"{value:.4f}" if unit == "calibration" else _percent(value)


def _percent(value: float) -> str:
    """Accuracies are compared to a tenth of a per cent."""
    return f"{100 * value:.1f} %" if value >= 0.1 else share(value)


def interval(one: Number) -> str:
    """The 95 % interval of ours; empty where there is none.

    >>> from quorate.reporting.paper import Estimate
    >>> interval(Number("", "", "", Estimate(2.0, 1.9, 2.1, 0.05), "queries"))
    '1.90 to 2.10'
    """
    found = one.ours
    if found is None or not math.isfinite(found.low) or found.high - found.low < 1e-9:
        return ""
    return f"{said(found.low, one.unit)} to {said(found.high, one.unit)}"


def claimed(claim: Claim, unit: Unit) -> str:
    """What the paper says.

    >>> claimed(Claim(0.001, below=True), "calibration"), claimed(Claim(words="never"), "queries")
    ('< 0.001', 'never')
    """
    if claim.value is None:
        return claim.words
    text = f"{claim.value:.3f}" if unit == "calibration" else said(claim.value, unit)
    return f"< {text}" if claim.below else text


def against(one: Number) -> str:
    """Ours beside the paper's: what it says, the difference, and the standard error of ours.

    >>> from quorate.reporting.paper import Estimate
    >>> against(Number("", "", "", Estimate(2.28, 2.2, 2.4, 0.05), "queries", Claim(2.55)))
    'paper 2.55, −0.27 ± 0.05'
    """
    if one.claim is None:
        return ""
    theirs = f"paper{':' if one.claim.value is None else ''} {claimed(one.claim, one.unit)}"
    gap = one.difference
    if gap is None or one.ours is None:
        return theirs
    doubt = "" if math.isnan(one.ours.error) else f" ± {_size(one.ours.error, one.unit)}"
    return f"{theirs}, {_gap(gap, one.unit)}{doubt}"


def _gap(gap: float, unit: Unit) -> str:
    if unit == "queries":
        return signed_number(gap)
    if unit == "percent":
        return signed(gap) if abs(gap) >= 0.0005 else "0 %"
    return f"{gap:+.4f}".replace("-", "\N{MINUS SIGN}")


def _size(error: float, unit: Unit) -> str:
    return share(error) if unit == "percent" else said(error, unit)
