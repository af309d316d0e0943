"""Addresses over HTTP: odd keys and names, and studies that are gone."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import quote

import httpx2
import pytest

from quorate.storage import studies
from tests.service.asking import HEART, error, pending
from tests.service.conftest import ADDRESS, Service, serving


def test_a_deleted_study_is_gone_at_once_and_its_name_is_free(service: Service) -> None:
    service.create()
    service.open("c1")
    (first,) = pending(service, "c1")
    assert service.ask("DELETE", HEART).status_code == 204
    assert "sqlite" not in error(service.ask("DELETE", HEART), 404, "not_found")
    error(service.vote("c1", first, "normal"), 404, "not_found")
    error(service.ask("GET", f"{HEART}/cases"), 404, "not_found")
    assert service.get("/api/studies")["items"] == []
    service.create()
    assert service.get(f"{HEART}/cases")["items"] == []


def test_a_name_that_is_taken_is_refused_without_the_address_of_the_database(service: Service) -> None:
    service.create()
    study = {"name": "heart", "classes": ["a", "b"], "experts": ["ann"]}
    assert "sqlite" not in error(service.ask("POST", "/api/studies", study), 409, "conflict")


ODD = ["ü 1", "a b", "?x=1", "#x", "a&b=c", "+", "a;b", "日本語", "🫀", "\u202eabc", "'--", '"><b>', "...", "x" * 200]


@pytest.mark.parametrize("key", ODD)
def test_odd_keys_work_everywhere(shared: Service, key: str) -> None:
    shared.open(key)
    path = f"{HEART}/cases/{quote(key, safe='')}"
    found = shared.get(path)
    assert found["line"]["key"] == key
    while now := shared.get(path)["pending"]:
        answer = shared.ask("POST", f"{path}/votes", {"expert": now[0], "vote": "normal"})
        assert answer.status_code == 200, answer.text
        assert answer.json()["case"] == key
    assert shared.get(path)["line"]["state"] == "settled"
    lines = shared.ask("GET", f"{HEART}/export", params={"format": "jsonl"}).text.split("\n")
    assert key in [json.loads(line)["case"] for line in lines if line]


@pytest.mark.parametrize("key", ["%2F", "%252e", "100%"])
def test_a_key_is_decoded_once(shared: Service, key: str) -> None:
    shared.open(key)

    async def look() -> int:  # the test client decodes an address twice, servers do not
        transport = httpx2.ASGITransport(app=shared.app)
        async with httpx2.AsyncClient(transport=transport, base_url=ADDRESS) as client:
            path = f"{HEART}/cases/{quote(key, safe='')}"
            found = await client.get(path, headers={"Authorization": f"Bearer {shared.tokens['root']}"})
            assert found.json()["line"]["key"] == key
            return found.status_code

    assert asyncio.run(look()) == 200


@pytest.mark.parametrize("key", ["", ".", "..", "a/b", "a\x00b", "a\nb", "\x7f", "x" * 201, "\ud800"])
def test_keys_that_have_no_address_are_refused(shared: Service, key: str) -> None:
    body = json.dumps({"key": key, "probabilities": {}})
    response = shared.ask("POST", f"{HEART}/cases", content=body)
    assert error(response, 422, "invalid")


STRANGE = ["%00", "a%00b", "%ff", "%2F", "a%2Fb", "%0a", "x" * 300, "%F0%9F", "%ED%A0%80"]


def check_nowhere(service: Service, part: str) -> None:
    """Whatever is done at an address that nothing has, it is not there."""
    vote = {"expert": "ann", "vote": "normal"}
    requests: list[tuple[str, str, object]] = [
        ("GET", f"/api/studies/{part}", None),
        ("DELETE", f"/api/studies/{part}", None),
        ("GET", f"{HEART}/cases/{part}", None),
        ("POST", f"{HEART}/cases/{part}/votes", vote),
        ("DELETE", f"{HEART}/cases/{part}/votes/ann", None),
        ("POST", f"{HEART}/cases/{part}/reopen", {}),
        ("GET", f"{HEART}/experts/{part}/inbox", None),
        ("DELETE", f"{HEART}/experts/{part}", None),
        ("PUT", f"/api/users/1/seats/{part}/ann", None),
        ("PUT", f"/api/users/1/seats/heart/{part}", None),
        ("DELETE", f"/api/users/1/seats/{part}/ann", None),
    ]
    for method, path, body in requests:
        assert service.ask(method, path, body).status_code in (307, 404, 405, 422), (method, path)


@pytest.mark.parametrize("part", STRANGE)
def test_odd_addresses_lead_nowhere(shared: Service, part: str) -> None:
    check_nowhere(shared, part)


def test_odd_addresses_lead_nowhere_in_postgresql_either(postgres_url: str) -> None:
    with serving(postgres_url) as service:
        service.create()
        for part in STRANGE:
            check_nowhere(service, part)
        service.open("\u00fc \U0001fac0")
        (line,) = service.get(f"{HEART}/cases")["items"]
        assert line["key"] == "\u00fc \U0001fac0"


def test_a_study_that_another_program_deleted_is_not_found(service: Service) -> None:
    service.create(min_votes=3)
    service.open("c1")
    (first,) = pending(service, "c1")
    studies.delete(service.hall.db, "heart")
    for path in ("", "/cases", "/cases/c1", f"/experts/{first}/inbox", "/report", "/export"):
        assert service.ask("GET", f"{HEART}{path}").status_code in (200, 404), path
    error(service.vote("c1", first, "normal"), 404, "not_found")
