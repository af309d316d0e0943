"""Cases in and out over HTTP: opened, imported, listed and exported."""

from __future__ import annotations

import csv
import io
import json
from urllib.parse import quote

import pytest

from quorate.storage import studies
from tests.service.asking import HEART, error, pending, vote_on
from tests.service.conftest import Service


def test_opening_twice_is_opening_once(service: Service) -> None:
    live = service.create()
    case = {"key": "c1", "probabilities": {"net": [0.3, 0.7]}}
    path = f"{HEART}/cases"
    assert service.ask("POST", path, case).json() == {"opened": ["c1"], "known": []}
    events = live.study.state.events
    assert service.ask("POST", path, {"cases": [case, case]}).json() == {"opened": [], "known": ["c1", "c1"]}
    assert live.study.state.events == events
    other = {"key": "c1", "probabilities": {"net": [0.6, 0.4]}}
    new = {"key": "c2", "probabilities": {"net": [0.6, 0.4]}}
    error(service.ask("POST", path, {"cases": [new, other]}), 409, "conflict")
    error(service.ask("GET", f"{path}/c2"), 404, "not_found")


def test_past_votes_come_in_whole_or_not_at_all_with_a_report_of_each_row(service: Service) -> None:
    service.create()
    service.open("c1")
    path = f"{HEART}/import"
    bad = "item,ann,ben,p_0,p_1\na,normal,purple,.3,.7\nb,normal,,.3,.3\nc,normal,,.3,.7\n"
    response = service.ask("POST", path, content=bad)
    error(response, 422, "table")
    assert [problem["row"] for problem in response.json()["error"]["problems"]] == [1, 2]
    assert service.get(f"{HEART}/cases")["items"][-1]["key"] == "c1"
    known = "item,ann,ben,p_0,p_1\nc1,normal,,.3,.7\na/b,normal,,.3,.7\n..,normal,,.3,.7\n"
    response = service.ask("POST", path, content=known)
    assert [problem["row"] for problem in response.json()["error"]["problems"]] == [1, 2, 3]
    good = "item,ann,ben,p_0,p_1\na,normal,abnormal,.3,.7\nb,abnormal,,.3,.7\n"
    assert service.ask("POST", path, content=good).json() == {"cases": 2, "votes": 3}
    assert service.case("a")["votes"] == {"ann": "normal", "ben": "abnormal"}
    assert service.get(f"{HEART}/cases", state="imported")["items"][0]["key"] == "a"
    error(service.ask("POST", f"{HEART}/cases/a/reopen", {}), 409, "conflict")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"item\n", b"a,a\n1,2\n", b"\x00" * 50, b'{"item": 1}'])
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_a_broken_table_is_reported(shared: Service, content: bytes, kind: str) -> None:
    error(shared.ask("POST", f"{HEART}/import", content=content, params={"format": kind}), 422, "table")


def test_every_case_is_exported(service: Service) -> None:
    service.create(max_error=0.4)
    service.open("=1+1", 'ü, "x"', p=0.9)
    asked = vote_on(service, quote("=1+1"), "abnormal")
    response = service.ask("GET", f"{HEART}/export")
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert [row["case"] for row in rows] == ["'=1+1", 'ü, "x"'], "a spreadsheet must not take a key for a formula"
    assert rows[0]["outcome"] == "abnormal"
    assert rows[0]["human_votes"] == "1"
    assert rows[0]["asked"] == rows[0]["voted"] == asked[0]
    assert rows[0]["stopped"] == "sure"
    assert rows[1]["state"] == "open"
    lines = service.ask("GET", f"{HEART}/export", params={"format": "jsonl"}).text.splitlines()
    told = [json.loads(line) for line in lines]
    assert [one["case"] for one in told] == ["=1+1", 'ü, "x"']
    assert told[0]["low"] <= told[0]["probability"] <= told[0]["high"]


def test_what_an_audited_case_would_have_settled_as_is_exported(service: Service) -> None:
    service.create(max_error=0.4, audit_share=1)
    service.open("c1", p=0.9)
    (first,) = pending(service, "c1")
    service.vote("c1", first, "abnormal")
    service.open("c2", p=0.9)
    would_be = service.case("c1")["would_be"]
    vote_on(service, "c1", "normal")
    found = {name: would_be[name] for name in ("outcome", "probability", "stated_error", "human_votes")}
    assert (found["outcome"], found["human_votes"]) == ("abnormal", 1)
    lines = service.ask("GET", f"{HEART}/export?format=jsonl").text.splitlines()
    audited, drawn = (json.loads(line) for line in lines)
    assert (audited["audit"], audited["outcome"]) == (True, "normal")
    assert {name: audited[f"would_be_{name}"] for name in found} == found
    assert drawn["audit"] is False, "nobody knows it before it would settle"
    assert [drawn[f"would_be_{name}"] for name in found] == [None] * 4
    table = csv.DictReader(io.StringIO(service.ask("GET", f"{HEART}/export?format=csv").text))
    audited, drawn = table
    assert {name: audited[f"would_be_{name}"] for name in found} == {name: str(one) for name, one in found.items()}
    assert [drawn[f"would_be_{name}"] for name in found] == [""] * 4


def test_cases_come_in_pages(service: Service) -> None:
    service.create()
    keys = [f"c{number}" for number in range(7)]
    service.open(*keys)
    seen, after = [], 0
    while after is not None:
        page = service.get(f"{HEART}/cases", after=after, limit=3)
        seen += [line["key"] for line in page["items"]]
        after = page["next"]
    assert seen == keys
    vote_on(service, "c3", "normal")
    assert [line["key"] for line in service.get(f"{HEART}/cases", state="settled")["items"]] == ["c3"]
    for bad in ({"limit": 0}, {"limit": 1001}, {"after": -1}, {"state": "lost"}):
        error(service.ask("GET", f"{HEART}/cases", params=bad), 422, "invalid")


def test_late_votes_on_a_case_that_they_decide_are_exported(service: Service) -> None:
    service.create(max_error=0.4)
    service.open("c1", p=0.9)
    asked = vote_on(service, "c1", "abnormal")
    for name in {"ann", "ben", "cho"} - {*asked}:
        service.vote("c1", name, "normal")
    lines = service.ask("GET", f"{HEART}/export?format=jsonl").text.splitlines()
    assert [json.loads(line)["contradicted"] for line in lines] == [True]
    table = service.ask("GET", f"{HEART}/export?format=csv").text
    assert [row["contradicted"] for row in csv.DictReader(io.StringIO(table))] == ["True"]


def test_a_case_that_is_sent_again_with_another_picture_is_refused(service: Service) -> None:
    service.create()
    case = {"key": "c1", "probabilities": {"net": [0.4, 0.6]}, "show": {"text": "left lung"}}
    assert service.ask("POST", f"{HEART}/cases", case).status_code == 201
    assert service.ask("POST", f"{HEART}/cases", case).json() == {"opened": [], "known": ["c1"]}
    other = {**case, "show": {"text": "right lung"}}
    assert "shows something else" in error(service.ask("POST", f"{HEART}/cases", other), 409, "conflict")


def test_what_another_program_brings_is_listed_at_once(service: Service) -> None:
    live = service.create()
    service.open("c1")
    other = studies.load(live.stored.db, "heart").study
    other.add_expert("zed")
    other.open("far", {"net": [0.2, 0.8]})
    other.tell("far", "zed", "abnormal")
    found = {line["key"]: line for line in service.get(f"{HEART}/cases")["items"]}
    assert [one["expert"] for one in found["far"]["answers"] if one["how"] == "voted"] == ["zed"]


@pytest.mark.parametrize("list_of", ["studies", "users", "tokens"])
def test_long_lists_come_in_pages(service: Service, list_of: str) -> None:
    names = ["first", "second", "third"]
    for name in names:
        if list_of == "studies":
            service.create(name)
        elif list_of == "users":
            service.ask("POST", "/api/users", {"name": name})
        else:
            service.ask("POST", "/api/tokens", {"label": name})
    field = "label" if list_of == "tokens" else "name"
    whole = service.get(f"/api/{list_of}")
    assert [one[field] for one in whole["items"]][-3:] == names
    assert whole["next"] is None
    found, after = [], 0
    while after is not None:
        page = service.get(f"/api/{list_of}", after=after, limit=2)
        assert len(page["items"]) <= 2
        found += page["items"]
        after = page["next"]
    assert found == whole["items"]
    error(service.ask("GET", f"/api/{list_of}", params={"limit": 0}), 422, "invalid")
    error(service.ask("GET", f"/api/{list_of}", params={"limit": 1001}), 422, "invalid")
    error(service.ask("GET", f"/api/{list_of}", params={"after": -1}), 422, "invalid")
