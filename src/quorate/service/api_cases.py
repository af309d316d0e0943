"""Cases and votes over HTTP: open, list, look, vote, amend, withdraw, abstain, expire, reopen, and desks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, BackgroundTasks, Path, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response, StreamingResponse

from quorate.errors import NotFoundError
from quorate.service.access import Identity, Who, may_change_vote, may_see_inbox, may_vote, refuse
from quorate.service.api_studies import TheHall, can
from quorate.service.forms import Arriving, CasesIn, ExpertOfCase, ReopenIn, VoteIn
from quorate.service.hall import Hall
from quorate.service.live import LiveStudy
from quorate.service.rights import Right, may
from quorate.service.views import (
    CaseLine,
    CaseView,
    InboxView,
    QuestionView,
    case_lines,
    case_view,
    inbox,
)
from quorate.storage import listing
from quorate.storage.schema import STATES
from quorate.study.study import Study

router = APIRouter(prefix="/api/studies/{study}", tags=["cases"])
CaseKey = Annotated[str, Path(max_length=500)]
States = "^(" + "|".join(STATES) + ")$"


@dataclass(frozen=True)
class Opened:
    """Which of the cases that were sent are new."""

    opened: list[str]
    known: list[str]


@dataclass(frozen=True)
class CasePage:
    """Cases in the order they came; `next` is the `after` of the next page."""

    items: list[CaseLine]
    next: int | None


@dataclass(frozen=True)
class Heard:
    """An answer that is stored, and the next question on the same desk."""

    case: str
    expert: str
    vote: str | None
    next: QuestionView | None


@router.post("/cases", status_code=201, dependencies=[can(Right.OPEN_CASES)])
def open_cases(study: str, body: Arriving, hall: TheHall) -> Opened:
    """Cases arrive, one or several, all or none; the same case twice is one."""
    given = body.cases if isinstance(body, CasesIn) else [body]
    new = hall.study(study).open([one.arrival() for one in given])
    return Opened(new, [one.key for one in given if one.key not in new])


@router.get("/cases", dependencies=[can(Right.SEE_STUDIES)])
def list_cases(
    study: str,
    hall: TheHall,
    state: Annotated[str | None, Query(pattern=States)] = None,
    after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> CasePage:
    """Cases in the order they came."""
    live = hall.study(study)
    found = listing.page(live.stored.db, live.stored.id, state=state, after=after, limit=limit)
    return CasePage(case_lines(live, found), found[-1].place if len(found) == limit else None)


@router.get("/cases/{case}", dependencies=[can(Right.SEE_FORECASTS)])
def show_case(study: str, case: CaseKey, hall: TheHall) -> CaseView:
    """All there is to know about a case: its state, forecast, next query with reasons, and its story."""
    return case_view(hall.study(study), case)


def known_case(live: LiveStudy, case: str) -> None:
    """Refuse an address of a case that is not there."""
    if not live.read(lambda study: case in study.state.places):
        raise NotFoundError(f"no case {case!r} in study {live.name!r}")


def check_seat(who: Identity, live: LiveStudy, case: str, expert: str) -> None:
    """Refuse a vote of somebody who does not sit there, or was not asked; it tells strangers nothing of the case."""
    seated = who.sits(live.name, expert)
    refuse(f"vote as {expert!r}", unless=seated or may_vote(who, live.name, expert, asked=False))
    if may(who, Right.SEE_STUDIES):
        known_case(live, case)

    asked = live.read(lambda study: expert in study.state.waiting(case)) or was_asked(live, case, expert)
    refuse(
        f"vote on case {case!r} as {expert!r}, who was not asked",
        unless=may_vote(who, live.name, expert, asked=asked),
    )


def was_asked(live: LiveStudy, case: str, expert: str) -> bool:
    """Whether an expert was ever asked about a case, or voted on it; a case that is not there is one they were not."""
    known = live.read(lambda study: case in study.state.places)
    record = listing.find(live.stored.db, live.stored.id, case) if known else None
    return record is not None and live.study.panel.expert(expert) in {one.expert for one in record.asked}


def check_voice(who: Identity, study: str, expert: str) -> None:
    """Refuse somebody who has no say in an expert's votes, before anything is looked for."""
    says = may_change_vote(who, study, expert) or may_vote(who, study, expert, asked=True)
    refuse(f"vote as {expert!r}", unless=says)


def has_voted(live: LiveStudy, case: str, expert: str) -> bool:
    """Whether an expert's vote on a case is there, to be changed."""

    def look(study: Study) -> bool:
        places = study.state.places
        return case in places and study.state.known(case).voted(study.panel.expert(expert)) is not None

    return live.read(look)


@router.post("/cases/{case}/votes")
async def vote(study: str, case: CaseKey, body: VoteIn, hall: TheHall, who: Who, later: BackgroundTasks) -> Heard:
    """An expert votes; the same vote twice is one vote, and another replaces it only with `amend`."""
    async with hall.turn(study):
        return await run_in_threadpool(_vote, study, case, body, hall, who, later)


def _vote(study: str, case: str, body: VoteIn, hall: Hall, who: Identity, later: BackgroundTasks) -> Heard:
    check_voice(who, study, body.expert)
    live = hall.study(study)
    if may(who, Right.SEE_STUDIES):
        known_case(live, case)
    if not (body.amend and may_change_vote(who, study, body.expert) and has_voted(live, case, body.expert)):
        check_seat(who, live, case, body.expert)
    live.vote(case, body.expert, body.vote, amend=body.amend, by=who.instead_of(study, body.expert))
    if live.more:
        later.add_task(live.refill)
    return Heard(case, body.expert, body.vote, next_question(live, body.expert))


def next_question(live: LiveStudy, expert: str) -> QuestionView | None:
    """The oldest question on an expert's desk."""
    return next(iter(inbox(live, expert, most=1).questions), None)


@router.delete("/cases/{case}/votes/{expert}", status_code=204)
def withdraw(study: str, case: CaseKey, expert: str, hall: TheHall, who: Who) -> Response:
    """A vote is taken back."""
    refuse(f"take back a vote of {expert!r}", unless=may_change_vote(who, study, expert))
    by = who.instead_of(study, expert)
    hall.study(study).withdraw(case, expert, again=by is None, by=by)
    return Response(status_code=204)


@router.post("/cases/{case}/abstentions")
def abstain(study: str, case: CaseKey, body: ExpertOfCase, hall: TheHall, who: Who, later: BackgroundTasks) -> Heard:
    """An expert cannot tell."""
    check_voice(who, study, body.expert)
    live = hall.study(study)
    check_seat(who, live, case, body.expert)
    live.abstain(case, body.expert, by=who.instead_of(study, body.expert))
    if live.more:
        later.add_task(live.refill)
    return Heard(case, body.expert, None, next_question(live, body.expert))


@router.post("/cases/{case}/expire", status_code=204, dependencies=[can(Right.EXPIRE_QUERIES)])
def expire(study: str, case: CaseKey, body: ExpertOfCase, hall: TheHall, who: Who) -> Response:
    """A question is taken off an expert's desk, and the next best is asked."""
    live = hall.study(study)
    known_case(live, case)
    live.expire(case, body.expert, by=who.name)
    return Response(status_code=204)


@router.post("/cases/{case}/reopen", dependencies=[can(Right.REOPEN_CASES)])
def reopen(study: str, case: CaseKey, body: ReopenIn, hall: TheHall, who: Who) -> CaseView:
    """A settled case is asked about again, of the whole panel unless told otherwise; an open one of the whole panel."""
    live = hall.study(study)
    known_case(live, case)
    live.reopen(case, whole=body.whole, by=who.name)
    return case_view(live, case)


@router.get("/experts/{expert}/inbox")
def show_inbox(
    study: str, expert: str, hall: TheHall, who: Who, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> InboxView:
    """What an expert is asked, oldest first: nothing of the forecast, and nobody's votes."""
    refuse(f"see the inbox of {expert!r}", unless=may_see_inbox(who, study, expert))
    return inbox(hall.study(study), expert, most=limit)


@router.get("/experts/{expert}/events", response_class=StreamingResponse)
async def inbox_events(study: str, expert: str, hall: TheHall, who: Who) -> StreamingResponse:
    """Server-sent events: `changed` whenever the desk of an expert has changed."""
    refuse(f"see the inbox of {expert!r}", unless=may_see_inbox(who, study, expert))
    await run_in_threadpool(lambda: hall.study(study).questions(expert))
    return events(hall, study, expert)


@router.get("/events", response_class=StreamingResponse)
async def study_events(study: str, hall: TheHall, who: Who) -> StreamingResponse:
    """Server-sent events: `changed` whenever anything in a study has changed."""
    refuse("see studies", unless=may(who, Right.SEE_STUDIES))
    await run_in_threadpool(hall.study, study)
    return events(hall, study, None)


def events(hall: Hall, study: str, expert: str | None) -> StreamingResponse:
    """A stream that lasts as long as both sides do."""
    stream = hall.hub.listen(study, expert)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
