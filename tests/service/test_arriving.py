"""Cases that arrive over HTTP, one or several: what is wrong with them is said of the field it is about."""

from __future__ import annotations

import pytest

from tests.service.conftest import Service

GOOD = {"key": "good", "probabilities": {"net": [0.2, 0.8]}}
BAD = {"key": "bad", "probabilities": {"net": [1.2, 0]}}
TOO_MUCH = "Input should be less than or equal to 1"


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        (BAD, "probabilities.net.0", TOO_MUCH),
        ({"cases": [GOOD, BAD]}, "cases.1.probabilities.net.0", TOO_MUCH),
        ({}, "key", "Field required"),
        ({"key": "c1", "colour": "red"}, "colour", "Extra inputs are not permitted"),
        ({"cases": [GOOD], "key": "c1"}, "key", "Extra inputs are not permitted"),
        ({"cases": []}, "cases", "List should have at least 1 item after validation, not 0"),
        ({"cases": 3}, "cases", "Input should be a valid list"),
    ],
)
def test_the_field_that_is_wrong_is_named_and_no_other(shared: Service, body: object, field: str, message: str) -> None:
    answer = shared.ask("POST", "/api/studies/heart/cases", body)
    assert answer.status_code == 422
    assert answer.json()["error"] == {"code": "invalid", "message": f"{field}: {message}", "field": field}


@pytest.mark.parametrize("body", [[], 3, "c1", [GOOD]])
def test_what_is_no_object_is_refused(shared: Service, body: object) -> None:
    answer = shared.ask("POST", "/api/studies/heart/cases", body)
    assert answer.status_code == 422
    assert answer.json()["error"]["message"] == "Input should be a valid dictionary or object to extract fields from"


def test_one_and_several_are_taken(shared: Service) -> None:
    one = shared.ask("POST", "/api/studies/heart/cases", GOOD)
    assert (one.status_code, one.json()) == (201, {"opened": ["good"], "known": []})
    several = shared.ask("POST", "/api/studies/heart/cases", {"cases": [GOOD, GOOD | {"key": "new"}]})
    assert (several.status_code, several.json()) == (201, {"opened": ["new"], "known": ["good"]})


def test_both_kinds_are_described(shared: Service) -> None:
    described = shared.get("/api/openapi.json")
    sent = described["paths"]["/api/studies/{study}/cases"]["post"]["requestBody"]["content"]["application/json"]
    kinds = {one["$ref"].rpartition("/")[2] for one in sent["schema"]["oneOf"]}
    assert kinds == {"CaseIn", "CasesIn"} <= described["components"]["schemas"].keys()


def test_the_same_twice_in_one_request_is_one_and_another_is_refused(shared: Service) -> None:
    shown = GOOD | {"key": "twin", "show": {"text": "a film"}}
    both = shared.ask("POST", "/api/studies/heart/cases", {"cases": [shown, shown]})
    assert (both.status_code, both.json()["opened"]) == (201, ["twin"])
    other = [shown | {"key": "pair"}, shown | {"key": "pair", "show": {"text": "another"}}]
    refused = shared.ask("POST", "/api/studies/heart/cases", {"cases": other})
    assert refused.status_code == 409
    assert "shows something else" in refused.json()["error"]["message"]
    assert shared.ask("GET", "/api/studies/heart/cases/pair").status_code == 404
