"""Logs as one JSON object a line: what happened, when and for whom; never a token, a vote or a body.

A request is named by the template of its route, since its address may hold a secret, and an error by its type and
where it came from, since its message may quote what was sent.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import sys
import time
import traceback
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Final

from quorate.service.problems import ANSWER_HEADERS

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOG = logging.getLogger("quorate.service.requests")
NO_ROUTE: Final = "(none)"
SECRETS: Final = re.compile(r"quo_[\w-]+|(?<=/sign-in/)[\w%.~-]+|(?<=quorate_session=)[\w-]+|\$argon2[\w$=,+/-]+")
"""A last barrier, for lines that are not ours."""
SAID_BY_US: Final = "Exception in ASGI application"


class JsonLines(logging.Formatter):
    """A record as one line of JSON; `extra={"fields": {...}}` adds to it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        fields = getattr(record, "fields", None)
        if isinstance(fields, dict):
            line.update(fields)
        if record.exc_info and record.exc_info[1] is not None:
            line["error"], line["where"] = _described(record.exc_info[1])
        return SECRETS.sub("***", json.dumps(line, default=str))


class RequestLog:
    """Writes one line a request and gives it an id, which the answer carries as X-Request-ID."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on, and note how it ended."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        state = scope.setdefault("state", {})
        request_id = state["request_id"] = secrets.token_hex(8)
        state.setdefault(ANSWER_HEADERS, {})["x-request-id"] = request_id
        status: int | None = None

        async def send_noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [pair for pair in message.get("headers", ()) if pair[0].lower() != b"x-request-id"]
                message = {**message, "headers": [*headers, (b"x-request-id", request_id.encode())]}
            await send(message)

        try:
            await self._app(scope, receive, send_noting)
        finally:
            if status is None and isinstance(sys.exception(), Exception):
                status = 500  # it is answered further out
            fields = {
                "method": scope["method"],
                "route": _route(scope),
                "status": status,  # null: the client went before it was answered
                "ms": round(1000 * (time.perf_counter() - started), 1),
                "user": state.get("user_id"),
                "request": request_id,
            }
            LOG.info("request", extra={"fields": fields})


def configure(*, level: int = logging.INFO, stream: IO[str] | None = None) -> None:
    """Send all logs as JSON lines to a stream, standard error if none is given.

    Start uvicorn with `log_config=None, access_log=False`: its own lines about requests hold whole addresses.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    handler.addFilter(lambda record: SAID_BY_US not in record.getMessage())  # logged already, with its request
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("uvicorn.access").disabled = True
    logging.getLogger("alembic.runtime.plugins").setLevel(logging.WARNING)  # names every part of itself at each start


def _route(scope: Scope) -> str:
    route = scope.get("route")
    path = getattr(route, "path_format", None) or getattr(route, "path", None)
    return NO_ROUTE if path is None else str(path)


def _described(error: BaseException) -> tuple[str, list[str]]:
    """The types of an error and its causes, and the lines they came from."""
    types, where = [], []
    seen: BaseException | None = error
    while seen is not None:
        types.append(type(seen).__name__)
        where += [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(seen.__traceback__)]
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return " from ".join(types), where[-40:]
