"""Studies and their panels over HTTP: create, list, change, import, export, report."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, Response, StreamingResponse

from quorate.errors import TableError
from quorate.service.access import Identity, Who, holding, may_enter, may_set_away, refuse
from quorate.service.board import Board
from quorate.service.exporting import FORMATS, rows
from quorate.service.forms import AwayIn, ExpertIn, ReplaceIn, StudyIn
from quorate.service.hall import Hall
from quorate.service.importing import Imported, past_cases
from quorate.service.live import LiveStudy
from quorate.service.paging import After, Limit, following
from quorate.service.problems import ApiError
from quorate.service.rights import Right, entered, may
from quorate.storage import listing

router = APIRouter(prefix="/api/studies", tags=["studies"])
LARGEST_IMPORT = 32 * 2**20
UNREADABLE = "Quorate-Unreadable"
SAID = "names of studies that cannot be loaded, separated by commas; not sent where there are none"


async def hall_of(request: Request) -> Hall:  # not a plain function: that would wait for a thread of its own
    """The studies of the service that a request came to."""
    hall: Hall = request.app.state.hall
    return hall


TheHall = Annotated[Hall, Depends(hall_of)]


def can(right: Right) -> Any:
    """Refuse a request of somebody without a right."""
    return Depends(holding(right))


@dataclass(frozen=True)
class StudyView:
    """A study as its experts may know it."""

    name: str
    about: str
    classes: tuple[str, ...]
    experts: tuple[str, ...]
    classifiers: tuple[str, ...]
    target: str
    max_error: float
    counts: dict[str, int] | None  # None for experts


@dataclass(frozen=True)
class StudyPage:
    """Studies in the order they were created; `next` is the `after` of the next page."""

    items: list[StudyView]
    next: int | None


def study_view(live: LiveStudy, who: Identity) -> StudyView:
    """A study, with its counts for those who may see them."""
    config, study = live.stored.config, live.study
    seen = may(who, Right.SEE_STUDIES)
    return StudyView(
        name=live.name,
        about=config.service.about,
        classes=study.panel.classes,
        experts=study.experts if seen else tuple(sorted(who.seats.get(live.name, ()))),
        classifiers=study.classifiers,
        target=config.target if seen else config.target.partition(":")[0],  # what follows may name experts
        max_error=config.options.max_error,
        counts=listing.counts(live.stored.db, live.stored.id) if seen else None,
    )


@router.get("", responses={200: {"headers": {UNREADABLE: {"description": SAID, "schema": {"type": "string"}}}}})
def list_studies(hall: TheHall, who: Who, response: Response, after: After = 0, limit: Limit = 100) -> StudyPage:
    """Studies that one may know of, in the order they were created.

    Those that cannot be loaded are left out, and named in the header `Quorate-Unreadable`, by commas; asking for one of
    them is answered with 503 until it was repaired.
    """
    lives = hall.readable()
    broken = entered(who, hall.unreadable)
    if broken:
        response.headers[UNREADABLE] = ",".join(broken)  # names of studies hold no comma
    found = [lives[name] for name in entered(who, lives) if lives[name].stored.id > after][:limit]
    return StudyPage([study_view(live, who) for live in found], following(found, limit, lambda one: one.stored.id))


@router.post("", status_code=201, dependencies=[can(Right.CREATE_STUDIES)])
def create_study(body: StudyIn, hall: TheHall, who: Who) -> StudyView:
    """Create a study."""
    return study_view(hall.create(body.name, body.config()), who)


@router.get("/{study}")
def show_study(study: str, hall: TheHall, who: Who) -> StudyView:
    """One study."""
    refuse(f"see study {study!r}", unless=may_enter(who, study))
    return study_view(hall.study(study), who)


@router.delete("/{study}", status_code=204, dependencies=[can(Right.DELETE_STUDIES)])
def delete_study(study: str, hall: TheHall) -> Response:
    """Delete a study with all its votes."""
    hall.delete(study)
    return Response(status_code=204)


@router.get("/{study}/report", dependencies=[can(Right.SEE_STUDIES)])
def report(study: str, hall: TheHall) -> Board:
    """A study at a glance: savings, the error stated and audited, experts, health."""
    return hall.board(study)


@router.post("/{study}/experts", status_code=201, dependencies=[can(Right.CHANGE_PANELS)])
def add_expert(study: str, body: ExpertIn, hall: TheHall, who: Who) -> StudyView:
    """An expert joins, or one who retired returns."""
    live = hall.study(study)
    live.change_panel(lambda found: found.add_expert(body.name, cost=body.cost, by=who.name))
    return study_view(live, who)


@router.delete("/{study}/experts/{expert}", dependencies=[can(Right.CHANGE_PANELS)])
def retire_expert(study: str, expert: str, hall: TheHall, who: Who) -> StudyView:
    """An expert is not asked any more."""
    live = hall.study(study)
    live.change_panel(lambda found: found.retire_expert(expert, by=who.name))
    return study_view(live, who)


@router.put("/{study}/experts/{expert}/away")
def set_away(study: str, expert: str, body: AwayIn, hall: TheHall, who: Who) -> AwayIn:
    """An expert is away, or back."""
    refuse(f"say whether {expert!r} is away", unless=may_set_away(who, study, expert))
    hall.study(study).set_away(expert, away=body.away, by=who.instead_of(study, expert))
    return body


@router.post("/{study}/classifiers", dependencies=[can(Right.CHANGE_PANELS)])
def replace_classifier(study: str, body: ReplaceIn, hall: TheHall, who: Who) -> StudyView:
    """A classifier gives way to another."""
    live = hall.study(study)
    live.change_panel(lambda found: found.replace_classifier(body.old, body.new, by=who.name))
    return study_view(live, who)


@router.post(
    "/{study}/import",
    dependencies=[can(Right.IMPORT_VOTES)],
    openapi_extra={"requestBody": {"content": {"text/csv": {"schema": {"type": "string"}}}, "required": True}},
)
async def import_votes(
    study: str,
    request: Request,
    hall: TheHall,
    format: Literal["csv", "tsv", "jsonl", "parquet"] = "csv",  # noqa: A002  # the name in the address
) -> Imported:
    """Past cases with their votes, a table as the body: every row, or none and a report of each bad one."""
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > LARGEST_IMPORT:
            raise ApiError(413, "too_large", f"a table of more than {LARGEST_IMPORT // 2**20} MB; send it in parts")
    return await run_in_threadpool(lambda: imported(hall.study(study), bytes(content), format))


def imported(live: LiveStudy, content: bytes, kind: str) -> Imported:
    """Import the content of a table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{kind}"
        path.write_bytes(content)
        cases = live.read(lambda study: past_cases(study, path))
    live.import_cases(cases)
    return Imported(len(cases), sum(len(case.votes) for case in cases))


@router.get("/{study}/export", dependencies=[can(Right.EXPORT_CASES)], response_class=StreamingResponse)
def export(study: str, hall: TheHall, format: Literal["csv", "jsonl"] = "csv") -> StreamingResponse:  # noqa: A002  # as above
    """Every case: outcome, probability, interval, who was asked in which order and why it stopped."""
    write, media = FORMATS[format]
    named = {"Content-Disposition": f'attachment; filename="{study}.{format}"'}
    return StreamingResponse(write(rows(hall.study(study).stored)), media_type=media, headers=named)


def table_problem(_request: Request, error: Exception) -> Response:
    """Every bad row of a table, in the one shape of errors."""
    problems = error.problems if isinstance(error, TableError) else ()
    listed = [{"row": problem.row, "message": problem.message} for problem in problems]
    named = f"{len(listed)} problem{'' if len(listed) == 1 else 's'} in the table; nothing was imported"
    body = {"error": {"code": "table", "message": named, "field": None, "problems": listed}}
    return JSONResponse(body, status_code=422)
