"""Cases and votes over HTTP: open, list, look, vote, amend, withdraw, abstain, expire, reopen, and desks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, BackgroundTasks, Path, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response, StreamingResponse

from quorate.service.access import Who, may_change_vote, may_see_inbox, refuse
from quorate.service.api_studies import TheHall, can
from quorate.service.forms import Arriving, CasesIn, ExpertOfCase, ReopenIn, VoteIn
from quorate.service.hall import Hall
from quorate.service.paging import After, Limit, following
from quorate.service.rights import Right, may
from quorate.service.views import (
    CaseLine,
    CaseView,
    InboxView,
    case_lines,
    case_view,
    inbox,
)
from quorate.service.voting import Heard, Incoming, TheVotes, check_seat, check_voice, known_case, next_question
from quorate.storage import listing
from quorate.storage.schema import STATES

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
    after: After = 0,
    limit: Limit = 100,
) -> CasePage:
    """Cases in the order they came."""
    live = hall.study(study)
    found = listing.page(live.stored.db, live.stored.id, state=state, after=after, limit=limit)
    return CasePage(case_lines(live, found), following(found, limit, lambda one: one.place))


@router.get("/cases/{case}", dependencies=[can(Right.SEE_FORECASTS)])
def show_case(study: str, case: CaseKey, hall: TheHall) -> CaseView:
    """All there is to know about a case: its state, forecast, next query with reasons, and its story."""
    return case_view(hall.study(study), case)


@router.post("/cases/{case}/votes")
async def vote(study: str, case: CaseKey, body: VoteIn, votes: TheVotes, who: Who, later: BackgroundTasks) -> Heard:
    """An expert votes; the same vote twice is one vote, and another replaces it only with `amend`."""
    check_voice(who, study, body.expert)
    return await votes(study, Incoming(case, body, who, later))


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
def show_inbox(study: str, expert: str, hall: TheHall, who: Who, limit: Limit = 100) -> InboxView:
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
