"""What is shown of a study, its cases and its experts, on pages and as JSON: frozen values with names, no indices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from quorate.core.case import Case, Show
from quorate.core.decision import Decision, Query, Settle
from quorate.core.forecast import Forecast
from quorate.core.panel import Panel
from quorate.errors import NotFoundError
from quorate.reporting.wording import percent
from quorate.service.live import LiveStudy
from quorate.storage import listing
from quorate.storage.records import Answer, CaseRecord
from quorate.study.events import (
    Abstained,
    Amended,
    Audited,
    Event,
    Expired,
    Imported,
    Leased,
    Opened,
    Reopened,
    Settled,
    Voted,
    Withdrawn,
)
from quorate.study.study import Study


@dataclass(frozen=True)
class QuestionView:
    """A question on an expert's desk: all that may be known before voting."""

    study: str
    case: str
    expert: str
    classes: tuple[str, ...]
    show: Show | None
    until: str | None


@dataclass(frozen=True)
class InboxView:
    """An expert's desk."""

    study: str
    expert: str
    about: str
    classes: tuple[str, ...]
    away: bool
    questions: tuple[QuestionView, ...]


@dataclass(frozen=True)
class ForecastView:
    """What the panel is expected to decide."""

    outcome: str
    probability: float
    error: float
    interval: tuple[float, float] | None
    probabilities: Mapping[str, float]
    votes: Mapping[str, Mapping[str, float]]  # how each unasked expert would vote
    certain: bool
    healthy: bool
    reasons: tuple[str, ...]  # why it is not healthy


@dataclass(frozen=True)
class NextView:
    """What happens next to an open case: ask these, wait for those, or settle.

    It needs a person where everyone has let the question pass and a rule wants more votes.
    """

    step: str  # ask, wait, person or settle
    experts: tuple[str, ...]
    reason: str
    measure: str | None
    gains: Mapping[str, float]
    away: tuple[str, ...] = ()  # those of the experts who were not asked yet: they are away, or have full desks


@dataclass(frozen=True)
class AnswerView:
    """One expert's part in a case."""

    expert: str
    vote: str | None
    how: str  # asked, voted, passed, recalled, abstained or withdrawn
    at: str


@dataclass(frozen=True)
class DecisionView:
    """What a case settled as, or would have settled as had it not been audited."""

    outcome: str
    probability: float
    interval: tuple[float, float] | None
    stated_error: float
    reason: str
    kept: bool
    human_votes: int
    no_human: bool  # no person saw the case


@dataclass(frozen=True)
class CaseLine:
    """A case in a list or an export."""

    place: int
    key: str
    state: str
    opened_at: str
    settled_at: str | None
    decision: DecisionView | None
    answers: tuple[AnswerView, ...]
    audit: bool
    contradicted: bool  # votes that came after it had settled force another outcome


@dataclass(frozen=True)
class StepView:
    """A line of a case's story."""

    at: str
    what: str
    expert: str | None
    vote: str | None
    said: str  # in words
    by: str | None  # the user who did it for the expert, or to the case
    measure: str | None
    gains: Mapping[str, float]
    stated_error: float | None


@dataclass(frozen=True)
class CaseView:
    """All there is to know about a case; not for experts who have yet to vote."""

    line: CaseLine
    show: Show | None
    probabilities: Mapping[str, Mapping[str, float]]  # by classifier, then class
    votes: Mapping[str, str]
    panel: tuple[str, ...]
    pending: tuple[str, ...]
    would_be: DecisionView | None
    forecast: ForecastView | None  # by what is known now, of a settled case too
    next: NextView | None
    story: tuple[StepView, ...]


def moment(seconds: float | None) -> str | None:
    """Seconds since 1970 as a time in UTC.

    >>> moment(0.0)
    '1970-01-01T00:00:00Z'
    """
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def inbox(live: LiveStudy, expert: str, *, most: int | None = None) -> InboxView:
    """An expert's desk, or the oldest questions on it."""
    questions = live.questions(expert)[:most]
    shown = live.stored.shown([question.case for question in questions])

    def look(study: Study) -> InboxView:
        panel, who = study.panel, study.panel.expert(expert)
        return InboxView(
            study=live.name,
            expert=expert,
            about=live.stored.config.service.about,
            classes=panel.classes,
            away=who in study.state.away,
            questions=tuple(
                QuestionView(live.name, one.case, expert, panel.classes, shown[one.case], moment(one.until))
                for one in questions
            ),
        )

    return live.read(look)


def forecast_view(forecast: Forecast) -> ForecastView:
    """A forecast by names."""
    return ForecastView(
        outcome=forecast.outcome,
        probability=forecast.values[forecast.leader],
        error=forecast.error,
        interval=forecast.interval,
        probabilities=forecast.probabilities,
        votes=forecast.votes,
        certain=forecast.certain,
        healthy=forecast.health.healthy,
        reasons=forecast.health.reasons,
    )


def next_view(decision: Decision) -> NextView:
    """A decision by names."""
    if isinstance(decision, Query):
        return NextView("ask", decision.batch, decision.reason, decision.measure, dict(decision.gains))
    if isinstance(decision, Settle):
        return NextView("settle", (), decision.reason, None, {})
    awaited = (*decision.pending, *decision.away)
    person = not awaited and decision.reason != "budget"
    return NextView("person" if person else "wait", awaited, decision.reason, None, {}, decision.away)


def case_line(record: CaseRecord, study: Study) -> CaseLine:
    """A row of the read table by names."""
    return CaseLine(
        place=record.place,
        key=record.key,
        state=record.state,
        opened_at=record.opened_at,
        settled_at=record.settled_at,
        decision=_decided(record),
        answers=tuple(_answer(one, study.panel) for one in record.asked),
        audit=record.audit and (record.would_be is not None or record.state != "open"),  # nobody knows it before
        contradicted=record.changed and study.contradicts(record.key),
    )


def _answer(one: Answer, panel: Panel) -> AnswerView:
    vote = None if one.vote is None else panel.classes[one.vote]
    return AnswerView(panel.experts[one.expert], vote, one.how, one.at)


def _decided(record: CaseRecord) -> DecisionView | None:
    if record.outcome is None or record.probability is None or record.stated_error is None:
        return None
    interval = None if record.low is None or record.high is None else (record.low, record.high)
    return DecisionView(
        outcome=record.outcome,
        probability=record.probability,
        interval=interval,
        stated_error=record.stated_error,
        reason=record.reason or "",
        kept=bool(record.kept),
        human_votes=record.human_votes,
        no_human=record.human_votes == 0,
    )


def _would_be(event: Audited | None) -> DecisionView | None:
    if event is None:
        return None
    return DecisionView(
        event.outcome,
        event.probability,
        event.interval,
        event.stated_error,
        event.reason,
        event.kept,
        event.human_votes,
        event.human_votes == 0,
    )


def case_lines(live: LiveStudy, records: Iterable[CaseRecord]) -> list[CaseLine]:
    """Rows of the read table by names; those of cases and people that another program brought are followed first."""
    found = list(records)
    if not live.read(lambda study: all(is_known(record, study) for record in found)):
        live.follow()
    return live.read(lambda study: [case_line(record, study) for record in found if is_known(record, study)])


def is_known(record: CaseRecord, study: Study) -> bool:
    """Whether a study knows a case, and everyone who was asked about it."""
    people = len(study.panel.experts)
    return record.key in study.state.places and all(one.expert < people for one in record.asked)


def case_view(live: LiveStudy, key: str) -> CaseView:
    """All there is to know about a case."""
    if not live.read(lambda study: key in study.state.places):
        live.follow()
    known = live.read(lambda study: key in study.state.places)
    record = listing.find(live.stored.db, live.stored.id, key) if known else None
    if record is not None and not live.read(lambda study: is_known(record, study)):
        live.follow()
    if record is None:
        raise NotFoundError(f"no case {key!r} in study {live.name!r}")
    told = listing.timeline(live.stored.db, live.stored.id, key)
    expected = live.outlook(key)

    def look(study: Study) -> CaseView:
        case, panel = study.state.known(key), study.panel
        return CaseView(
            line=case_line(record, study),
            show=record.show,
            probabilities=_probabilities(case, panel),
            votes={panel.experts[who]: panel.classes[vote] for who, vote in case.votes},
            panel=tuple(name for name, there in zip(panel.experts, case.available, strict=False) if there),
            pending=study.pending(key),
            would_be=_would_be(record.would_be),
            forecast=None if record.state == "imported" else forecast_view(expected[0]),
            next=None if expected[1] is None else next_view(expected[1]),
            story=_story([(at, event) for _, at, event in told], panel),
        )

    return live.read(look)


def _probabilities(case: Case, panel: Panel) -> dict[str, dict[str, float]]:
    rows = zip(panel.classifiers, case.probabilities, strict=False)
    return {name: dict(zip(panel.classes, row, strict=True)) for name, row in rows if row is not None}


def _story(told: Sequence[tuple[str, Event]], panel: Panel) -> tuple[StepView, ...]:
    """What happened to a case, step by step; a question that is taken off a desk once it has settled did not lapse."""
    steps, settled = [], False
    for at, event in told:
        step = _step(at, event, panel)
        if settled and isinstance(event, Expired) and event.by is None:
            step = replace(step, what="recalled", said=f"the answer of {step.expert} was not needed any more")
        steps.append(step)
        settled = isinstance(event, Settled) or (settled and not isinstance(event, Reopened))
    return tuple(steps)


def _step(at: str, event: Event, panel: Panel) -> StepView:
    expert = panel.experts[event.expert] if hasattr(event, "expert") and isinstance(event.expert, int) else None
    vote = panel.classes[event.vote] if isinstance(event, Voted | Amended) else None
    what, said = _said(event, expert, vote)
    by: str | None = getattr(event, "by", None)
    if by is not None:
        said = _said_of(by, event, expert, vote)
    why = event.why if isinstance(event, Leased) else None
    gains = {} if why is None else {panel.experts[who]: gain for who, gain in why.gains}
    stated = why.stated_error if why is not None else None
    if isinstance(event, Settled | Audited):
        stated = event.stated_error
    return StepView(at, what, expert, vote, said, by, None if why is None else why.measure, gains, stated)


def _said(event: Event, expert: str | None, vote: str | None) -> tuple[str, str]:
    """The kind of an event, and what happened in words."""
    match event:
        case Opened():  # whether it was drawn for the audit is told once that is over
            return "opened", "the case arrived"
        case Imported():
            return "imported", "the case joined the history with its past votes"
        case Leased(why=why):
            expected = "" if why is None else f"; {why.outcome} was expected, error {percent(why.stated_error)}"
            reason = {"rule": "a rule calls for it", "unhealthy": "the forecast was not healthy"}
            because = "" if why is None or why.reason not in reason else f" because {reason[why.reason]}"
            return "asked", f"{expert} was asked{because}{expected}"
        case Voted():
            return "voted", f"{expert} voted {vote}"
        case Amended():
            return "amended", f"{expert} changed the vote to {vote}"
        case Withdrawn():
            return "withdrawn", f"{expert} took the vote back"
        case Expired():
            return "passed", f"the question to {expert} lapsed"
        case Abstained():
            return "abstained", f"{expert} could not tell"
        case Audited(outcome=outcome, stated_error=error):
            said = f"drawn for the audit: it would have settled as {outcome}, error {percent(error)}"
            return "audited", f"{said}; the whole panel is asked"
        case Settled(outcome=outcome, stated_error=error, human_votes=0):
            return "settled", f"settled as {outcome}, error {percent(error)}, without any human vote"
        case Settled(outcome=outcome, stated_error=error):
            return "settled", f"settled as {outcome}, error {percent(error)}"
        case Reopened(whole=whole):
            return "reopened", "reopened" + (" for the whole panel" if whole else "")
    return type(event).__name__.lower(), type(event).__name__


def _said_of(by: str, event: Event, expert: str | None, vote: str | None) -> str:
    """What somebody did for an expert, or to a case, in words."""
    match event:
        case Voted():
            return f"{by} voted {vote} for {expert}"
        case Amended():
            return f"{expert}'s vote was changed to {vote} by {by}"
        case Withdrawn():
            return f"{expert}'s vote was taken back by {by}"
        case Expired():
            return f"the question to {expert} was taken back by {by}"
        case Abstained():
            return f"{by} abstained for {expert}"
        case Reopened(whole=whole):
            return f"reopened by {by}" + (" for the whole panel" if whole else "")
    return f"{type(event).__name__} by {by}"
