"""Whatever is sent to the API by somebody who may do everything: no answer is a 5xx, and each is as documented."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from zlib import crc32

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.service.conftest import Service, serving
from tests.service.permissions import API

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
LAST = "DELETE /api/studies/{study}/experts/{expert}"
OPERATIONS = [route for route in API if route not in ("GET /metrics", LAST) and not route.endswith("/events")] + [LAST]
"""All but the streams, which do not end; the one that leaves nobody to ask comes last."""
FREE = {
    "GET /api/studies",
    "GET /api/studies/{study}",
    "DELETE /api/studies/{study}",
    "GET /api/studies/{study}/report",
    "DELETE /api/studies/{study}/experts/{expert}",
    "GET /api/studies/{study}/experts/{expert}/inbox",
    "GET /api/users",
    "GET /api/tokens",
}
"""Anything that can be sent to these fits."""
CASES = [f"c{number}" for number in range(10)]
KEPT = {"DELETE /api/studies/{study}"}
"""What would end the study that all others are sent to; names that are not there are deleted all the same."""


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("fuzz") / "quorate.db") as service:
        service.create(min_votes=3, in_flight=3, max_open=50)
        service.open(*CASES)
        service.join("guest")
        yield service


@pytest.fixture(scope="module")
def documented(target: Service) -> Any:
    return schemathesis.openapi.from_asgi("/api/openapi.json", target.app)


def aimed(case: schemathesis.Case[Any], route: str, target: Service) -> None:
    """Lead most requests to what is there, so that they get past the door; which ones depends on the request alone."""
    lot = crc32(repr((case.path_parameters, case.body)).encode())
    numbers = {one.name: one.id for one in target.hall.access.accounts.users()}
    parts = case.path_parameters
    if "user" in parts and parts["user"] == numbers["root"]:
        parts["user"] = numbers["guest"]
    if "token" in parts:
        parts["token"] = 1_000_000
    if lot % 4 == 0 or route in KEPT:
        return
    known = {"study": "heart", "case": CASES[lot % len(CASES)], "expert": ("ann", "ben", "cho")[lot // 3 % 3]}
    for name in parts.keys() & known.keys():
        parts[name] = known[name]
    meant = {"expert": known["expert"], "vote": ("normal", "abnormal")[lot % 2], "old": "net"}
    if isinstance(case.body, dict) and lot % 4 > 1:
        case.body.update({name: meant[name] for name in case.body.keys() & meant.keys()})


@pytest.mark.parametrize("route", OPERATIONS)
def test_what_fits_is_answered_as_documented(route: str, target: Service, documented: Any) -> None:
    fuzz(route, GenerationMode.POSITIVE, target, documented)


@pytest.mark.parametrize("route", [route for route in OPERATIONS if route not in FREE])
def test_what_does_not_fit_is_answered_as_documented(route: str, target: Service, documented: Any) -> None:
    fuzz(route, GenerationMode.NEGATIVE, target, documented)


def fuzz(route: str, mode: GenerationMode, target: Service, documented: Any) -> None:
    """Send an operation what fits its description, or what does not."""
    method, path = route.split(" ")
    headers = {"Authorization": f"Bearer {target.tokens['root']}"}
    operation = documented[path][method]

    @settings(
        max_examples=20,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: schemathesis.Case[Any]) -> None:
        aimed(case, route, target)
        case.call_and_validate(headers=headers, checks=CHECKS)

    send()
