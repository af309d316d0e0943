"""What each verb of a study writes: it is checked against the state, and comes out as an event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quorate.core.case import Case, Show, open_case
from quorate.core.decision import Query, Settle
from quorate.core.panel import Panel
from quorate.errors import StudyError
from quorate.study.events import (
    Abstained,
    Amended,
    Audited,
    Away,
    Back,
    Expired,
    Imported,
    Joined,
    Leased,
    Opened,
    Reopened,
    Replaced,
    Restored,
    Retired,
    Returned,
    Settled,
    Voted,
    Why,
    Withdrawn,
)
from quorate.study.state import State

Probabilities = Mapping[str, Sequence[float] | None]
"""Each classifier's probabilities by name; one that is left out or None is missing."""


@dataclass(frozen=True)
class Verbs:
    """A study's state and name: what is refused is refused in that name, before anything is written."""

    state: State
    name: str

    @property
    def panel(self) -> Panel:
        """Everyone who ever belonged to the study."""
        return self.state.panel

    @property
    def experts(self) -> tuple[str, ...]:
        """Experts who have not retired."""
        return tuple(self.panel.experts[h] for h in self.state.experts)

    @property
    def classifiers(self) -> tuple[str, ...]:
        """Classifiers whose probabilities new cases come with."""
        return tuple(self.panel.classifiers[m] for m in self.state.classifiers)

    def open_case(self, key: str) -> Case:
        """An open case."""
        case = self.state.open_case(key)
        if case is None:
            state = "has settled" if key in self.state.places else "was never opened"
            raise StudyError(f"case {key!r} {state}; expected an open case of study {self.name!r}")
        return case

    def known_case(self, key: str) -> Case:
        """A case that was opened or imported."""
        if key not in self.state.places:
            raise StudyError(f"case {key!r} was never opened in study {self.name!r}; open it first, or check its key")
        return self.state.known(key)

    def open(
        self,
        key: str,
        probabilities: Probabilities,
        *,
        available: Sequence[str] | None = None,
        audit: bool = False,
        show: Show | None = None,
    ) -> Opened:
        """A case arrives."""
        self._new(key)
        there = self.experts if available is None else available
        case = open_case(self.panel, key, probabilities, there)
        for h in self.state.retired:
            if case.available[h]:
                name = self.panel.experts[h]
                raise StudyError(
                    f"expert {name!r} has retired from study {self.name!r}; expected some of "
                    f"{', '.join(self.experts)}, or let them return by add_expert({name!r}) first"
                )
        for m in self.state.replaced:
            if case.probabilities[m] is not None:
                raise StudyError(
                    f"classifier {self.panel.classifiers[m]!r} was replaced in study {self.name!r}; "
                    f"expected probabilities of {', '.join(self.classifiers)}"
                )
        return Opened(case, audit, show)

    def import_case(self, key: str, probabilities: Probabilities, votes: Mapping[str, str]) -> Imported:
        """A past case joins the history."""
        self._new(key)
        case = open_case(self.panel, key, probabilities, list(votes))
        for expert, vote in votes.items():
            case = case.with_vote(self.panel.expert(expert), self.panel.class_(vote))
        return Imported(case)

    def _new(self, key: str) -> None:
        if key in self.state.places:
            raise StudyError(f"case {key!r} exists already in study {self.name!r}; each case needs its own key")

    def add_expert(self, name: str, *, cost: float | None = None, by: str | None = None) -> Joined | Returned:
        """An expert joins or returns."""
        if name in self.experts:
            retired = ", ".join(self.panel.experts[h] for h in sorted(self.state.retired)) or "nobody"
            raise StudyError(
                f"expert {name!r} belongs to study {self.name!r} already; expected a new name, or that of a retired "
                f"expert: {retired}"
            )
        if name not in self.panel.experts:
            return Joined(name, by=by) if cost is None else Joined(name, cost, by)
        before = self.panel.costs[self.panel.expert(name)]
        if cost is not None and cost != before:
            raise StudyError(
                f"expert {name!r} returns to study {self.name!r} at the cost of before, {before:g}, not {cost:g}; "
                "leave the cost out"
            )
        return Returned(self.panel.expert(name), by)

    def retire_expert(self, name: str, *, by: str | None = None) -> Retired:
        """An expert is not asked any more."""
        if self.experts == (name,):
            raise StudyError(f"expert {name!r} is the last of study {self.name!r}; add another one first")
        return Retired(self._active(name), by)

    def replace_classifier(self, old: str, new: str, *, by: str | None = None) -> Replaced | Restored:
        """A classifier gives way to another."""
        index = self.panel.classifier(old)
        if index in self.state.replaced:
            raise StudyError(
                f"classifier {old!r} was replaced in study {self.name!r} already; "
                f"expected one in use: {', '.join(self.classifiers)}"
            )
        if new in self.classifiers:
            raise StudyError(
                f"classifier {new!r} is in use in study {self.name!r} already and cannot replace {old!r}; "
                "expected a new name, or one that was replaced before"
            )
        known = new in self.panel.classifiers
        return Restored(index, self.panel.classifier(new), by) if known else Replaced(index, new, by)

    def away(self, name: str, *, by: str | None = None) -> Away | None:
        """An expert cannot be asked for now; None where that is known."""
        expert = self._active(name)
        return None if expert in self.state.away else Away(expert, by)

    def back(self, name: str, *, by: str | None = None) -> Back | None:
        """An expert can be asked again; None where that is known."""
        expert = self.panel.expert(name)
        return Back(expert, by) if expert in self.state.away else None

    def _active(self, name: str) -> int:
        expert = self.panel.expert(name)
        if expert in self.state.retired:
            raise StudyError(
                f"expert {name!r} has retired from study {self.name!r} already; "
                f"expected one of {', '.join(self.experts)}"
            )
        return expert

    def tell(
        self, key: str, expert: str, vote: str, *, amend: bool = False, by: str | None = None
    ) -> Voted | Amended | None:
        """An expert's vote; None where it is known."""
        case = self.known_case(key)
        who, what = self.panel.expert(expert), self.panel.class_(vote)
        self._belongs(case, expert)
        before = case.voted(who)
        if before is None:
            return Voted(key, who, what, by)
        if before == what:
            return None
        if not amend:
            cast = self.panel.classes[before]
            raise StudyError(
                f"expert {expert!r} has voted {cast!r} on case {key!r} already; "
                f"tell {vote!r} with amend=True to change the vote, or withdraw it"
            )
        return Amended(key, who, what, by)

    def _belongs(self, case: Case, expert: str) -> None:
        who = self.panel.expert(expert)
        if not case.available[who]:
            why = f", and has retired from study {self.name!r}" if who in self.state.retired else ""
            raise StudyError(f"expert {expert!r} does not belong to the panel of case {case.key!r}{why}")

    def withdraw(self, key: str, expert: str, *, by: str | None = None) -> Withdrawn:
        """A vote is taken back."""
        case = self.known_case(key)
        who = self.panel.expert(expert)
        if case.voted(who) is None:
            cast = ", ".join(self.panel.experts[other] for other, _ in case.votes) or "nobody"
            raise StudyError(
                f"expert {expert!r} has no vote on case {key!r} to withdraw; expected one who has voted: {cast}"
            )
        return Withdrawn(key, who, by)

    def abstain(self, key: str, expert: str, *, by: str | None = None) -> Abstained | None:
        """An expert cannot tell; None where that changes nothing.

        Whoever let the question pass may still say so, and leaves the panel of an open case to the others.
        """
        case, who = self.known_case(key), self.panel.expert(expert)
        leaves = self.state.open_case(key) is not None and any(case.without_expert(who).available)
        if not case.available[who] or (expert in self.state.waiting(key).passed and not leaves):
            return None
        if case.voted(who) is not None:
            raise StudyError(f"expert {expert!r} has voted on case {key!r}; withdraw the vote before abstaining")
        return Abstained(key, who, by)

    def lease(
        self, key: str, experts: Sequence[str], *, until: float | None = None, why: Query | None = None
    ) -> list[Leased]:
        """Experts are asked about an open case."""
        case, names = self.open_case(key), self.state.waiting(key)
        who = [self.panel.expert(name) for name in experts]
        for name, expert in zip(experts, who, strict=True):
            if not case.available[expert]:
                raise StudyError(f"expert {name!r} does not belong to the panel of case {key!r} and cannot be asked")
            if case.voted(expert) is not None or name in names or experts.count(name) > 1:
                raise StudyError(f"expert {name!r} was asked about case {key!r} already; nobody is asked twice")
        return [Leased(key, expert, until, None if why is None else self._why(why)) for expert in who]

    def _why(self, query: Query) -> Why:
        ranked = sorted(query.gains.items(), key=lambda one: -one[1])
        gains = tuple((self.panel.expert(name), float(gain)) for name, gain in ranked)
        return Why(query.reason, query.forecast.outcome, query.forecast.error, query.measure, gains)

    def expire(self, key: str, expert: str, *, by: str | None = None) -> Expired:
        """A vote that was on its way will not come."""
        self.known_case(key)
        waiting = self.state.waiting(key).pending
        if expert not in waiting:
            raise StudyError(
                f"no vote of expert {expert!r} on case {key!r} is on its way; expected one of "
                f"{', '.join(waiting) or 'nobody'}"
            )
        return Expired(key, self.panel.expert(expert), by)

    def decided_by(self, key: str, expert: str) -> bool:
        """Whether a case has settled, and an expert's vote was one of those that it settled with."""
        settled, case = self.state.settling(key), self.known_case(key)
        counted = case.votes[: settled.human_votes] if settled is not None else ()
        return self.panel.expert(expert) in {who for who, _ in counted}

    def reopen(self, key: str, *, whole: bool = False, more: int = 1, by: str | None = None) -> Reopened:
        """A settled case is asked about again, so is one that everyone has let pass, or an open one of everyone."""
        votes = len(self.known_case(key).votes) + more
        asked_on = self.state.open_case(key) is not None and (whole or self.state.left_by_all(key))
        if self.state.settling(key) is None and not asked_on:
            state = "is open" if self.state.open_case(key) is not None else "was imported"
            raise StudyError(
                f"case {key!r} {state} and cannot be reopened; expected one that has settled, or an open one to be "
                "asked of the whole panel"
            )
        return Reopened(key, whole, votes, by)


def settled(decision: Settle, *, audit: bool) -> Settled | Audited:
    """A decision to settle as an event; of a case that is audited, what it would have settled as."""
    forecast = decision.forecast
    kind: type[Settled | Audited] = Audited if audit else Settled
    return kind(
        key=decision.case,
        outcome=decision.outcome,
        probability=forecast.values[forecast.leader],
        stated_error=forecast.error,
        reason=decision.reason,
        kept=decision.kept,
        human_votes=decision.human_votes,
        interval=forecast.interval,
    )
