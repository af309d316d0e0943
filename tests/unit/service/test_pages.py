"""Pages as they are answered: who gets which, what they say, and what they keep to themselves."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

import pytest

from quorate.core.case import Show
from quorate.service.rendering import STATIC, TEMPLATES
from quorate.study.events import Away
from tests.unit.service.visitors import House, arrival, house

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("house")) as found:
        yield found


def test_a_stranger_is_led_to_sign_in_and_back(place: House) -> None:
    answer = place.client.get("/studies/x?y=1", headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=%2Fstudies%2Fx%3Fy%3D1")


def test_an_expert_with_one_inbox_goes_straight_to_it(place: House) -> None:
    place.study("one")
    expert = place.visitor("one-ann", "expert", ("one", "ann"))
    assert expert.get("/").headers["location"] == "/studies/one/inbox/ann"


def test_an_expert_with_two_inboxes_chooses_and_sees_nothing_else(place: House) -> None:
    place.study("two").open([arrival("a", "ben")])
    place.study("elsewhere")
    expert = place.visitor("two-ben", "expert", ("two", "ben"), ("two", "cho"))
    page = expert.page("/")
    assert 'href="/studies/two/inbox/ben"' in page
    assert "1 waiting" in page
    assert "elsewhere" not in page
    assert "New study" not in page


def test_a_manager_sees_all_studies(place: House) -> None:
    place.study("listed", about="What is it?")
    page = place.visitor("lister", "manager").page("/")
    assert 'href="/studies/listed"' in page
    assert "What is it?" in page


@pytest.mark.parametrize(
    "path", ["", "/board", "/plots", "/plots/load.svg", "/cases", "/cases/a", "/cases/a/parts", "/import"]
)
def test_an_expert_sees_nothing_of_a_study_but_the_inbox(place: House, path: str) -> None:
    name = f"closed{path.replace('/', '-')}"
    place.study(name).open([arrival("a", "ann")])
    expert = place.visitor(f"{name}-ann", "expert", (name, "ann"))
    assert expert.get(f"/studies/{name}{path}").status_code == 403
    assert expert.get("/studies/new").status_code == 403
    assert expert.get("/users").status_code == 403


def test_an_expert_does_not_see_the_desk_of_another(place: House) -> None:
    place.study("desks")
    expert = place.visitor("desks-ann", "expert", ("desks", "ann"))
    assert expert.get("/studies/desks/inbox/ben").status_code == 403
    assert expert.get("/studies/desks/inbox/ben/desk").status_code == 403


def test_a_desk_tells_nothing_of_forecasts_or_of_other_votes(place: House) -> None:
    live = place.study("blind", experts=("ann", "benedikta", "chrysanthos"), max_error=0.0001)
    live.open([arrival("film", p=0.123)])
    while not live.questions("ann"):
        for expert in live.read(lambda study: study.pending("film")):
            live.vote("film", expert, "abnormal")
    page = place.visitor("blind-ann", "expert", ("blind", "ann")).page("/studies/blind/inbox/ann")
    assert "film" in page
    for told in ("benedikta", "chrysanthos", "0.123", "12 %", "88 %", "forecast", "probability", "error"):
        assert told not in page.replace("onerror", "")


def test_a_desk_shows_what_came_with_a_case_and_only_safe_addresses(place: House) -> None:
    live = place.study("shown")
    live.open(
        [
            arrival("good", "ann", show=Show("look", "/static/mark.svg", "https://pacs.example/1?a=b&c=d")),
            arrival("bad", "ann", show=Show("look", "javascript:alert(1)", "data:text/html,x")),
        ]
    )
    page = place.visitor("shown-ann", "expert", ("shown", "ann")).page("/studies/shown/inbox/ann")
    assert 'src="/static/mark.svg"' in page
    assert 'href="https://pacs.example/1?a=b&amp;c=d" target="_blank" rel="noopener noreferrer"' in page
    assert "javascript:" not in page
    assert "data:text" not in page


def test_a_manager_looks_at_a_desk_but_does_not_vote(place: House) -> None:
    place.study("watched").open([arrival("a", "ann")])
    manager = place.visitor("watcher", "manager")
    page = manager.page("/studies/watched/inbox/ann")
    assert "Only ann votes here" in page
    assert 'name="vote"' not in page
    assert manager.post("/studies/watched/inbox/ann", case="a", vote="normal").status_code == 403


def test_a_vote_by_form_needs_its_proof(place: House) -> None:
    live = place.study("proof")
    live.open([arrival("a", "ann")])
    expert = place.visitor("proof-ann", "expert", ("proof", "ann"))
    without = expert.client.post("/studies/proof/inbox/ann", data={"case": "a", "vote": "normal"})
    assert without.status_code == 403
    assert expert.post("/studies/proof/inbox/ann", case="a", vote="normal").status_code == 303
    assert live.read(lambda study: study.state.known("a").votes) == ((0, 0),)


def test_a_vote_that_is_refused_says_why_beside_the_desk(place: House) -> None:
    place.study("refused").open([arrival("a", "ann")])
    expert = place.visitor("refused-ann", "expert", ("refused", "ann"))
    answer = expert.post("/studies/refused/inbox/ann", case="a", vote="strange")
    assert answer.status_code == 422
    assert "a was not recorded: no class &#39;strange&#39;" in answer.text


def test_away_by_form(place: House) -> None:
    live = place.study("leave")
    expert = place.visitor("leave-ann", "expert", ("leave", "ann"))
    assert expert.post("/studies/leave/inbox/ann/away", away="yes").status_code == 303
    assert live.read(lambda study: study.state.away) == {0}
    assert list(live.stored.journal) == [Away(0)]
    assert expert.post("/studies/leave/inbox/ben/away", away="yes").status_code == 403


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/nothing", 404, "There is nothing here"),
        ("/studies/nowhere", 404, "No study &#39;nowhere&#39;"),
        ("/studies/errors/cases/none", 404, "No case &#39;none&#39;"),
        ("/studies/errors/inbox/nobody", 404, "No expert &#39;nobody&#39;"),
        ("/studies/errors/cases?state=odd", 422, "Something in what was sent cannot be used"),
        ("/studies/errors/plots/none.svg", 404, "No plot &#39;none&#39;"),
    ],
)
def test_errors_are_told_in_words(place: House, path: str, status: int, said: str) -> None:
    if "errors" not in place.hall.names():
        place.study("errors")
    name = f"wrong-{hashlib.sha256(path.encode()).hexdigest()[:8]}"
    answer = place.visitor(name, "manager").get(path)
    assert answer.status_code == status
    assert said in answer.text
    assert answer.headers["content-type"].startswith("text/html")


def test_texts_of_others_are_never_markup(place: House) -> None:
    name = HOSTILE.replace("/", "|")
    live = place.study("hostile", experts=("ann", name), about=HOSTILE)
    live.open([arrival(name, "ann", show=Show(HOSTILE)), arrival("b", name)])
    live.vote(name, "ann", "normal")
    admin = place.visitor("hostile-admin", "admin", ("hostile", "ann"))
    encoded = admin.client.build_request("GET", "/").url.join(f"/studies/hostile/cases/{name}").raw_path.decode()
    paths = ["/", "/studies/hostile", "/studies/hostile/cases", f"/studies/hostile/cases?key={name[:20]}", encoded]
    for path in [*paths, "/studies/hostile/inbox/ann", "/studies/hostile/import", "/users"]:
        page = admin.page(path)
        assert "<script>alert" not in page, path
        assert "<img src=x" not in page, path


def test_no_page_holds_a_script_or_a_style_of_its_own() -> None:
    for file in TEMPLATES.glob("*.html"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"<script(?![^>]*\bsrc=)", text), file.name
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", text), file.name
        assert "|safe" not in text.replace(" ", ""), file.name


def test_scripts_of_others_are_those_of_the_note() -> None:
    note = (STATIC / "vendor" / "README.md").read_text(encoding="utf-8")
    for file in (STATIC / "vendor").glob("*.js"):
        assert hashlib.sha256(file.read_bytes()).hexdigest() in note, file.name
    for text in ("app.css", "app.js", "inbox.js"):
        assert not re.search(r"https?://", (STATIC / text).read_text(encoding="utf-8")), text


def test_styles_and_scripts_may_be_kept(place: House) -> None:
    page = place.client.get("/sign-in").text
    for address in re.findall(r'(?:href|src)="(/static/[^"]+)"', page):
        answer = place.client.get(address)
        assert answer.status_code == 200
        assert "no-store" not in answer.headers.get("cache-control", "")


def test_colours_are_those_of_reports() -> None:
    from quorate.reporting.style import LIGHT_AND_DARK

    css = (STATIC / "app.css").read_text(encoding="utf-8")
    light, dark = css.split("@media screen and (prefers-color-scheme: dark)")[:2]
    for name in ("ink", "rule"):
        assert f"--{name}: {LIGHT_AND_DARK[name][0]}" in light
        assert f"--{name}: {LIGHT_AND_DARK[name][1]}" in dark
    assert f"--accent: {LIGHT_AND_DARK['stated'][0]}" in light
    assert f"--accent: {LIGHT_AND_DARK['stated'][1]}" in dark
