"""What the journal says of who changed a panel, or said that an expert is away or back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from quorate.storage import studies
from quorate.study.events import Away, Back, Event, Joined, Replaced, Restored, Retired, Returned
from tests.service.asking import HEART
from tests.service.conftest import Service

EXPERTS = f"{HEART}/experts"
CLASSIFIERS = f"{HEART}/classifiers"
AWAY = f"{EXPERTS}/ann/away"


@pytest.fixture
def staffed(service: Service) -> Service:
    """A study that mia manages and boss may do everything in; ann has her seat."""
    service.create()
    service.join("boss", "admin")
    service.join("mia", "manager")
    service.join("anna", seats=(("heart", "ann"),))
    return service


def journal(service: Service) -> list[Event]:
    """What has happened, and is stored in whole."""
    live = service.hall.study("heart")
    assert live.stored.db.verify() == []
    assert studies.load(live.stored.db, "heart").study.state == live.study.state
    return list(live.stored.journal)


@pytest.mark.parametrize(("by", "named"), [("anna", None), ("mia", "mia"), ("boss", "boss")])
def test_who_is_away_or_back_by_anothers_word(staffed: Service, by: str, named: str | None) -> None:
    for away in (True, True, False, False):  # what is known changes nothing
        assert staffed.ask("PUT", AWAY, {"away": away}, by=by).status_code == 200
    assert journal(staffed) == [Away(0, by=named), Back(0, by=named)]


def test_each_word_has_its_own_speaker(staffed: Service) -> None:
    staffed.ask("PUT", AWAY, {"away": True}, by="mia")
    staffed.ask("PUT", AWAY, {"away": False}, by="anna")
    assert journal(staffed) == [Away(0, by="mia"), Back(0)]


@pytest.mark.parametrize("by", ["mia", "boss"])
@pytest.mark.parametrize(
    ("steps", "events"),
    [
        ([("POST", EXPERTS, {"name": "dee"})], [Joined("dee")]),
        ([("POST", EXPERTS, {"name": "dee", "cost": 2})], [Joined("dee", 2.0)]),
        (
            [("DELETE", f"{EXPERTS}/ann", None), ("POST", EXPERTS, {"name": "ann"})],
            [Retired(0), Returned(0)],
        ),
        (
            [
                ("POST", CLASSIFIERS, {"old": "net", "new": "vit"}),
                ("POST", CLASSIFIERS, {"old": "vit", "new": "net"}),
            ],
            [Replaced(0, "vit"), Restored(1, 0)],
        ),
    ],
)
def test_who_changes_a_panel_is_named(
    staffed: Service, steps: Sequence[tuple[str, str, object]], events: Sequence[Event], by: str
) -> None:
    for method, path, body in steps:
        assert staffed.ask(method, path, body, by=by).status_code in (200, 201)
    assert journal(staffed) == [replace(event, by=by) for event in events]  # type: ignore[arg-type]


def test_nobody_is_named_who_changes_a_panel_in_python(staffed: Service) -> None:
    live = staffed.hall.study("heart")
    live.change_panel(lambda study: study.add_expert("dee"))
    live.change_panel(lambda study: study.away("dee"))
    assert journal(staffed) == [Joined("dee"), Away(3)]
