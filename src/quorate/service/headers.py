"""Headers that keep a browser from doing what a page of ours never asks for.

Plain ASGI, so that what streams goes on streaming.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from quorate.errors import SettingsError
from quorate.service.problems import ANSWER_HEADERS

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

ORIGIN: Final = re.compile(r"https?://[A-Za-z0-9.-]+(:\d{1,5})?")
STATIC: Final = "/static/"
YEAR: Final = 365 * 24 * 3600


def content_policy(image_origins: Sequence[str] = ()) -> str:
    """The Content-Security-Policy: everything of our own, nothing inline, images also from the origins given.

    >>> "img-src 'self' https://pacs.example;" in content_policy(["https://pacs.example"])
    True
    """
    origins = [origin.removesuffix("/") for origin in image_origins]
    for origin in origins:
        if not ORIGIN.fullmatch(origin):
            raise SettingsError(f"image origin {origin!r} is no origin; expected one such as https://images.example")
    images = " ".join(("'self'", *origins))
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src {images}; font-src 'self'; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )


class SecurityHeaders:
    """Sets the headers on every response."""

    def __init__(self, app: ASGIApp, *, https: bool, image_origins: Sequence[str] = ()) -> None:
        self._app = app
        fixed = {
            "content-security-policy": content_policy(image_origins),
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "referrer-policy": "no-referrer",  # an address may hold the secret of a sign-in link
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "permissions-policy": "camera=(), geolocation=(), microphone=()",
        }
        if https:
            fixed["strict-transport-security"] = f"max-age={YEAR}"
        self._fixed = [(name.encode(), value.encode()) for name, value in fixed.items()]
        self._left = {**fixed, "cache-control": "no-store"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on, with the headers on the way back."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        scope.setdefault("state", {}).setdefault(ANSWER_HEADERS, {}).update(self._left)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = {name for name, _ in self._fixed}
                given = [(name, value) for name, value in message.get("headers", ()) if name.lower() not in ours]
                said = any(name.lower() == b"cache-control" for name, _ in given)
                if not said and not scope["path"].startswith(STATIC):  # votes must not stay on a shared computer
                    given.append((b"cache-control", b"no-store"))
                message = {**message, "headers": [*given, *self._fixed]}
            await send(message)

        await self._app(scope, receive, send_with_headers)
