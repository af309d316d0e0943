from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from fastapi import FastAPI
from fastapi.responses import Response, StreamingResponse
from fastapi.testclient import TestClient

from quorate.errors import SettingsError
from quorate.service import problems
from quorate.service.headers import SecurityHeaders, content_policy

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send


def wrapped(*, inside: bool = False, **options: Any) -> TestClient:
    """An application with the headers around it, or inside, where its last resort is further out."""
    app = FastAPI()
    problems.install(app)

    @app.get("/page")
    def page() -> Response:
        return Response("page", headers={"Content-Security-Policy": "script-src *", "X-Own": "kept"})

    @app.get("/static/style.css")
    def style() -> Response:
        return Response("style")

    @app.get("/cached")
    def cached() -> Response:
        return Response("cached", headers={"Cache-Control": "max-age=60"})

    @app.get("/broken")
    def broken() -> None:
        raise RuntimeError("broken")

    @app.get("/stream")
    def stream() -> StreamingResponse:
        def parts() -> Iterator[str]:
            yield from "abc"

        return StreamingResponse(parts())

    if inside:
        app.add_middleware(SecurityHeaders, **options)
        return TestClient(app, raise_server_exceptions=False)
    return TestClient(SecurityHeaders(app, **options), raise_server_exceptions=False)


@pytest.mark.parametrize("inside", [False, True])
def test_every_answer_has_the_headers(inside: bool) -> None:
    client = wrapped(https=False, inside=inside)
    for path, status in (("/page", 200), ("/nowhere", 404), ("/broken", 500), ("/stream", 200)):
        answer = client.get(path)
        assert answer.status_code == status
        policy = answer.headers["content-security-policy"]
        assert policy == (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
            "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        )
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers.get_list("cache-control") == ["no-store"]
        assert "strict-transport-security" not in answer.headers
    assert client.get("/page").headers["x-own"] == "kept"


def test_what_may_be_kept_by_a_browser() -> None:
    client = wrapped(https=False)
    assert "cache-control" not in client.get("/static/style.css").headers
    assert client.get("/cached").headers["cache-control"] == "max-age=60"


def test_https_is_for_good() -> None:
    assert wrapped(https=True).get("/page").headers["strict-transport-security"] == "max-age=31536000"


def test_images_of_named_origins_are_shown() -> None:
    client = wrapped(https=False, image_origins=["https://pacs.example:8443", "http://10.0.0.7"])
    assert (
        "img-src 'self' https://pacs.example:8443 http://10.0.0.7;"
        in (client.get("/page").headers["content-security-policy"])
    )


@pytest.mark.parametrize(
    "origin", ["*", "https://a.example; script-src *", "a.example", "https://a.example/x", "data:"]
)
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(SettingsError, match=r"is no origin; expected one such as https://images\.example"):
        content_policy([origin])


def test_a_stream_is_passed_on_piece_by_piece() -> None:
    sent: list[str] = []

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for piece in (b"one", b"two"):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            sent.append("app went on")
        await send({"type": "http.response.body", "body": b""})

    async def send(message: Message) -> None:
        sent.append(message.get("body", b"").decode() or message["type"])

    async def receive() -> Message:
        raise AssertionError

    scope = {"type": "http", "path": "/stream", "method": "GET"}
    asyncio.run(SecurityHeaders(app, https=False)(scope, receive, send))
    assert sent == ["http.response.start", "one", "app went on", "two", "app went on", "http.response.body"]
