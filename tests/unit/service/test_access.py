from __future__ import annotations

import hmac
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from fastapi.testclient import TestClient

from quorate.assembly import Options
from quorate.core.panel import Panel
from quorate.errors import SettingsError
from quorate.service.access import SESSION_COOKIE, Access, local_path
from quorate.service.tokens import Tokens
from quorate.storage import studies
from quorate.storage.accounts import Accounts
from quorate.storage.config import StudyConfig

if TYPE_CHECKING:
    from tests.unit.service.conftest import Clock


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def by_cookie(client: TestClient, tokens: Tokens, user_id: int) -> str:
    """Sign a browser in; the CSRF token of the session."""
    issued = tokens.issue_session(user_id, by="password")
    client.cookies.set(SESSION_COOKIE, issued.secret)
    return tokens.csrf(issued.token.digest)


def test_a_token_says_who_comes(client: TestClient, tokens: Tokens, accounts: Accounts) -> None:
    studies.create(accounts.db, "cxr", StudyConfig(Panel(["no", "yes"], ["ben", "cho"]), Options(method="all")))
    ann = accounts.create_user("ann", "expert")
    accounts.give_seat(ann.id, "cxr", "ben")
    found = client.get("/api/me", headers=bearer(tokens.issue_api(ann.id).secret))
    assert found.status_code == 200
    assert found.json() == {"name": "ann", "role": "expert", "via": "api", "seats": {"cxr": ["ben"]}}


def test_strangers_are_told_how_to_come_in(client: TestClient) -> None:
    refused = client.get("/api/me")
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    assert refused.json() == {
        "error": {
            "code": "unauthorized",
            "message": "sign in, or send a token as `Authorization: Bearer quo_...`",
            "field": None,
        }
    }
    assert client.get("/api/anyone").json() == {"name": None}


@pytest.mark.parametrize(
    "scheme", ["Bearer quo_unknown", "Bearer", "Bearer ", "Basic YTpi", "quo_x", "", "Bearer \xe9"]
)
def test_a_bad_header_is_refused_even_beside_a_good_cookie(client: TestClient, tokens: Tokens, scheme: str) -> None:
    by_cookie(client, tokens, tokens.accounts.create_user("ann", "expert").id)
    assert client.get("/api/me").status_code == 200
    for path in ("/api/me", "/api/anyone"):
        refused = client.get(path, headers={b"Authorization": scheme.encode("latin-1")})
        assert refused.status_code == 401
        assert refused.json()["error"]["code"] == "unauthorized"


def test_kinds_of_tokens_do_not_pass_for_one_another(client: TestClient, tokens: Tokens) -> None:
    ann = tokens.accounts.create_user("ann", "expert")
    session, link = tokens.issue_session(ann.id, by="password").secret, tokens.issue_link(ann.id).secret
    for secret in (session, link):
        assert client.get("/api/me", headers=bearer(secret)).status_code == 401
    for secret in (link, tokens.issue_api(ann.id).secret):
        client.cookies.set(SESSION_COOKIE, secret)
        assert client.get("/api/me").status_code == 401


def test_revoked_and_expired_tokens_are_dead(client: TestClient, tokens: Tokens, clock: Clock) -> None:
    ann = tokens.accounts.create_user("ann", "expert")
    issued = tokens.issue_api(ann.id)
    assert client.get("/api/me", headers=bearer(issued.secret)).status_code == 200
    tokens.accounts.revoke(issued.token.id)
    assert client.get("/api/me", headers=bearer(issued.secret)).status_code == 401
    by_cookie(client, tokens, ann.id)
    assert client.get("/api/me").status_code == 200
    clock.pass_by(hours=12)
    assert client.get("/api/me").status_code == 401


def test_a_disabled_user_is_out_at_once(client: TestClient, tokens: Tokens, accounts: Accounts) -> None:
    accounts.create_user("root", "admin")
    ann = accounts.create_user("ann", "expert")
    token = tokens.issue_api(ann.id).secret
    by_cookie(client, tokens, ann.id)
    accounts.disable(ann.id)
    assert client.get("/api/me").status_code == 401
    assert client.get("/api/me", headers=bearer(token)).status_code == 401


def test_a_new_role_counts_at_once(client: TestClient, tokens: Tokens, accounts: Accounts) -> None:
    ann = accounts.create_user("ann", "manager")
    header = bearer(tokens.issue_api(ann.id).secret)
    refused = client.get("/api/users", headers=header)
    assert refused.status_code == 403
    assert refused.json()["error"]["message"] == (
        "you may not manage users; ask an admin for a role or a seat that may"
    )
    accounts.change_role(ann.id, "admin")
    assert client.get("/api/users", headers=header).json() == {"by": "ann"}


def test_a_change_by_cookie_needs_its_proof(client: TestClient, tokens: Tokens) -> None:
    ann = tokens.accounts.create_user("ann", "expert")
    other = tokens.csrf(tokens.issue_session(ann.id, by="password").token.digest)
    csrf = by_cookie(client, tokens, ann.id)
    for refused in (
        client.post("/api/change"),
        client.post("/api/change", headers={"X-CSRF-Token": "wrong"}),
        client.post("/api/change", headers={"X-CSRF-Token": ""}, data={"csrf": csrf}),
        client.post("/api/change", headers={"X-CSRF-Token": other}),
        client.post("/api/change", data={"csrf": other}),
        client.post("/api/change", data={"csrf": ""}),
        client.post("/api/change", json={"csrf": csrf}),
        client.post("/api/change", content=f"csrf={csrf}", headers={"Content-Type": "text/plain"}),
        client.post("/api/change", files={"csrf": ("csrf", csrf)}),
        client.post(f"/api/change?csrf={csrf}"),
    ):
        assert refused.status_code == 403
        assert refused.json()["error"]["code"] == "csrf"
    for taken in (
        client.post("/api/change", headers={"X-CSRF-Token": csrf}),
        client.post("/api/change", data={"csrf": csrf}),
        client.post("/api/change", data={"csrf": csrf}, files={"table": ("votes.csv", "item,a\n")}),
    ):
        assert taken.json() == {"changed_by": "ann"}


def test_the_proof_is_needed_before_the_body_is_looked_at(client: TestClient, tokens: Tokens) -> None:
    csrf = by_cookie(client, tokens, tokens.accounts.create_user("ann", "expert").id)
    assert client.post("/api/cases/c1/votes", json={"vote": "none"}).status_code == 403
    given = client.post("/api/cases/c1/votes", json={"vote": 1}, headers={"X-CSRF-Token": csrf})
    assert given.json() == {"case": "c1", "vote": 1, "by": "ann"}


def test_a_program_needs_no_proof(client: TestClient, tokens: Tokens) -> None:
    ann = tokens.accounts.create_user("ann", "expert")
    by_cookie(client, tokens, ann.id)
    taken = client.post("/api/change", headers=bearer(tokens.issue_api(ann.id).secret))
    assert taken.json() == {"changed_by": "ann"}


def test_proofs_are_compared_in_constant_time(
    client: TestClient, tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[object, object]] = []
    real = hmac.compare_digest

    def noting(a: bytes, b: bytes) -> bool:
        compared.append((a, b))
        return real(a, b)

    csrf = by_cookie(client, tokens, tokens.accounts.create_user("ann", "expert").id)
    monkeypatch.setattr(hmac, "compare_digest", noting)
    client.post("/api/change", headers={"X-CSRF-Token": "wrong"})
    assert (csrf.encode(), b"wrong") in compared


def test_a_page_leads_strangers_to_sign_in_and_back(client: TestClient, tokens: Tokens) -> None:
    led = client.get("/page?case=a%26b&x=1", headers={"Accept": "text/html"})
    assert led.status_code == 303
    assert led.headers["location"] == "/sign-in?next=%2Fpage%3Fcase%3Da%2526b%26x%3D1"
    part = client.get("/page", headers={"HX-Request": "true"})
    assert (part.status_code, part.headers["hx-redirect"]) == (401, "/sign-in")
    by_cookie(client, tokens, tokens.accounts.create_user("ann", "expert").id)
    assert client.get("/page").json() == {"name": "ann"}


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        ("/", "/"),
        ("/studies/cxr?page=2#top", "/studies/cxr?page=2#top"),
        (None, "/"),
        ("", "/"),
        ("studies", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/\t/evil.example", "/"),
        ("/a\r\nSet-Cookie: x", "/"),
        ("https://evil.example/", "/"),
        ("javascript:alert(1)", "/"),
    ],
)
def test_only_own_addresses_are_gone_to(wanted: str | None, place: str) -> None:
    assert local_path(wanted) == place


@pytest.mark.parametrize("address", ["", "quorate.example", "ftp://quorate.example", "https://"])
def test_the_base_url_is_an_address(access: Access, address: str) -> None:
    with pytest.raises(SettingsError, match="is no address; expected http://HOST or https://HOST"):
        replace(access, base_url=address)
    assert not access.https
    assert replace(access, base_url="https://quorate.example").https
