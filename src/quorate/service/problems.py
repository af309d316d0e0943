"""Errors as answers: one JSON shape for all of them, `{"error": {"code", "message", "field"}}`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from quorate.errors import (
    AccountError,
    HealthError,
    InputError,
    MissingExtraError,
    NotFoundError,
    QuorateError,
    StorageError,
    StudyError,
    UnreadableError,
)

LOG = logging.getLogger("quorate.service")
ANSWER_HEADERS: Final = "answer_headers"
"""Where middleware leaves its headers for answers that do not come back through it: those to unexpected errors."""


STATUS: Final[Mapping[type[QuorateError], tuple[int, str]]] = {
    InputError: (422, "invalid"),
    NotFoundError: (404, "not_found"),
    StudyError: (409, "conflict"),
    UnreadableError: (503, "unreadable"),
    AccountError: (409, "conflict"),
    HealthError: (503, "unhealthy"),
    MissingExtraError: (501, "not_installed"),
}
"""The answer to an error of quorate's own: that of its nearest ancestor here."""

KINDS: Final = ("one case", "several cases")
"""What the two kinds of body are called that cases come in; they are no part of a field's name."""
NO_STORAGE: Final = "the database does not answer; what was acknowledged is kept, try again in a moment"
INTERNAL: Final = "something went wrong on the server; the log says what, by the request id of this answer"


class Detail(BaseModel):
    """What went wrong: a code for programs, a message for people, and the field it is about."""

    code: str
    message: str
    field: str | None = None
    problems: list[dict[str, str | int | None]] | None = None  # of a table, row by row


class Answer(BaseModel):
    """The one shape of errors."""

    error: Detail


class ApiError(Exception):
    """An answer that is not what was asked for; the message is for people, the code for programs."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        field: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field
        self.headers = dict(headers or {})

    def body(self) -> dict[str, dict[str, str | None]]:
        """The one shape."""
        return {"error": {"code": self.code, "message": self.message, "field": self.field}}


Page = Callable[[Request, ApiError], Response]
"""How a page shows an error to a person."""


def wants_page(request: Request) -> bool:
    """Whether a person is looking: a browser asks for HTML, and what is under /api is for programs."""
    return not request.url.path.startswith("/api/") and "text/html" in request.headers.get("accept", "")


def as_api_error(error: Exception) -> ApiError:
    """Any error as an answer; what is not known tells nothing of itself."""
    match error:
        case ApiError():
            return error
        case RequestValidationError():
            return _invalid(error.errors())
        case HTTPException():
            code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_").replace("-", "_")
            return ApiError(error.status_code, code, _sentence(error), headers=error.headers)
        case StorageError():  # what it says names the database's address, which is for the log alone
            return ApiError(503, "storage", NO_STORAGE, headers={"Retry-After": "1"})
    for ancestor in type(error).__mro__:
        if ancestor in STATUS:
            status, code = STATUS[ancestor]
            return ApiError(status, code, str(error))
    return ApiError(500, "internal", INTERNAL)


def install(app: FastAPI, *, page: Page | None = None) -> None:
    """Answer every error of an application in the one shape, or by `page` where a person is looking."""

    def answer(request: Request, error: Exception) -> Response:
        problem = as_api_error(error)
        if problem.status == 500:
            LOG.error("unexpected error", exc_info=error, extra={"fields": {"request": _request_id(request)}})
        if isinstance(error, StorageError):
            LOG.warning("the database failed", extra={"fields": {"request": _request_id(request), "why": str(error)}})
        if problem.status < 400:  # a way to go on, such as to the sign-in page
            return Response(status_code=problem.status, headers=problem.headers)
        if page is not None and wants_page(request):
            response = page(request, problem)
            response.status_code = problem.status
            response.headers.update(problem.headers)
        else:
            response = JSONResponse(problem.body(), status_code=problem.status, headers=problem.headers)
        response.headers.update(request.scope.get("state", {}).get(ANSWER_HEADERS, {}))
        return response

    for kind in (ApiError, RequestValidationError, HTTPException, QuorateError, Exception):
        app.add_exception_handler(kind, answer)


def _request_id(request: Request) -> str | None:
    found = request.scope.get("state", {}).get("request_id")
    return None if found is None else str(found)


def _sentence(error: HTTPException) -> str:
    match error.status_code:
        case 404:
            return "there is nothing at this address"
        case 405:
            return "this address does not answer to this method"
        case _:
            return str(error.detail)


def _invalid(errors: Sequence[Any]) -> ApiError:
    """What is wrong with a request, without what was sent: that may be a password or a vote."""
    said = [(_field(problem["loc"]), str(problem["msg"])) for problem in errors]
    shown = "; ".join(f"{field}: {text}" if field else text for field, text in said[:3])
    more = f"; and {len(said) - 3} more" if len(said) > 3 else ""
    return ApiError(422, "invalid", f"{shown}{more}", said[0][0] if said else None)


def _field(place: Sequence[str | int]) -> str | None:
    names = [str(part) for part in place if part not in ("body", "query", "path", "header", "cookie", *KINDS)]
    return ".".join(names) or None
