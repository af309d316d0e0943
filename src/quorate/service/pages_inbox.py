"""An expert's desk as a page: one case at a time, nothing of the forecast and nobody's votes."""

from __future__ import annotations

import secrets
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from quorate.errors import QuorateError
from quorate.service.access import (
    Identity,
    PageWho,
    may_change_vote,
    may_see_inbox,
    may_set_away,
    may_vote,
    refuse,
)
from quorate.service.api_studies import TheHall
from quorate.service.hall import Hall
from quorate.service.problems import as_api_error
from quorate.service.rendering import part_of, render
from quorate.service.views import inbox
from quorate.service.voting import check_seat

router = APIRouter(prefix="/studies/{study}/inbox/{expert}", include_in_schema=False)
Text = Annotated[str, Form()]


def _shown(hall: Hall, who: Identity, study: str, expert: str) -> dict[str, object]:
    refuse(f"see the inbox of {expert!r}", unless=may_see_inbox(who, study, expert))
    return {
        "inbox": inbox(hall.study(study), expert),
        "may_vote": may_vote(who, study, expert, asked=True),
        "may_be_away": may_set_away(who, study, expert),
        "for_another": not who.sits(study, expert),
        "here": "inbox",
        "stamp": secrets.token_hex(4),  # parts that are fetched later have ids of their own
    }


@router.get("")
def show_inbox(study: str, expert: str, request: Request, hall: TheHall, who: PageWho) -> Response:
    """The desk."""
    return render(request, "inbox.html", _shown(hall, who, study, expert), who=who)


@router.get("/desk")
def show_desk(study: str, expert: str, request: Request, hall: TheHall, who: PageWho) -> Response:
    """Only the questions, for a page that is open."""
    return render(request, "desk.html", _shown(hall, who, study, expert), who=who)


@router.post("")
def answer(
    study: str,
    expert: str,
    request: Request,
    hall: TheHall,
    who: PageWho,
    case: Text,
    vote: Text = "",
    abstain: Text = "",
) -> Response:
    """A vote from a browser without scripts; with them, the page talks to the API."""
    refuse(f"see the inbox of {expert!r}", unless=may_see_inbox(who, study, expert))
    live = hall.study(study)
    check_seat(who, live, case, expert)
    by = who.instead_of(study, expert)
    try:
        if abstain:
            live.abstain(case, expert, by=by)
        else:
            live.vote(case, expert, vote, by=by)
    except QuorateError as error:
        problem = as_api_error(error)
        shown = {**_shown(hall, who, study, expert), "problem": f"{case} was not recorded: {problem.message}"}
        return render(request, "inbox.html", shown, who=who, status=problem.status)
    live.refill()
    return RedirectResponse(f"/studies/{part_of(study)}/inbox/{part_of(expert)}", 303)


@router.post("/away")
def set_away(study: str, expert: str, hall: TheHall, who: PageWho, away: Text) -> Response:
    """Say that an expert is away, or back."""
    refuse(f"say whether {expert!r} is away", unless=may_change_vote(who, study, expert))
    hall.study(study).set_away(expert, away=away == "yes", by=who.instead_of(study, expert))
    return RedirectResponse(f"/studies/{part_of(study)}/inbox/{part_of(expert)}", 303)
