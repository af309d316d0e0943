"""The web application, put together: studies, access, the API, pages, streams and metrics."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from quorate.errors import TableError
from quorate.service import access, api_cases, api_people, api_studies, problems
from quorate.service.access import Access, holding
from quorate.service.bodies import BodyLimit
from quorate.service.demo import Demo, pictures
from quorate.service.hall import Hall
from quorate.service.headers import SecurityHeaders, content_policy
from quorate.service.keyfile import key_path, read_or_make_key
from quorate.service.limits import SignInLimits
from quorate.service.logs import RequestLog
from quorate.service.metrics import Measured, Metrics
from quorate.service.pages import include_pages, show_problem
from quorate.service.passwords import Passwords
from quorate.service.rights import Right
from quorate.service.tokens import Tokens
from quorate.service.voting import votes_of
from quorate.service.worker import local_pool
from quorate.storage.accounts import Accounts
from quorate.storage.database import Database

ABOUT = "quorate asks the experts of a panel about cases, and stops as soon as the stated error is low enough."
LARGEST_BODY = 34 * 2**20  # a table to be imported, and its envelope
DOCUMENTED = (400, 401, 403, 404, 409, 413, 422, 503)
"""Errors that every operation may answer with."""
operation = APIRouter(include_in_schema=False)


def open_hall(
    url: str,
    *,
    base_url: str,
    key_file: Path | None = None,
    make_executor: Callable[[], Executor] = local_pool,
) -> Hall:
    """The studies and users of a database, which is made if it is not there."""
    key = read_or_make_key(key_path(url, key_file))
    db = Database.open(url, create=True)
    accounts = Accounts(db)
    way_in = Access(accounts, Tokens(accounts, key), Passwords(), SignInLimits(), base_url)
    return Hall(db, way_in, make_executor)


def create_app(hall: Hall, *, image_origins: Sequence[str] = (), demo: bool = False) -> FastAPI:
    """The application that serves a hall; it starts and stops with it, and so does the demo."""
    content_policy(image_origins)  # what is wrong with them is said before anything starts
    players = Demo(hall) if demo else None

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(hall.start)
        if players is not None:
            players.start()
        yield
        if players is not None:
            await run_in_threadpool(players.stop)
        await run_in_threadpool(hall.stop)

    app = FastAPI(
        title="quorate",
        version=version("quorate"),
        description=ABOUT,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        responses={code: {"description": "an error", "model": problems.Answer} for code in DOCUMENTED},
    )
    app.state.hall = hall
    app.state.votes = votes_of(hall)
    access.install(app, hall.access)
    metrics = app.state.metrics = Metrics(hall)
    problems.install(app, page=show_problem)
    app.add_exception_handler(TableError, api_studies.table_problem)
    for router in (api_studies.router, api_cases.router, api_people.router, operation):
        app.include_router(router)
    if demo:
        app.include_router(pictures)
    include_pages(app)
    app.add_middleware(BodyLimit, most=LARGEST_BODY)
    app.add_middleware(SecurityHeaders, https=hall.access.https, image_origins=image_origins)
    app.add_middleware(Measured, metrics=metrics)
    app.add_middleware(RequestLog)
    return app


@operation.get("/healthz")
async def healthz() -> dict[str, str]:
    """The process answers."""
    return {"status": "ok"}


@operation.get("/readyz")
def readyz(request: Request) -> dict[str, str]:
    """Studies are loaded and go on, and the database answers."""
    hall: Hall = request.app.state.hall
    hall.names()
    trouble = hall.trouble()
    if trouble is not None:
        raise problems.ApiError(503, "not_ready", trouble)
    return {"status": "ready"}


@operation.get("/metrics", dependencies=[Depends(holding(Right.SEE_METRICS))])
def metrics(request: Request) -> Response:
    """Numbers for Prometheus."""
    return Response(request.app.state.metrics.text(), media_type="text/plain; version=0.0.4")
