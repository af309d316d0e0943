"""Creating a study, and its past votes in and everything out, as pages."""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated

from fastapi import APIRouter, Depends, Request, UploadFile
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import FormData

from quorate.data.columns import probability_columns
from quorate.data.formats import ENDINGS
from quorate.errors import Problem, QuorateError, StudyError, TableError
from quorate.service.access import Identity, page_holding
from quorate.service.api_studies import TheHall, imported
from quorate.service.hall import Hall
from quorate.service.problems import as_api_error
from quorate.service.rendering import part_of, render
from quorate.service.rights import Right
from quorate.service.study_form import DEFAULTS, GUARDS, StudyForm

router = APIRouter(prefix="/studies", include_in_schema=False)
Creator = Annotated[Identity, Depends(page_holding(Right.CREATE_STUDIES))]
Importer = Annotated[Identity, Depends(page_holding(Right.IMPORT_VOTES))]
MOST_SHOWN = 500


async def texts_of(request: Request) -> FormData:
    """The fields of a form, read before the handler runs in its thread."""
    return await request.form()


def _form(request: Request, who: Identity, form: StudyForm, *, status: int = 200) -> Response:
    shown = {"form": form, "given": form.given, "errors": form.errors, "guards": range(1, GUARDS + 1)}
    return render(request, "study_new.html", shown, who=who, status=status)


@router.get("/new")
def show_new(request: Request, who: Creator) -> Response:
    """The form of a new study."""
    return _form(request, who, StudyForm(dict(DEFAULTS)))


@router.post("/new")
def create(request: Request, hall: TheHall, who: Creator, fields: Annotated[FormData, Depends(texts_of)]) -> Response:
    """Create a study, or say what is wrong beside each field."""
    form = StudyForm({name: value for name, value in fields.items() if isinstance(value, str) and name != "csrf"})
    body = form.read()
    if body is None:
        return _form(request, who, form, status=422)
    try:
        hall.create(body.name, body.config())
    except StudyError:
        form.errors["name"] = f"a study {body.name!r} exists already; choose another name"
        return _form(request, who, form, status=409)
    except QuorateError as error:
        form.errors["form"] = str(error)
        return _form(request, who, form, status=as_api_error(error).status)
    return RedirectResponse(f"/studies/{part_of(body.name)}", 303)


def _import_page(
    request: Request, hall: Hall, who: Identity, study: str, shown: dict[str, object], *, status: int = 200
) -> Response:
    live = hall.study(study)
    panel = live.read(lambda found: found.panel)
    known = {
        "study": study,
        "about": live.stored.config.service.about,
        "panel": panel,
        "columns": [name for one in panel.classifiers for name in probability_columns(one, len(panel.classes))],
        "endings": ENDINGS,
        "most": MOST_SHOWN,
    }
    return render(request, "import.html", {**known, **shown}, who=who, status=status)


@router.get("/{study}/import")
def show_import(study: str, request: Request, hall: TheHall, who: Importer) -> Response:
    """The page to bring past votes in."""
    return _import_page(request, hall, who, study, {})


@router.post("/{study}/import")
def bring_in(study: str, request: Request, hall: TheHall, who: Importer, table: UploadFile) -> Response:
    """Import a table: every row, or none and a report of each bad one."""
    name = PurePath(table.filename or "").name
    ending = PurePath(name).suffix.lower()
    if ending not in ENDINGS:
        unknown = Problem(None, f"its name does not say what it holds; expected one of {', '.join(ENDINGS)}")
        return _import_page(request, hall, who, study, {"problems": [unknown], "file": name}, status=422)
    try:
        found = imported(hall.study(study), table.file.read(), ending.removeprefix("."))
    except TableError as error:
        shown: dict[str, object] = {"problems": error.problems, "file": name}
        return _import_page(request, hall, who, study, shown, status=422)
    except QuorateError as error:
        problem = as_api_error(error)
        shown = {"problems": [Problem(None, problem.message)], "file": name}
        return _import_page(request, hall, who, study, shown, status=problem.status)
    return _import_page(request, hall, who, study, {"imported": found, "file": name})
