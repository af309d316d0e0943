"""The pages of the service, put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import RedirectResponse, Response
from fastapi.staticfiles import StaticFiles

from quorate.service import pages_board, pages_cases, pages_inbox, pages_people, pages_studies, signin
from quorate.service.access import Identity, PageWho
from quorate.service.api_studies import TheHall, study_view
from quorate.service.drawings import Gallery
from quorate.service.live import LiveStudy
from quorate.service.problems import ApiError
from quorate.service.rendering import STATIC, make_templates, part_of, render
from quorate.service.rights import Right, entered, may

home = APIRouter(include_in_schema=False)

SAID = {
    403: "You may not do that",
    404: "There is nothing here",
    409: "That does not fit what has happened meanwhile",
    422: "Something in what was sent cannot be used",
    429: "Too many requests",
    500: "Something went wrong",
    503: "The service cannot do that now",
}
"""What error pages are headed by."""


def include_pages(app: FastAPI) -> None:
    """Add all pages, and what they are made of, to an application that has a hall."""
    app.state.templates = make_templates()
    app.state.gallery = Gallery(app.state.hall)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    for part in (signin, pages_studies, pages_inbox, pages_cases, pages_board, pages_people):
        app.include_router(part.router)
    app.include_router(home)


def show_problem(request: Request, problem: ApiError) -> Response:
    """An error in words."""
    title = SAID.get(problem.status) or HTTPStatus(problem.status).phrase
    request_id = request.scope.get("state", {}).get("request_id")
    shown = {"problem": problem, "title": title, "request_id": request_id if problem.status >= 500 else None}
    return render(request, "error.html", shown, who=None, status=problem.status)


@dataclass(frozen=True)
class DeskLine:
    """An inbox in a list."""

    study: str
    expert: str
    waiting: int


def _desks(lives: Mapping[str, LiveStudy], who: Identity) -> list[DeskLine]:
    return [
        DeskLine(study, expert, len(lives[study].questions(expert)))
        for study in sorted(who.seats.keys() & lives.keys())
        for expert in sorted(who.seats[study])
    ]


@home.get("/")
def show_home(request: Request, hall: TheHall, who: PageWho) -> Response:
    """Studies and inboxes; who has one inbox and nothing else is led to it."""
    lives = hall.readable()
    desks, broken = _desks(lives, who), entered(who, hall.unreadable)
    if not may(who, Right.SEE_STUDIES) and len(desks) == 1 and not broken:
        only = desks[0]
        return RedirectResponse(f"/studies/{part_of(only.study)}/inbox/{part_of(only.expert)}", 303)
    studies = []
    if may(who, Right.SEE_STUDIES):
        studies = [study_view(lives[name], who) for name in entered(who, lives)]
    shown = {"desks": desks, "studies": studies, "broken": broken, "here": "studies"}
    return render(request, "home.html", shown, who=who)
