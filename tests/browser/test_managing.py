"""A manager and an admin at work in a real browser."""

from __future__ import annotations

from playwright.sync_api import expect

from quorate.service.live import LiveStudy
from tests.browser.conftest import Open
from tests.browser.server import PASSWORD, Server, arrivals


def test_a_study_is_created_after_its_mistakes_are_corrected(server: Server, open_window: Open) -> None:
    page = open_window(by="mia").go("/studies/new")
    page.get_by_label("Name", exact=True).fill("knees")
    page.get_by_label("Classes").fill("calm")
    page.get_by_label("Experts", exact=True).fill("ann, 3\nben")
    page.get_by_label("Largest error allowed").fill("one")
    expect(page.locator("#no-human")).to_be_hidden()
    page.get_by_label("Fewest votes").fill("0")
    expect(page.locator("#no-human")).to_be_visible()
    page.get_by_role("button", name="Create the study").click()
    expect(page.locator("#wrong-classes")).to_have_text("expected at least two classes, one a line")
    expect(page.locator("#wrong-max_error")).to_contain_text("'one' is no number; expected a number, such as 1")
    expect(page.locator("#wrong-min_votes")).to_contain_text("no person has seen")
    expect(page.get_by_label("Experts", exact=True)).to_have_value("ann, 3\nben")
    page.get_by_label("Classes").fill("calm\nswollen")
    page.get_by_label("Largest error allowed").fill("2")
    page.get_by_label("I want that cases may settle").check()
    page.get_by_label("The same, but one class wins ties").check()
    page.locator("#worst_class").fill("swollen")
    page.get_by_role("button", name="Create the study").click()
    expect(page.get_by_role("heading", name="knees")).to_be_visible()
    config = server.hall.study("knees").stored.config
    assert (config.target, config.options.max_error) == ("consensus:worst=swollen", 0.02)
    assert (config.panel.costs, config.options.rules.min_votes) == ((3.0, 1.0), 0)


def test_a_table_with_bad_rows_is_reported_and_nothing_comes_in(study: LiveStudy, open_window: Open) -> None:
    window = open_window(by="mia")
    page = window.go(f"/studies/{study.name}/import")
    head = "item,ann,ben,net.p_0,net.p_1\n"
    bad = head + "a,normal,normal,0.5,0.5\nb,strange,normal,0.5,0.9\n"
    page.get_by_label("Table", exact=True).set_input_files(
        {"name": "past.csv", "mimeType": "text/csv", "buffer": bad.encode()}
    )
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was imported")
    expect(page.get_by_role("row", name="strange")).to_be_visible()
    assert study.read(lambda found: len(found.state.places)) == 0
    good = head + "a,normal,normal,0.5,0.5\nb,abnormal,,0.1,0.9\n"
    page.get_by_label("Table", exact=True).set_input_files(
        {"name": "past.csv", "mimeType": "text/csv", "buffer": good.encode()}
    )
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("status").first).to_contain_text("2 cases with 3 votes came in")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV", exact=True).click()
    assert download.value.path().read_text().count("imported") == 2
    assert [said for said in window.noted if "422" not in said] == []


def test_a_manager_corrects_a_vote_and_asks_the_whole_panel(study: LiveStudy, open_window: Open) -> None:
    study.open(arrivals("a", to=("ann", "ben")))
    for expert in study.read(lambda found: found.pending("a")):
        study.vote("a", expert, "normal")
    while study.read(lambda found: found.state.open_case("a")) is not None:
        for expert in study.read(lambda found: found.pending("a")):
            study.vote("a", expert, "normal")
    page = open_window(by="mia").go(f"/studies/{study.name}/cases/a")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_text("Correct or take back").first.click()
    page.get_by_label("Vote of").first.select_option("abnormal")
    page.get_by_role("button", name="Correct the vote of").first.click()
    expect(page.get_by_text("vote was changed to abnormal by mia")).to_be_visible()
    page.get_by_role("button", name="Ask the whole panel").click()
    expect(page.get_by_text("Reopened by mia for the whole panel.")).to_be_visible()


def test_an_admin_invites_somebody_who_signs_in_by_the_link(study: LiveStudy, open_window: Open) -> None:
    page = open_window(by="admin").go("/users")
    name = f"ben-of-{study.name}"
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Votes as").select_option(f"{study.name}/ben")
    page.get_by_role("button", name="Create and get a link").click()
    link = page.get_by_label(f"Sign-in link of {name}").input_value()
    invited = open_window()
    invited.page.goto(link)
    invited.page.get_by_role("button", name="Sign in").click()
    invited.page.get_by_label("New password", exact=True).fill(PASSWORD)
    invited.page.get_by_label("New password again").fill(PASSWORD)
    invited.page.get_by_role("button", name="Save").click()
    expect(invited.page.get_by_text("Your password is set.")).to_be_visible()
    invited.page.get_by_role("link", name="Inbox").click()
    expect(invited.page.get_by_role("heading", name="Inbox of ben")).to_be_visible()
    assert invited.noted == []


def test_a_token_is_shown_once_and_ended(open_window: Open) -> None:
    window = open_window(by="mia")
    page = window.go("/account/tokens")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_label("What it is for").fill("nightly export")
    page.get_by_role("button", name="Make a token").click()
    assert page.get_by_label("The new token").input_value().startswith("quo_")
    page = window.go("/account/tokens")
    expect(page.get_by_label("The new token")).to_have_count(0)
    page.get_by_role("button", name="End the token nightly export").click()
    expect(page.get_by_text("ended", exact=True)).to_be_visible()
