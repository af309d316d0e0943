"""A study at a glance: cases, votes saved, the error stated and the error audited, experts, and what was learned."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from quorate.assurance.audit import Audit, Checked, audited
from quorate.core.case import Case
from quorate.core.protocols import Target
from quorate.service.changing import open_keys
from quorate.service.live import LiveStudy
from quorate.storage import listing
from quorate.study.events import Settled
from quorate.study.state import State

RECENT = 2000
"""Settled cases that the plots of a board go back to."""


@dataclass(frozen=True)
class ExpertLine:
    """One expert of a study."""

    name: str
    cost: float
    votes: int
    open: int  # questions on their desk
    passed: int  # questions that they let lapse
    away: bool
    retired: bool


@dataclass(frozen=True)
class Savings:
    """What was asked of settled cases, beside what asking everyone would have taken."""

    cases: int
    votes: int
    panel_votes: int
    cost: float
    panel_cost: float
    share: float | None  # of the panel's cost that was saved


@dataclass(frozen=True)
class Learning:
    """What was learned, and how it is."""

    fits: int
    cases: int  # that the fit in force has seen, or that were there when it was made and are too old by now
    history: int
    window: int | None  # learned from so many recent cases only
    healthy: bool
    reasons: tuple[str, ...]
    running: bool
    problem: str | None  # why the last fit was not adopted


@dataclass(frozen=True)
class Board:
    """A study at a glance."""

    study: str
    about: str
    target: str
    max_error: float
    min_votes: int
    audit_share: float
    counts: dict[str, int]  # open, settled, imported
    waiting: int  # open cases for which nobody has time
    needs_person: int  # open cases that everyone has let pass, with fewer votes than the rules want
    no_human: int  # settled cases that no person saw
    unsure: int  # settled because of a limit or a budget, above the allowed error
    savings: Savings
    stated_error: float | None  # mean over settled cases; of audited ones, before everyone was asked
    audit: Audit
    under_audit: int  # audited cases that would have settled, and whose panel has not finished voting
    experts: tuple[ExpertLine, ...]
    learning: Learning
    queries: tuple[int, ...]  # human votes of recent settled cases, oldest first
    version: int


def board(live: LiveStudy, *, running: bool = False, problem: str | None = None) -> Board:
    """A study at a glance, as it was after the last change that is stored."""
    version, study = live.version, live.read(lambda shown: shown)  # what is shown is at least as new
    state, health = study.state, study.predictor.health
    loads = {name: len(live.questions(name)) for name in study.panel.experts}
    config = live.stored.config
    settled = [one for one in state.settled.values() if one is not None]
    checked, under = _audits(state, study.target)
    return Board(
        study=live.name,
        about=config.service.about,
        target=config.target,
        max_error=config.options.max_error,
        min_votes=config.options.rules.min_votes,
        audit_share=config.service.audit_share,
        counts=listing.counts(live.stored.db, live.stored.id),
        waiting=live.desk.waiting,
        needs_person=sum(map(state.left_by_all, open_keys(study))),
        no_human=sum(one.human_votes == 0 for one in settled),
        unsure=sum(not one.kept for one in settled),
        savings=_savings(state, settled),
        stated_error=float(np.mean([_stated(state, one) for one in settled])) if settled else None,
        audit=audited(checked),
        under_audit=under,
        experts=_experts(state, loads),
        learning=Learning(
            state.fits,
            state.learned,
            len(state.history),
            study.method.window,
            health.healthy,
            health.reasons,
            running,
            problem,
        ),
        queries=tuple(one.human_votes for one in settled[-RECENT:]),
        version=version,
    )


def _audits(state: State, target: Target) -> tuple[list[Checked], int]:
    """Audited cases whose whole panel has voted, and on how many it still does."""
    checked, under = [], 0
    for key, would_be in state.audits.items():
        if would_be is None:  # which are drawn is not told before
            continue
        if state.settling(key) is None:
            under += 1
            continue
        shares = target.forced(state.known(key).vote_row(), state.known(key).unasked)
        if shares is None:  # somebody let the question pass, and their vote would have mattered
            continue
        right = float(shares[target.outcomes.index(would_be.outcome)])
        checked.append(Checked(would_be.probability, would_be.stated_error, right))
    return checked, under


def _stated(state: State, settled: Settled) -> float:
    """The error stated when asking would have stopped: an audit goes on to where none is left."""
    would_be = state.audits.get(settled.key)
    return settled.stated_error if would_be is None else would_be.stated_error


def _savings(state: State, settled: list[Settled]) -> Savings:
    costs = np.array(state.panel.costs)
    votes = panel_votes = 0
    cost = panel_cost = 0.0
    for one in settled:
        case = state.known(one.key)
        there = np.array(case.available)
        votes += len(case.votes)
        panel_votes += int(there.sum())
        cost += float(sum(costs[expert] for expert, _ in case.votes))
        panel_cost += float(costs[: len(there)][there].sum())
    share = 1 - cost / panel_cost if panel_cost else None
    return Savings(len(settled), votes, panel_votes, cost, panel_cost, share)


def _experts(state: State, loads: dict[str, int]) -> tuple[ExpertLine, ...]:
    cast: Counter[int] = Counter()
    for place in state.places.values():
        case = place if isinstance(place, Case) else state.history.cases[place]
        cast.update(expert for expert, _ in case.votes)
    passed: Counter[str] = Counter()
    for asked in state.asked.values():
        passed.update(asked.passed)
    return tuple(
        ExpertLine(
            name=name,
            cost=state.panel.costs[h],
            votes=cast[h],
            open=loads[name],
            passed=passed[name],
            away=h in state.away,
            retired=h in state.retired,
        )
        for h, name in enumerate(state.panel.experts)
    )
