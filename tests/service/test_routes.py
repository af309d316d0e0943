"""Who may do what, for every route that there is."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from quorate.service.app import create_app, open_hall
from tests.service.conftest import Idle, Service
from tests.service.permissions import API, COLUMN, PAGES, PUBLIC, filled
from tests.service.world import ACTORS, FILE, Sample, Somebody, World, build, entered, routes, send


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return build(tmp_path_factory.mktemp("roles") / "world")


@pytest.fixture(scope="module")
def still(world: World) -> Iterator[Service]:
    """A service that nothing is changed in."""
    with entered(world) as service:
        yield service


@pytest.fixture
def fresh(world: World, tmp_path: Path) -> Iterator[Service]:
    """A service of its own, for what changes something."""
    folder = tmp_path / "copy"
    shutil.copytree(world.folder, folder)
    with entered(replace(world, folder=folder)) as service:
        yield service


def expected(route: str, actor: str) -> int:
    page = route in PAGES
    _, allowed = (PAGES if page else API)[route]
    if route == "GET /" and actor == "neighbour":
        return 303  # to the one desk, as for everyone who has no other
    if actor in COLUMN:
        return allowed[COLUMN[actor]]
    return 303 if page else 401


def test_every_operation_and_every_route_is_classified(tmp_path: Path) -> None:
    hall = open_hall(f"sqlite:///{tmp_path / FILE}", base_url="http://testserver", make_executor=Idle)
    try:
        app = create_app(hall, demo=True)
        there = {f"{method} {path}" for method, path in routes(app)}
        documented = {f"{method.upper()} {path}" for path, item in app.openapi()["paths"].items() for method in item}
    finally:
        hall.stop()
    assert documented <= there
    assert documented == set(API) - {"GET /metrics"}
    assert there == set(API) | set(PAGES) | PUBLIC


@pytest.mark.parametrize("actor", ACTORS)
@pytest.mark.parametrize("route", [*API, *PAGES])
def test_a_route_answers_those_it_should(
    route: str, actor: str, world: World, still: Service, request: pytest.FixtureRequest
) -> None:
    sample, _ = (PAGES if route in PAGES else API)[route]
    method, path, body = filled(world, route, sample)
    wanted = expected(route, actor)
    changes = method != "GET" and wanted < 400 and actor in COLUMN
    service = request.getfixturevalue("fresh") if changes else still
    before = None if changes else world.dump()
    response = send(service, world.people[actor], method, path, body, page=route in PAGES)
    assert response.status_code == wanted, response.text[:500]
    if not changes:
        assert world.dump() == before, "what is refused or only read changes nothing"
    if wanted == 303 and actor not in COLUMN:
        assert response.headers["location"].startswith("/sign-in")
    if wanted in (401, 403, 404) and route in API:
        assert response.json()["error"].keys() == {"code", "message", "field"}


def test_a_token_of_somebody_disabled_or_ended_does_not_open_pages_either(world: World, still: Service) -> None:
    for actor in ("revoked", "disabled"):
        who = replace(world.people[actor], session=None)
        for route, (sample, _) in PAGES.items():
            method, path, body = filled(world, route, sample)
            assert send(still, who, method, path, body, page=True).status_code == 401, route


def test_a_form_without_its_proof_is_refused(world: World, still: Service) -> None:
    before = world.dump()
    for actor in ("seated", "manager", "admin"):
        who = replace(world.people[actor], csrf="")
        for route, (sample, _) in PAGES.items():
            method, path, body = filled(world, route, sample)
            if method == "POST":
                assert send(still, who, method, path, body, page=True).status_code == 403, route
    assert world.dump() == before


def test_a_manager_corrects_votes_and_casts_none(world: World, fresh: Service) -> None:
    boss = world.people["manager"]
    path = "/api/studies/heart/cases/{}/votes"
    amend = Sample({"expert": "ann", "vote": "abnormal", "amend": True})
    assert send(fresh, boss, "POST", path.format("c3"), amend).status_code == 200
    assert send(fresh, boss, "POST", path.format("c1"), amend).status_code == 403
    assert send(fresh, boss, "POST", path.format("nope"), amend).status_code == 404


def test_a_seat_that_is_taken_opens_nothing_at_once(world: World, fresh: Service) -> None:
    ann, root = world.people["seated"], world.people["admin"]
    inbox = "/api/studies/heart/experts/ann/inbox"
    assert send(fresh, ann, "GET", inbox).status_code == 200
    assert send(fresh, root, "DELETE", f"/api/users/{ann.id}/seats/heart/ann").status_code == 200
    assert send(fresh, ann, "GET", inbox).status_code == 403
    vote = Sample({"expert": "ann", "vote": "normal"})
    assert send(fresh, ann, "POST", "/api/studies/heart/cases/c1/votes", vote).status_code == 403
    nobody = Somebody()
    assert send(fresh, nobody, "GET", inbox).status_code == 401
