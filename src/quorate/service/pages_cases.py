"""Cases as pages: the list, and everything about one of them with what a manager may do to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Path, Query, Request
from fastapi.responses import RedirectResponse, Response

from quorate.errors import QuorateError, StudyError
from quorate.service.access import Identity, may_change_vote, page_holding, refuse
from quorate.service.api_studies import TheHall
from quorate.service.hall import Hall
from quorate.service.live import LiveStudy
from quorate.service.problems import as_api_error
from quorate.service.rendering import part_of, render
from quorate.service.rights import Right
from quorate.service.views import CaseLine, case_lines, case_view
from quorate.service.voting import known_case
from quorate.storage import listing
from quorate.storage.schema import STATES

router = APIRouter(prefix="/studies/{study}/cases", include_in_schema=False)
Manager = Annotated[Identity, Depends(page_holding(Right.SEE_STUDIES))]
CaseKey = Annotated[str, Path(max_length=500)]
Text = Annotated[str, Form()]
PAGE = 50


@router.get("")
def show_cases(
    study: str,
    request: Request,
    hall: TheHall,
    who: Manager,
    state: Annotated[str, Query(pattern=f"^({'|'.join(('', *STATES))})$")] = "",
    before: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
    key: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Cases, the newest first, by state or by a part of their keys."""
    live = hall.study(study)
    wanted = key.strip()
    found = _search(live, wanted, state) if wanted else _page(live, state, before)
    shown: dict[str, Any] = {
        "study": study,
        "about": live.stored.config.service.about,
        "lines": found,
        "state": state,
        "key": wanted,
        "states": STATES,
        "counts": listing.counts(live.stored.db, live.stored.id),
        "older": found[-1].place if not wanted and len(found) == PAGE else None,
        "newest": before is None,
        "most": PAGE,
    }
    return render(request, "cases.html", shown, who=who)


def _page(live: LiveStudy, state: str, before: int | None) -> list[CaseLine]:
    db, study_id = live.stored.db, live.stored.id
    records = listing.page(db, study_id, state=state or None, after=before, limit=PAGE, newest_first=True)
    return case_lines(live, records)


def _search(live: LiveStudy, wanted: str, state: str) -> list[CaseLine]:
    """Cases whose keys hold a text, an exact match first."""
    folded = wanted.casefold()
    keys = live.read(lambda study: [key for key in study.state.places if folded in key.casefold()])
    keys.sort(key=lambda key: key != wanted)
    found = []
    for key in keys:
        record = listing.find(live.stored.db, live.stored.id, key)
        if record is not None and state in ("", record.state):
            found.append(record)
        if len(found) == PAGE:
            break
    return case_lines(live, found)


def _case(hall: Hall, study: str, case: str) -> dict[str, Any]:
    live = hall.study(study)
    return {
        "study": study,
        "about": "",
        "case": case_view(live, case),
        "classes": live.read(lambda found: found.panel.classes),
        "max_error": live.stored.config.options.max_error,
    }


@router.get("/{case}")
def show_case(study: str, case: CaseKey, request: Request, hall: TheHall, who: Manager) -> Response:
    """Everything about a case."""
    return render(request, "case.html", _case(hall, study, case), who=who)


@router.get("/{case}/parts")
def show_parts(study: str, case: CaseKey, request: Request, hall: TheHall, who: Manager) -> Response:
    """The same for a page that is open."""
    return render(request, "case_parts.html", _case(hall, study, case), who=who)


def _change(
    request: Request, hall: Hall, who: Identity, study: str, case: str, act: Callable[[LiveStudy], None]
) -> Response:
    """Do something to a case and show it again; what was refused is said on its page."""
    live = hall.study(study)
    known_case(live, case)
    try:
        act(live)
    except QuorateError as error:
        problem = as_api_error(error)
        shown = {**_case(hall, study, case), "problem": problem.message}
        return render(request, "case.html", shown, who=who, status=problem.status)
    return RedirectResponse(f"/studies/{part_of(study)}/cases/{part_of(case)}", 303)


@router.post("/{case}/amend")
def amend(
    study: str, case: CaseKey, request: Request, hall: TheHall, who: Manager, expert: Text, vote: Text
) -> Response:
    """Correct a vote that an expert has cast; a manager has none of their own to cast."""
    refuse(f"change a vote of {expert!r}", unless=may_change_vote(who, study, expert))

    def act(live: LiveStudy) -> None:
        if live.read(lambda found: found.state.known(case).voted(found.panel.expert(expert))) is None:
            raise StudyError(f"{expert} has no vote on case {case!r} to correct")
        live.vote(case, expert, vote, amend=True, by=who.instead_of(study, expert))

    return _change(request, hall, who, study, case, act)


@router.post("/{case}/withdraw")
def withdraw(study: str, case: CaseKey, request: Request, hall: TheHall, who: Manager, expert: Text) -> Response:
    """Take an expert's vote back."""
    refuse(f"take back a vote of {expert!r}", unless=may_change_vote(who, study, expert))
    by = who.instead_of(study, expert)
    return _change(request, hall, who, study, case, lambda live: live.withdraw(case, expert, by=by))


@router.post("/{case}/expire", dependencies=[Depends(page_holding(Right.EXPIRE_QUERIES))])
def expire(study: str, case: CaseKey, request: Request, hall: TheHall, who: Manager, expert: Text) -> Response:
    """Take a question off an expert's desk."""
    return _change(request, hall, who, study, case, lambda live: live.expire(case, expert, by=who.name))


@router.post("/{case}/reopen", dependencies=[Depends(page_holding(Right.REOPEN_CASES))])
def reopen(study: str, case: CaseKey, request: Request, hall: TheHall, who: Manager, whole: Text = "") -> Response:
    """Ask about a settled case again."""
    again = whole == "yes"
    return _change(request, hall, who, study, case, lambda live: live.reopen(case, whole=again, by=who.name))
