"""Tokens that people make for their programs over HTTP, and how long they last."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from quorate.service.access import CSRF_HEADER, SESSION_COOKIE
from tests.service.conftest import Service


def made(service: Service, secret: str, **body: object) -> Any:
    answer = service.client.post("/api/tokens", json=body, headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 201, answer.text
    return answer.json()


@pytest.mark.parametrize("role", ["expert", "admin"])
@pytest.mark.parametrize("body", [{}, {"days": 3650}])
def test_a_token_that_ends_makes_none_that_lasts_longer(service: Service, role: str, body: dict[str, int]) -> None:
    access = service.hall.access
    user = access.accounts.create_user("ann", role)
    used = access.tokens.issue_api(user.id, lifetime=timedelta(days=1))
    assert used.token.expires_at is not None
    second = made(service, used.secret, **body)
    third = made(service, second["secret"], **body)
    for one in (second, third):
        assert datetime.fromisoformat(one["token"]["expires_at"]) == used.token.expires_at


def test_a_token_may_make_one_that_ends_sooner(service: Service) -> None:
    access = service.hall.access
    user = access.accounts.create_user("ann", "expert")
    used = access.tokens.issue_api(user.id, lifetime=timedelta(days=9))
    assert used.token.expires_at is not None
    soon = datetime.fromisoformat(made(service, used.secret, days=1)["token"]["expires_at"])
    assert soon < used.token.expires_at - timedelta(days=7)


def test_what_does_not_end_may_make_what_does_not_end(service: Service) -> None:
    access = service.hall.access
    user = access.accounts.create_user("ann", "expert")
    assert made(service, access.tokens.issue_api(user.id).secret)["token"]["expires_at"] is None
    session = access.tokens.issue_session(user.id, by="password")
    service.client.cookies.set(SESSION_COOKIE, session.secret)
    proof = {CSRF_HEADER: access.tokens.csrf(session.token.digest)}
    answer = service.client.post("/api/tokens", json={}, headers=proof)
    assert answer.status_code == 201
    assert answer.json()["token"]["expires_at"] is None
