"""Every route that there is: a request that is in order, and who may make it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.service.world import HEART, Sample, World

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
