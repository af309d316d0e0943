"""The choosers by their names."""

from __future__ import annotations

from quorate.core.protocols import Chooser
from quorate.policy.information import InformationGain, PanelOrder, RandomOrder
from quorate.policy.lookahead import Lookahead
from quorate.policy.settling import SettlingChance
from quorate.policy.stopping import Rule

WEIGHING = ("entropy", "stop", "lookahead")
"""Choosers that weigh what a vote costs; the others ask the same whatever it costs."""


def orders() -> dict[str, Chooser]:
    """Choosers that look at no forecast.

    >>> list(orders())
    ['random', 'panel']
    """
    return {"random": RandomOrder(), "panel": PanelOrder()}


def choosers(rule: Rule) -> dict[str, Chooser]:
    """Choosers for a model that knows how experts vote together, and stops by a rule.

    >>> from quorate.policy.stopping import ErrorBelow
    >>> list(choosers(ErrorBelow(0.01)))
    ['entropy', 'stop', 'lookahead', 'random', 'panel']
    """
    ahead: dict[str, Chooser] = {"stop": SettlingChance(rule), "lookahead": Lookahead(rule)}
    return {"entropy": InformationGain(), **ahead, **orders()}
