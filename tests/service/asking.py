"""What tests of the API share: who is asked about a case, voting until it settles, and the shape of an error."""

from __future__ import annotations

from typing import Any

from tests.service.conftest import Service

HEART = "/api/studies/heart"


def pending(service: Service, key: str) -> list[str]:
    found = service.case(key)["pending"]
    assert isinstance(found, list)
    return found


def vote_on(service: Service, key: str, vote: str) -> list[str]:
    """Answer every question about a case until it settles; gives who was asked, in order."""
    asked = []
    while now := pending(service, key):
        asked.append(now[0])
        assert service.vote(key, now[0], vote).status_code == 200
    return asked


def error(response: Any, status: int, code: str) -> str:
    """The message of an error of the one shape."""
    assert response.status_code == status, response.text
    body = response.json()
    assert body.keys() == {"error"}
    assert {"code", "message", "field"} <= body["error"].keys()
    assert body["error"]["code"] == code
    return str(body["error"]["message"])
