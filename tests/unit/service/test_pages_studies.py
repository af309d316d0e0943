"""Studies are created and filled from pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from quorate.core.rules import Guard
from quorate.service.study_form import DEFAULTS
from tests.unit.service.visitors import House, Visitor, house

HEAD = "item,ann,ben,net.p_0,net.p_1\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("house")) as found:
        yield found


@pytest.fixture(scope="module")
def manager(place: House) -> Visitor:
    return place.visitor("mia", "manager")


def fields(given: str, **changed: str) -> dict[str, str]:
    return {**DEFAULTS, "name": given, "classes": "normal\nabnormal\n", "experts": "ann, 2.5\nben\n", **changed}


def test_the_form_starts_with_what_is_safe(manager: Visitor) -> None:
    page = manager.page("/studies/new")
    assert 'name="min_votes" value="1"' in page
    assert 'name="audit_share" value="5"' in page


def test_a_study_is_created_with_everything_that_was_filled_in(place: House, manager: Visitor) -> None:
    given = fields(
        "whole",
        about="Look twice.",
        max_error="0,5 %",
        target="atleast",
        atleast_number="2",
        atleast_class="abnormal",
        audit_share="10",
        lease_hours="1.5",
        max_open="7",
        in_flight="2",
        budget="500",
        no_human_accepted="yes",
        guard_votes_1="2",
        guard_class_1="abnormal",
        guard_above_1="30",
    )
    answer = manager.post("/studies/new", **given)
    assert (answer.status_code, answer.headers["location"]) == (303, "/studies/whole")
    config = place.hall.study("whole").stored.config
    assert config.panel.costs == (2.5, 1.0)
    assert config.target == "atleast:2:abnormal"
    assert config.options.max_error == pytest.approx(0.005)
    assert config.options.in_flight == 2
    assert config.options.rules.budget == 500
    assert config.options.rules.guards == (Guard("abnormal", 0.3, 2),)
    service = config.service
    assert (service.lease_seconds, service.max_open, service.audit_share) == (5400.0, 7, 0.1)
    assert service.about == "Look twice."


@pytest.mark.parametrize(
    ("changed", "field", "said"),
    [
        ({"name": ""}, "name", "give the study a name"),
        ({"name": "a b"}, "name", "expected 1 to 64 letters"),
        ({"name": "new"}, "name", "taken by a page"),
        ({"classes": "only"}, "classes", "at least two classes"),
        ({"classes": "a\na"}, "classes", "named twice"),
        ({"experts": ""}, "experts", "at least one expert"),
        ({"experts": "ann, much"}, "experts", "line 1: &#39;much&#39; is no cost"),
        ({"experts": "ann\nann"}, "experts", "named twice"),
        ({"experts": "ann, -1"}, "experts", "at least 0"),
        ({"max_error": "few"}, "max_error", "&#39;few&#39; is no number; expected a number, such as 1"),
        ({"max_error": "200"}, "max_error", "a percentage from 0 to 100"),
        ({"min_votes": "0"}, "min_votes", "tick the box"),
        ({"min_votes": "9"}, "min_votes", "more than the panel has"),
        ({"min_votes": "1.5"}, "min_votes", "no whole number"),
        ({"target": "any", "any_class": "odd"}, "target", "no class &#39;odd&#39;"),
        ({"target": "sideways"}, "target", "unknown target"),
        ({"target": "weighted", "weights": "zoe=2"}, "target", "zoe"),
        ({"guard_votes_2": "2"}, "guards", "all three"),
        ({"guard_votes_1": "2", "guard_class_1": "odd", "guard_above_1": "30"}, "guards", "no such class"),
        ({"guard_votes_1": "x", "guard_class_1": "normal", "guard_above_1": "30"}, "guards", "no whole number"),
        ({"audit_share": "-1"}, "audit_share", "a percentage from 0 to 100"),
        ({"lease_hours": "0"}, "lease_hours", "from a second"),
        ({"in_flight": "0"}, "in_flight", "from 1 to 50"),
        ({"budget": "lots"}, "budget", "is no number"),
    ],
)
def test_a_mistake_is_told_beside_its_field_and_nothing_is_lost(
    place: House, manager: Visitor, changed: dict[str, str], field: str, said: str
) -> None:
    answer = manager.post("/studies/new", **fields("wrong", about="Keep me.", **changed))
    assert answer.status_code == 422
    told = answer.text.split(f'id="wrong-{field}">', 1)
    assert len(told) == 2, answer.text
    assert said in told[1].split("</span>", 1)[0]
    assert "Keep me." in answer.text
    assert "wrong" not in place.hall.names()


def test_0_votes_are_possible_when_they_are_meant(place: House, manager: Visitor) -> None:
    assert manager.post("/studies/new", **fields("zero", min_votes="0", no_human_accepted="yes")).status_code == 303
    assert place.hall.study("zero").stored.config.options.rules.min_votes == 0


def test_a_name_that_is_taken_is_told(place: House, manager: Visitor) -> None:
    place.study("taken")
    answer = manager.post("/studies/new", **fields("taken"))
    assert answer.status_code == 409
    assert "a study &#39;taken&#39; exists already" in answer.text


def test_a_table_comes_in_whole(place: House, manager: Visitor) -> None:
    live = place.study("filled")
    table = HEAD + "a,normal,abnormal,0.2,0.8\nb,,normal,0.9,0.1\n"
    answer = manager.post("/studies/filled/import", files={"table": ("past.csv", table)})
    assert answer.status_code == 200
    assert "2 cases with 3 votes came in" in answer.text
    assert live.read(lambda study: len(study.history)) == 2


def test_every_bad_row_is_reported_and_nothing_comes_in(place: House, manager: Visitor) -> None:
    live = place.study("unfilled")
    table = HEAD + "a,normal,abnormal,0.2,0.8\nb,odd,normal,0.9,0.1\na,normal,normal,0.9,0.3\n"
    answer = manager.post("/studies/unfilled/import", files={"table": ("past.csv", table)})
    assert answer.status_code == 422
    assert "Nothing was imported" in answer.text
    assert "past.csv has 3 problems" in answer.text
    assert "table.csv" not in answer.text
    assert live.read(lambda study: len(study.history)) == 0


@pytest.mark.parametrize(("name", "content"), [("past.txt", "x"), ("past.csv", ""), ("past.csv", "a,b\n1,2\n")])
def test_a_file_that_is_no_table_is_told(place: House, manager: Visitor, name: str, content: str) -> None:
    if "odd" not in place.hall.names():
        place.study("odd")
    answer = manager.post("/studies/odd/import", files={"table": (name, content)})
    assert answer.status_code == 422
    assert "Nothing was imported" in answer.text


def test_everything_can_be_taken_out(place: House, manager: Visitor) -> None:
    place.study("out")
    page = manager.page("/studies/out/import")
    for kind in ("csv", "jsonl"):
        assert f'href="/api/studies/out/export?format={kind}"' in page
        assert manager.get(f"/api/studies/out/export?format={kind}").status_code == 200
