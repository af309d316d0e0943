from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.assembly import Options
from quorate.core.case import Case
from quorate.core.health import Health
from quorate.core.panel import Panel
from quorate.core.rules import Guard, Rules
from quorate.core.settings import EvidenceSettings, Settings
from quorate.errors import InputError
from quorate.storage.codec import KINDS, canonical, event_from_text, event_to_text, from_plain, to_plain
from quorate.storage.config import ServiceSettings, StudyConfig
from quorate.study.events import (
    Abstained,
    Adopted,
    Amended,
    Away,
    Back,
    Event,
    Expired,
    Joined,
    Leased,
    Opened,
    Reopened,
    Replaced,
    Restored,
    Retired,
    Returned,
    Settled,
    Voted,
    Withdrawn,
)
from tests.contracts.happenings import EVERY_KIND, PANEL

events = st.one_of(*(st.from_type(kind) for kind in KINDS.values()))


@given(events)
def test_every_event_comes_back(event: Event) -> None:
    kind, body = event_to_text(event)
    assert body.isascii()
    again = event_from_text(kind, body)
    assert event_to_text(again) == (kind, body)
    if "nan" not in body:
        assert again == event


def test_there_is_an_example_of_every_kind() -> None:
    assert {type(event).__name__ for event in EVERY_KIND} == set(KINDS)


def test_bodies_are_stable() -> None:
    case = Case("a", ((0.25, 0.75), None), (True, False), ((0, 1),))
    assert event_to_text(Opened(case)) == (
        "Opened",
        '{"audit":false,"case":{"available":[true,false],"key":"a","probabilities":[[0.25,0.75],null],'
        '"votes":[[0,1]]},"show":null}',
    )


def test_events_of_before_a_field_came_have_its_default() -> None:
    assert event_from_text("Leased", '{"expert":1,"key":"a"}') == Leased("a", 1)
    old = '{"key":"a","outcome":"x","probability":1,"reason":"sure","stated_error":0}'
    assert event_from_text("Settled", old) == Settled("a", "x", 1.0, 0.0, "sure")


@pytest.mark.parametrize(
    ("event", "body"),
    [
        (Voted("a", 0, 1), '{"expert":0,"key":"a","vote":1}'),
        (Amended("a", 0, 1), '{"expert":0,"key":"a","vote":1}'),
        (Withdrawn("a", 0), '{"expert":0,"key":"a"}'),
        (Expired("a", 0), '{"expert":0,"key":"a"}'),
        (Abstained("a", 0), '{"expert":0,"key":"a"}'),
        (Reopened("a", whole=True, votes=2), '{"key":"a","votes":2,"whole":true}'),
        (Away(0), '{"expert":0}'),
        (Back(0), '{"expert":0}'),
        (Joined("a", 0.5), '{"cost":0.5,"expert":"a"}'),
        (Retired(0), '{"expert":0}'),
        (Returned(0), '{"expert":0}'),
        (Replaced(0, "b"), '{"new":"b","old":0}'),
        (Restored(1, 0), '{"new":0,"old":1}'),
    ],
)
def test_who_acted_is_stored_only_where_it_was_another(event: Event, body: str) -> None:
    kind = type(event).__name__
    assert event_to_text(event) == (kind, body)
    assert event_from_text(kind, body) == event
    other = replace(event, by="boss")  # type: ignore[arg-type]
    assert event_to_text(other) == (kind, '{"by":"boss",' + body[1:])
    assert event_from_text(*event_to_text(other)) == other


def test_numbers_that_json_lacks() -> None:
    health = Health((), math.inf, -math.inf, math.nan)
    again = event_from_text(*event_to_text(Adopted(1, 2, 3, health)))
    assert isinstance(again, Adopted)
    assert (again.health.rhat, again.health.ess) == (math.inf, -math.inf)
    assert again.health.monte_carlo_error is not None
    assert math.isnan(again.health.monte_carlo_error)


def test_numbers_of_numpy_are_numbers() -> None:
    event = Voted("a", int(np.int64(3)), np.int64(1))  # type: ignore[arg-type]
    assert event_to_text(event)[1] == '{"expert":3,"key":"a","vote":1}'
    assert event_to_text(Joined("a", np.float32(0.5)))[1] == '{"cost":0.5,"expert":"a"}'  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (Voted("a", 0, True), "vote: expected a whole number, got True"),
        (Voted("a", 0, 0.5), "vote: expected a whole number, got 0.5"),  # type: ignore[arg-type]
        (Voted(3, 0, 1), "key: expected a text, got 3"),  # type: ignore[arg-type]
        (Joined("a", "dear"), "cost: expected a number, got 'dear'"),  # type: ignore[arg-type]
        (Joined("a", None), "cost: expected a number, got None"),  # type: ignore[arg-type]
        (Opened(Panel(["a", "b"], ["c"])), "case: expected a Case, got Panel"),  # type: ignore[arg-type]
        (Settled("a", "b", 1, 0, "c", interval=(1.0,)), "interval: expected a list of 2"),  # type: ignore[arg-type]
        (Opened(Case("a", ("no",), ())), "probabilities: expected a list, got 'no'"),  # type: ignore[arg-type]
    ],
)
def test_what_is_not_an_event_is_not_written(event: Event, message: str) -> None:
    with pytest.raises(InputError, match="^" + message.replace("(", r"\(")):
        event_to_text(event)


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        ("Danced", "{}", "unknown kind of event 'Danced'; this version of quorate knows Opened, Voted"),
        ("Voted", "{", "the body of an event Voted is not JSON"),
        ("Voted", "[]", r"Voted: expected an object with the fields of Voted, got \[\]"),
        ("Voted", '{"key":"a","expert":0}', "Voted: the field vote is missing"),
        ("Voted", '{"key":"a","expert":0,"vote":1,"mood":"glad"}', "Voted: unknown field 'mood'.*knows key, expert, v"),
        ("Voted", '{"key":"a","expert":true,"vote":1}', "expert: expected a whole number, got True"),
        ("Voted", '{"key":"a","expert":0.0,"vote":1}', "expert: expected a whole number, got 0.0"),
        ("Voted", '{"key":null,"expert":0,"vote":1}', "key: expected a text, got None"),
        ("Reopened", '{"key":"a","whole":1}', "whole: expected true or false, got 1"),
        ("Joined", '{"expert":"a","cost":"1"}', "cost: expected a number, got '1'"),
        ("Joined", '{"expert":"a","cost":true}', "cost: expected a number, got True"),
        ("Imported", '{"case":{"key":"a"}}', "case: the field probabilities is missing"),
    ],
)
def test_what_is_not_an_event_is_not_read(kind: str, body: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        event_from_text(kind, body)


CONFIGS = [
    StudyConfig(PANEL),
    StudyConfig(
        PANEL,
        Options(
            preset="paper",
            ablate=("temperature",),
            settings=Settings(draws=7),
            rules=Rules(min_votes=1, required=["ben"], budget=9.5, guards=[Guard("abnormal", 0.3, 2)]),
            loss={"abnormal": 5.0},
        ),
        target="weighted:ann=2,ben=1",
        seed=2**70,
        service=ServiceSettings(lease_seconds=60, audit_share=0.1, about="é"),
    ),
    StudyConfig(Panel(["a", "b"], ["c"]), Options(window=5, settings=EvidenceSettings(particles=128))),
]


@pytest.mark.parametrize("config", CONFIGS)
def test_a_configuration_comes_back(config: StudyConfig) -> None:
    text = canonical(to_plain(config))
    again = from_plain(StudyConfig, json.loads(text))
    assert again == config
    assert type(again.options.settings) is type(config.options.settings)
    assert canonical(to_plain(again)) == text


def test_a_configuration_is_checked_when_it_is_read() -> None:
    value = to_plain(CONFIGS[0])
    value["panel"]["experts"] = ["ann", "ann", "cho"]
    with pytest.raises(InputError, match="'ann' is named twice"):
        from_plain(StudyConfig, value)
    value = to_plain(replace(CONFIGS[1]))
    value["options"]["settings"]["hope"] = 1
    with pytest.raises(InputError, match="settings: expected the fields of Settings or EvidenceSettings"):
        from_plain(StudyConfig, value)
    value = to_plain(CONFIGS[1])
    value["options"]["loss"] = [1]
    with pytest.raises(InputError, match=r"loss: expected an object, got \[1\]"):
        from_plain(StudyConfig, value)


def test_a_type_without_a_form_is_a_mistake_of_ours() -> None:
    @dataclass(frozen=True)
    class Odd:
        what: object

    with pytest.raises(TypeError, match="have no form in a database"):
        to_plain(Odd(1))
