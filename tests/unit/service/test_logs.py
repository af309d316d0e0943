from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from quorate.service.access import SESSION_COOKIE
from quorate.service.logs import JsonLines, RequestLog, configure
from quorate.service.passwords import Passwords
from quorate.service.tokens import Tokens
from tests.unit.service.conftest import PASSWORD, csrf_in


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers = []  # pytest's own must not be closed
    stream = io.StringIO()
    configure(stream=stream)
    try:
        yield stream
    finally:
        root.handlers = handlers
        root.setLevel(level)
        logging.getLogger("uvicorn.access").disabled = False


@pytest.fixture
def logged(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(RequestLog(app), follow_redirects=False, raise_server_exceptions=False) as client:
        yield client


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def requests(stream: io.StringIO) -> list[dict[str, Any]]:
    return [line for line in lines(stream) if line["event"] == "request"]


def test_a_request_is_one_line(logged: TestClient, stream: io.StringIO, tokens: Tokens) -> None:
    ann = tokens.accounts.create_user("ann", "expert")
    header = {"Authorization": f"Bearer {tokens.issue_api(ann.id).secret}"}
    answer = logged.post("/api/cases/case-17/votes?x=1", json={"vote": 1}, headers=header)
    assert answer.status_code == 200
    (line,) = requests(stream)
    assert line.pop("ms") >= 0
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "info",
        "logger": "quorate.service.requests",
        "event": "request",
        "method": "POST",
        "route": "/api/cases/{case}/votes",
        "status": 200,
        "user": ann.id,
        "request": answer.headers["x-request-id"],
    }


def test_addresses_that_lead_nowhere_are_not_repeated(logged: TestClient, stream: io.StringIO) -> None:
    logged.get("/nowhere/s3cret")
    (line,) = requests(stream)
    assert (line["route"], line["status"], line["user"]) == ("(none)", 404, None)


def test_nothing_secret_is_ever_logged(
    logged: TestClient, app: FastAPI, stream: io.StringIO, tokens: Tokens, passwords: Passwords
) -> None:
    ann = tokens.accounts.create_user("ann", "expert", password=passwords.hash(PASSWORD))
    api, link = tokens.issue_api(ann.id).secret, tokens.issue_link(ann.id).secret
    header = {"Authorization": f"Bearer {api}"}
    app.state.raised["it"] = ValueError(f"vote abnormal by {api} and {PASSWORD}")
    logged.get(f"/sign-in/{link}")
    logged.post(f"/sign-in/{link}", data={"csrf": csrf_in(logged.get("/sign-in").text)})
    session = logged.cookies[SESSION_COOKIE]
    logged.post("/sign-in", json={"name": "ann", "password": PASSWORD})
    logged.post("/sign-in", json={"name": "ann", "password": "a wrong guess"})
    logged.post("/api/cases/c1/votes", json={"vote": "abnormal"}, headers=header)
    logged.get(f"/api/raise/it?token={api}", headers=header)
    said = stream.getvalue()
    assert len(requests(stream)) == 7
    stored = tokens.accounts.user(ann.id).password
    assert stored is not None
    digests = [token.digest for token in tokens.accounts.tokens()]
    for secret in (
        api,
        link,
        session,
        logged.cookies[SESSION_COOKIE],
        PASSWORD,
        "a wrong guess",
        "abnormal",
        stored,
        *digests,
    ):
        assert secret not in said


def test_an_unexpected_error_is_logged_by_type_and_place(logged: TestClient, app: FastAPI, stream: io.StringIO) -> None:
    app.state.raised["it"] = ValueError("s3cret")
    answer = logged.get("/api/raise/it")
    (error,) = [line for line in lines(stream) if line["level"] == "error"]
    assert error["error"] == "ValueError"
    assert any("conftest.py" in place and place.endswith(" fail") for place in error["where"])
    assert error["request"] == answer.headers["x-request-id"]
    assert requests(stream)[0]["status"] == 500


def test_a_request_is_logged_alike_from_inside_an_application(app: FastAPI, stream: io.StringIO) -> None:
    app.add_middleware(RequestLog)
    app.state.raised["it"] = ValueError("s3cret")
    with TestClient(app, raise_server_exceptions=False) as client:
        for path, status in (("/api/raise/it", 500), ("/api/anyone", 200)):
            answer = client.get(path)
            line = requests(stream)[-1]
            assert (line["status"], answer.status_code) == (status, status)
            assert answer.headers.get_list("x-request-id") == [line["request"]]


def test_lines_of_others_are_stripped_of_secrets(stream: io.StringIO) -> None:
    log = logging.getLogger("uvicorn.error")
    log.warning(
        "GET /sign-in/AbC-d_e?x HTTP/1.1 with quo_Abc-123 and Cookie: quorate_session=zYx; %s", "$argon2id$v=19$q"
    )
    (line,) = lines(stream)
    for secret in ("AbC", "Abc-123", "zYx", "argon2"):
        assert secret not in line["event"]
    assert line["event"].startswith("GET /sign-in/***?x HTTP/1.1 with *** and Cookie: quorate_session=***;")


def test_uvicorn_repeats_neither_addresses_nor_errors(stream: io.StringIO) -> None:
    logging.getLogger("uvicorn.access").info("GET /sign-in/secret")
    logging.getLogger("uvicorn.error").error("Exception in ASGI application\n")
    assert stream.getvalue() == ""


def test_a_line_is_one_line_whatever_it_says() -> None:
    record = logging.makeLogRecord({"msg": 'a\nb "c" \u2028', "levelname": "INFO", "fields": {"x": object}})
    text = JsonLines().format(record)
    assert text.isascii()
    assert "\n" not in text
    assert json.loads(text)["event"] == 'a\nb "c" \u2028'


def test_causes_of_errors_are_named() -> None:
    def look_up() -> None:
        try:
            dict[str, int]()["s3cret"]
        except KeyError as error:
            raise RuntimeError("s3cret") from error

    with pytest.raises(RuntimeError) as raised:
        look_up()
    error = raised.value
    record = logging.makeLogRecord({"msg": "failed", "exc_info": (type(error), error, error.__traceback__)})
    text = JsonLines().format(record)
    assert json.loads(text)["error"] == "RuntimeError from KeyError"
    assert "s3cret" not in text
