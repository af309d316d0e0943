from __future__ import annotations

import logging

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from fastapi.testclient import TestClient

from quorate.errors import (
    AccountError,
    FetchError,
    HealthError,
    InputError,
    MissingExtraError,
    NotFoundError,
    PanelError,
    Problem,
    StaleJournalError,
    StorageError,
    StudyError,
    TableError,
)
from quorate.service import problems
from quorate.service.problems import ApiError
from quorate.service.tokens import Tokens


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (InputError("said"), 422, "invalid"),
        (PanelError("said"), 422, "invalid"),
        (TableError("votes.csv", [Problem(1, "said")]), 422, "invalid"),
        (NotFoundError("said"), 404, "not_found"),
        (StudyError("said"), 409, "conflict"),
        (StaleJournalError("said"), 409, "conflict"),
        (AccountError("said"), 409, "conflict"),
        (HealthError("said"), 503, "unhealthy"),
        (MissingExtraError("said", "service"), 501, "not_installed"),
        (ApiError(418, "teapot", "said"), 418, "teapot"),
    ],
)
def test_errors_of_our_own_say_what_they_say(
    app: FastAPI, client: TestClient, error: Exception, status: int, code: str
) -> None:
    app.state.raised["it"] = error
    answer = client.get("/api/raise/it")
    assert answer.status_code == status
    shown = answer.json()
    assert set(shown) == {"error"}
    assert set(shown["error"]) == {"code", "message", "field"}
    assert shown["error"]["code"] == code
    assert "said" in shown["error"]["message"]


def test_a_database_that_fails_is_named_in_the_log_alone(
    app: FastAPI, client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    app.state.raised["it"] = StorageError("the database postgresql+psycopg://ann@host/db cannot be read")
    with caplog.at_level(logging.WARNING, "quorate.service"):
        answer = client.get("/api/raise/it")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert answer.json()["error"]["code"] == "storage"
    assert "host" not in answer.text
    assert [vars(record)["fields"]["why"] for record in caplog.records] == [str(app.state.raised["it"])]


@pytest.mark.parametrize("error", [RuntimeError("hidden"), KeyError("hidden"), FetchError("hidden")])
def test_unexpected_errors_tell_nothing_and_are_logged(
    app: FastAPI, client: TestClient, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    app.state.raised["it"] = error
    with caplog.at_level(logging.ERROR, "quorate.service"):
        answer = client.get("/api/raise/it")
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "internal"
    assert "hidden" not in answer.text
    logged = [record for record in caplog.records if record.name == "quorate.service"]
    assert [record.exc_info[1] for record in logged if record.exc_info] == [error]


def test_a_field_can_be_named(app: FastAPI, client: TestClient) -> None:
    app.state.raised["it"] = ApiError(422, "invalid", "too long", "name", headers={"X-More": "yes"})
    answer = client.get("/api/raise/it")
    assert answer.json() == {"error": {"code": "invalid", "message": "too long", "field": "name"}}
    assert answer.headers["x-more"] == "yes"


def test_bad_requests_name_the_field_and_never_what_was_sent(client: TestClient, tokens: Tokens) -> None:
    header = {"Authorization": f"Bearer {tokens.issue_api(tokens.accounts.create_user('ann', 'expert').id).secret}"}
    wrong = client.post("/api/cases/c1/votes", json={"vote": "s3cret"}, headers=header)
    assert wrong.status_code == 422
    assert (wrong.json()["error"]["code"], wrong.json()["error"]["field"]) == ("invalid", "vote")
    assert "s3cret" not in wrong.text
    broken = client.post(
        "/api/cases/c1/votes", content='{"vote": s3cret', headers=header | {"Content-Type": "application/json"}
    )
    assert broken.status_code == 422
    assert "s3cret" not in broken.text
    empty = client.post("/api/cases/c1/votes", headers=header)
    assert empty.status_code == 422


def test_addresses_and_methods_that_are_not_there(client: TestClient) -> None:
    lost = client.get("/api/nowhere")
    assert (lost.status_code, lost.json()["error"]["code"]) == (404, "not_found")
    wrong = client.put("/api/me")
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (405, "method_not_allowed")
    assert wrong.headers["allow"] == "GET"


def test_people_get_a_page_and_programs_do_not() -> None:
    app = FastAPI()

    def page(_request: Request, error: ApiError) -> Response:
        return HTMLResponse(f"<p>{error.message}</p>")

    problems.install(app, page=page)
    with TestClient(app) as client:
        browser = {"Accept": "text/html,*/*"}
        shown = client.get("/nowhere", headers=browser)
        assert (shown.status_code, shown.text) == (404, "<p>there is nothing at this address</p>")
        assert client.get("/api/nowhere", headers=browser).json()["error"]["code"] == "not_found"
        assert client.get("/nowhere").json()["error"]["code"] == "not_found"
