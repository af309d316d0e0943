"""Who may do what, for every route that there is, and what each of them must never learn."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quorate.service.app import create_app, open_hall
from tests.service.conftest import Idle, Service, serving
from tests.service.world import ACTORS, FILE, HEART, OTHERS, Sample, Somebody, World, build, routes, send, told

Expected = tuple[int, int, int, int]  # an expert with a seat, one without, a manager, an admin

ALL: Expected = (200, 200, 200, 200)
STUDY: Expected = (403, 403, 200, 200)
MADE: Expected = (403, 403, 201, 201)
GONE: Expected = (403, 403, 204, 204)
SEAT: Expected = (200, 403, 200, 200)
VOICE: Expected = (200, 403, 403, 200)
ADMIN: Expected = (403, 403, 403, 200)

CASE = {"key": "new", "probabilities": {"net": [0.4, 0.6]}}
NEW = {"name": "brain", "classes": ["no", "yes"], "experts": ["flo"]}
TABLE = "item,ann,p_0,p_1\npast,normal,.6,.4\n"

API: dict[str, tuple[Sample, Expected]] = {
    "GET /api/studies": (Sample(), ALL),
    "POST /api/studies": (Sample(NEW), MADE),
    "GET /api/studies/{study}": (Sample(), SEAT),
    "DELETE /api/studies/{study}": (Sample(), GONE),
    "GET /api/studies/{study}/report": (Sample(), STUDY),
    "POST /api/studies/{study}/experts": (Sample({"name": "gil"}), MADE),
    "DELETE /api/studies/{study}/experts/{expert}": (Sample(), STUDY),
    "PUT /api/studies/{study}/experts/{expert}/away": (Sample({"away": True}), SEAT),
    "POST /api/studies/{study}/classifiers": (Sample({"old": "net", "new": "net2"}), STUDY),
    "POST /api/studies/{study}/import": (Sample(content=TABLE), STUDY),
    "GET /api/studies/{study}/export": (Sample(), STUDY),
    "POST /api/studies/{study}/cases": (Sample(CASE), MADE),
    "GET /api/studies/{study}/cases": (Sample(), STUDY),
    "GET /api/studies/{study}/cases/{case}": (Sample(), STUDY),
    "POST /api/studies/{study}/cases/{case}/votes": (Sample({"expert": "{expert}", "vote": "normal"}), VOICE),
    "DELETE /api/studies/{study}/cases/{case}/votes/{expert}": (Sample(parts={"case": "c3"}), (204, 403, 204, 204)),
    "POST /api/studies/{study}/cases/{case}/abstentions": (Sample({"expert": "{expert}"}), VOICE),
    "POST /api/studies/{study}/cases/{case}/expire": (Sample({"expert": "{expert}"}), GONE),
    "POST /api/studies/{study}/cases/{case}/reopen": (Sample({"whole": True}), STUDY),
    "GET /api/studies/{study}/experts/{expert}/inbox": (Sample(), SEAT),
    "GET /api/studies/{study}/experts/{expert}/events": (Sample(), SEAT),
    "GET /api/studies/{study}/events": (Sample(), STUDY),
    "GET /api/users": (Sample(), ADMIN),
    "POST /api/users": (Sample({"name": "hal"}), (403, 403, 403, 201)),
    "PATCH /api/users/{user}": (Sample({"role": "manager"}), ADMIN),
    "POST /api/users/{user}/link": (Sample(), (403, 403, 403, 201)),
    "PUT /api/users/{user}/seats/{study}/{expert}": (Sample(), ADMIN),
    "DELETE /api/users/{user}/seats/{study}/{expert}": (Sample(), ADMIN),
    "GET /api/tokens": (Sample(), ALL),
    "POST /api/tokens": (Sample({"label": "mine", "days": 3}), (201, 201, 201, 201)),
    "DELETE /api/tokens/{token}": (Sample(), (204, 404, 404, 204)),
    "GET /metrics": (Sample(), STUDY),
}
"""Every operation of the API: a request that is in order, and who may make it; all others are told 401."""

LEADS: Expected = (403, 403, 303, 303)  # where a form leads on
SEATS = {"seat": "heart/ann"}
AVOTE = {"case": "{case}", "vote": "normal"}
FORM = {
    "name": "brain",
    "classes": "no\nyes",
    "experts": "flo\ngil",
    "classifiers": "net",
    "max_error": "5",
    "target": "consensus",
    "min_votes": "1",
    "audit_share": "5",
    "lease_hours": "8",
    "max_open": "5",
    "in_flight": "1",
}

PAGES: dict[str, tuple[Sample, Expected]] = {
    "GET /": (Sample(), (303, 200, 200, 200)),
    "GET /account": (Sample(), ALL),
    "POST /account": (Sample(form={"password": "a long one 123", "repeat": "a long one 123"}), (303, 303, 303, 303)),
    "GET /account/tokens": (Sample(), ALL),
    "POST /account/tokens": (Sample(form={"label": "mine", "days": "3"}), ALL),
    "POST /account/tokens/{token}/revoke": (Sample(), (303, 404, 404, 404)),
    "GET /studies/new": (Sample(), STUDY),
    "POST /studies/new": (Sample(form=FORM), LEADS),
    "GET /studies/{study}": (Sample(), STUDY),
    "GET /studies/{study}/board": (Sample(), STUDY),
    "GET /studies/{study}/plots": (Sample(), STUDY),
    "GET /studies/{study}/plots/{name}.svg": (Sample(parts={"name": "load"}), STUDY),
    "GET /studies/{study}/import": (Sample(), STUDY),
    "POST /studies/{study}/import": (Sample(files={"table": ("past.csv", TABLE.encode())}), STUDY),
    "GET /studies/{study}/inbox/{expert}": (Sample(), SEAT),
    "GET /studies/{study}/inbox/{expert}/desk": (Sample(), SEAT),
    "POST /studies/{study}/inbox/{expert}": (Sample(form=AVOTE), (303, 403, 403, 303)),
    "POST /studies/{study}/inbox/{expert}/away": (Sample(form={"away": "yes"}), (303, 403, 303, 303)),
    "GET /studies/{study}/cases": (Sample(), STUDY),
    "GET /studies/{study}/cases/{case}": (Sample(), STUDY),
    "GET /studies/{study}/cases/{case}/parts": (Sample(), STUDY),
    "POST /studies/{study}/cases/{case}/amend": (
        Sample(form={"expert": "{expert}", "vote": "abnormal"}, parts={"case": "c3"}),
        LEADS,
    ),
    "POST /studies/{study}/cases/{case}/withdraw": (Sample(form={"expert": "{expert}"}, parts={"case": "c3"}), LEADS),
    "POST /studies/{study}/cases/{case}/expire": (Sample(form={"expert": "{expert}"}), LEADS),
    "POST /studies/{study}/cases/{case}/reopen": (Sample(form={"whole": "yes"}), LEADS),
    "GET /users": (Sample(), ADMIN),
    "POST /users": (Sample(form={"name": "hal", "role": "expert"}), ADMIN),
    "POST /users/{user}/link": (Sample(), ADMIN),
    "POST /users/{user}/role": (Sample(form={"role": "manager"}), (403, 403, 403, 303)),
    "POST /users/{user}/disable": (Sample(), (403, 403, 403, 303)),
    "POST /users/{user}/enable": (Sample(), (403, 403, 403, 303)),
    "POST /users/{user}/give": (Sample(form=SEATS), (403, 403, 403, 303)),
    "POST /users/{user}/take": (Sample(form=SEATS), (403, 403, 403, 303)),
}
"""Every page, in the same way; strangers are led to sign in."""

PUBLIC = {
    "GET /healthz",
    "GET /readyz",
    "GET /api/openapi.json",
    "GET /static/{path}",
    "GET /demo/{name}.svg",
    "GET /sign-in",
    "POST /sign-in",
    "GET /sign-in/{secret}",
    "POST /sign-in/{secret}",
    "POST /sign-out",
}
"""What everybody may do."""

COLUMN = {"seated": 0, "neighbour": 1, "stranger": 1, "manager": 2, "admin": 3}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return build(tmp_path_factory.mktemp("roles") / "world")


@contextmanager
def entered(world: World) -> Iterator[Service]:
    with serving(world.folder / FILE) as service:
        service.hall.hub.close()  # streams end at once, so that they can be looked at
        yield service


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


def filled(world: World, route: str, sample: Sample, **parts: str) -> tuple[str, str, Sample]:
    """A route with everything put in."""
    method, path = route.split(" ", 1)
    numbers = {"user": str(world.people["seated"].id), "token": str(world.people["seated"].token_id)}
    known = {**HEART, **numbers, **sample.parts, **parts}

    def put(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: put(one) for name, one in value.items()}
        return value.format(**known) if isinstance(value, str) else value

    form = None if sample.form is None else put(sample.form)
    return method, path.format(**known), replace(sample, body=put(sample.body), form=form)


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


# What experts must not learn


WORLDS: dict[str, dict[str, Any]] = {
    "for": {"p": 0.8317, "vote": "abnormal"},
    "against": {"p": 0.0419, "vote": "normal"},
    "unsure": {"p": 0.5281, "vote": None, "abstains": True},
    "alone": {"p": 0.8317, "alone": True},
}
"""They differ in the forecast of c1, in the others' votes on it and in who else was asked, all hidden from ann."""
SENTINELS = (*OTHERS, "8317", "83.1", "83 %", "0419", "5281", "1683")


def tries(world: World) -> Iterator[tuple[str, str, Sample, bool]]:
    """Everything that ann can send before she votes on c1: for herself, for others, and for what is not there."""
    substitutes: list[dict[str, str]] = [
        {},
        {"case": "c2"},
        {"case": "nope"},
        {"expert": OTHERS[0]},
        {"expert": "nope"},
        {"study": "lung"},
        {"study": "nope"},
        {"user": "99"},
        {"token": "99"},
    ]
    harmless = {"c3"}  # her own vote there is hers to take back, which is no secret
    for table in (API, PAGES):
        for route, (sample, allowed) in table.items():
            method, _, _ = filled(world, route, sample)
            for parts in substitutes:
                if method != "GET" and not parts and allowed[0] < 400:
                    continue  # it would change what she knows
                if sample.parts.get("case") in harmless and "case" not in parts and "expert" not in parts:
                    continue
                if parts and not any(f"{{{name}}}" in route or f"{{{name}}}" in str(sample) for name in parts):
                    continue
                method, path, body = filled(world, route, sample, **parts)
                yield method, path, body, table is PAGES
    votes = "/api/studies/heart/cases/c1/votes"
    for sent in ({"expert": "ann", "vote": "purple"}, {"expert": "ann"}, {"expert": "ann", "vote": 1}):
        yield "POST", votes, Sample(sent), False
    yield "DELETE", f"{votes}/ann", Sample(), False
    yield "POST", votes, Sample({"expert": OTHERS[0], "vote": "normal", "amend": True}), False
    yield "GET", "/api/studies/heart/cases?state=settled", Sample(), False


def heard(world: World, service: Service) -> list[tuple[str, tuple[int, str, str]]]:
    found = []
    ann = world.people["seated"]
    for method, path, body, page in tries(world):
        response = send(service, ann, method, path, body, page=page)
        found.append((f"{method} {path} {body.body or body.form or ''}", told(response)))
    for page, path in ((False, "/api/studies/heart/experts/ann/inbox"), (True, "/studies/heart/inbox/ann")):
        found.append((path, told(send(service, ann, "GET", path, page=page))))
    vote = Sample({"expert": "ann", "vote": "normal"})
    found.append(("vote", told(send(service, ann, "POST", "/api/studies/heart/cases/c1/votes", vote))))
    return found


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[str, tuple[int, str, str]]]]:
    folder = tmp_path_factory.mktemp("blind")
    found = {}
    for name, given in WORLDS.items():
        world = build(folder / name, **given)
        with entered(world) as service:
            found[name] = heard(world, service)
    return found


def test_an_expert_hears_the_same_whatever_others_voted_and_whatever_is_forecast(
    reports: dict[str, list[tuple[str, tuple[int, str, str]]]],
) -> None:
    first, *others = reports.values()
    assert len(first) > 150
    for other in others:
        for (request, one), (same, two) in zip(first, other, strict=True):
            assert request == same
            assert one == two, request


def test_nothing_that_an_expert_hears_names_others_or_the_forecast(
    reports: dict[str, list[tuple[str, tuple[int, str, str]]]],
) -> None:
    for found in reports.values():
        for request, (_, where, text) in found:
            for word in SENTINELS:
                if word not in request:
                    assert word not in where + text, request


def test_an_expert_is_refused_everything_but_the_own_desk(
    reports: dict[str, list[tuple[str, tuple[int, str, str]]]],
) -> None:
    good = {request.split("?")[0] for request, (status, _, _) in reports["for"] if status < 300}
    assert {request.strip() for request in good} == {
        "GET /api/studies",
        "GET /api/studies/heart",
        "GET /api/studies/heart/experts/ann/inbox",
        "GET /api/studies/heart/experts/ann/events",
        "GET /api/tokens",
        "GET /account",
        "GET /account/tokens",
        "GET /studies/heart/inbox/ann",
        "GET /studies/heart/inbox/ann/desk",
        "/api/studies/heart/experts/ann/inbox",
        "/studies/heart/inbox/ann",
        "vote",
    }


@pytest.mark.parametrize("actor", ["seated", "neighbour", "stranger"])
@pytest.mark.parametrize(
    ("part", "there", "absent"),
    [("study", "lung", "lost"), ("case", "c2", "lost"), ("expert", "benedikta", "nonexpert"), ("user", "4", "99")],
)
def test_nobody_learns_from_a_refusal_what_there_is(
    part: str, there: str, absent: str, actor: str, world: World, still: Service
) -> None:
    if actor == "neighbour" and part == "study":
        there = "heart"
    looked = 0
    for table in (API, PAGES):
        for route, (sample, _) in table.items():
            if f"{{{part}}}" not in route and f"{{{part}}}" not in str(sample):
                continue
            answers = []
            for name in (there, absent):
                method, path, body = filled(world, route, sample, **{part: name})
                status, where, text = told(send(still, world.people[actor], method, path, body, page=table is PAGES))
                shown = name if part != "user" else path  # a number is in many words
                answers.append((status, where.replace(shown, "#"), text.replace(shown, "#")))
            assert answers[0] == answers[1], route
            assert answers[0][0] in (403, 404), route
            looked += 1
    assert looked >= 3


def test_tokens_of_others_are_as_if_they_were_not(world: World, still: Service) -> None:
    other = world.people["manager"].token_id
    answers = []
    for number in (other, 9999):
        response = send(still, world.people["seated"], "DELETE", f"/api/tokens/{number}")
        answers.append((response.status_code, response.text.replace(str(number), "#")))
    assert answers[0] == answers[1]
    assert answers[0][0] == 404


def test_a_target_that_names_experts_is_not_shown_to_them(tmp_path: Path) -> None:
    with serving(tmp_path / FILE) as service:
        service.create(target="weighted:ann=1,ben=2,cho=3")
        service.join("anna", seats=(("heart", "ann"),))
        assert service.get("/api/studies/heart", by="anna")["target"] == "weighted"
        assert service.get("/api/studies/heart")["target"] == "weighted:ann=1,ben=2,cho=3"


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
