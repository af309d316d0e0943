"""What experts must never learn, whatever they send."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.conftest import Service, serving
from tests.service.permissions import API, PAGES, filled
from tests.service.world import FILE, OTHERS, Sample, World, build, entered, send, told


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return build(tmp_path_factory.mktemp("refused") / "world")


@pytest.fixture(scope="module")
def still(world: World) -> Iterator[Service]:
    """A service that nothing is changed in."""
    with entered(world) as service:
        yield service


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
