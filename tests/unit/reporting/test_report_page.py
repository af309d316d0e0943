"""The page says what happened, holds all it shows and lets no text through unescaped."""

import dataclasses
import re

import pytest

from quorate.assurance.bootstrap import Interval
from quorate.assurance.summary import summarise
from quorate.reporting.replay import ReplayReport, SamplerFigures
from quorate.reporting.report import LISTED, render_report
from quorate.reporting.wording import headline, health_rows, percent, result_rows
from tests.unit.reporting.replay_reports import Page, scored_case, small_report

NASTY = '<script>alert("1")</script>&\'"'


def rendered(report: ReplayReport) -> str:
    return render_report(report, version="1.2.3")


def test_headline_says_what_was_asked_wrong_and_saved() -> None:
    assert headline(small_report()) == (
        "quorate asked 1.2 of 3 experts a case on average and was wrong on 1 of 9; the whole panel would have cost "
        "30 votes, this took 12 (60 % saved). 1 further case ends in a tie of the panel itself, where no outcome is "
        "fully right. 2 cases (20 %) were settled with no human vote."
    )


def test_what_votes_cost_is_told_where_they_do_not_all_cost_1() -> None:
    plain = dataclasses.replace(small_report(), saved=Interval(0.6, 0.45, 0.72))
    assert ("Votes in all", "12", "of 30; 60 % saved, 95 % interval 45 % to 72 %") in result_rows(plain)
    summary = dataclasses.replace(plain.summary, cost=1512.5, full_panel_cost=3025.0, saved_share=0.5)
    priced = dataclasses.replace(plain, summary=summary, priced=True)
    assert "the whole panel would have cost 3,025, this took 1,512.5 (50 % saved)" in headline(priced)
    rows = result_rows(priced)
    assert ("Votes in all", "12", "of 30") in rows
    assert ("Cost", "1,512.5", "of 3,025; 50 % saved, 95 % interval 45 % to 72 %") in rows
    assert "Cost saved" in rendered(priced)
    assert "Votes saved" in rendered(plain)


def test_headline_of_a_clean_rival() -> None:
    cases = [dataclasses.replace(scored_case(0, ("ann", "ben")), forced_asks=1)]
    summary = summarise(cases, experts=("ann", "ben", "cho"), outcomes=("normal", "abnormal"))
    report = dataclasses.replace(small_report(), method="majority:2", summary=summary, scored=tuple(cases))
    assert headline(report) == (
        "The method majority:2 asked 2 of 3 experts a case on average and was wrong on none of 1; the whole panel "
        "would have cost 3 votes, this took 2 (33 % saved). "
        "1 vote was asked for only because a forecast was not healthy."
    )


def test_headline_of_a_floor_says_that_it_is_none_of_the_methods() -> None:
    told = headline(dataclasses.replace(small_report(), method="hindsight:paper"))
    assert told.startswith(
        "A floor, not a method: with its model fitted on every vote of the table beforehand, quorate asked 1.2 of 3"
    )


def test_page_is_well_formed_and_starts_with_the_headline() -> None:
    report = small_report()
    page = Page(rendered(report))
    assert page.text.index("quorate asked 1.2 of 3 experts") < page.text.index("Results")
    for label, value, _ in result_rows(report) + health_rows(report):
        assert f"{label} {value}" in page.text
    for name in report.settings:
        assert name in page.text
    assert "quorate 1.2.3" in page.text


def test_page_fetches_nothing_and_runs_nothing() -> None:
    text = rendered(small_report())
    page = Page(text)
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "link", "img", "iframe", "object", "embed"})
    for attribute in ("src", "href", "srcset", "action", "data"):
        assert all(value.startswith("#") for value in page.attributes(attribute))
    assert not re.search(r"@import|url\((?!#)", text)
    assert set(re.findall(r"https?://[^\s\"'<>]+", text)) <= {"http://www.w3.org/2000/svg"}


def test_plots_can_be_read_without_seeing_them() -> None:
    page = Page(rendered(small_report()))
    drawings = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert len(drawings) == 6
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in drawings)
    assert any("ben 70 %" in (attrs["aria-label"] or "") for attrs in drawings)
    assert sum(tag == "caption" for tag, _ in page.tags) == sum(tag == "table" for tag, _ in page.tags)
    assert {attrs.get("scope") for tag, attrs in page.tags if tag == "th"} == {"col", "row"}
    ids = page.attributes("id")
    assert len(ids) == len(set(ids))


def test_wrong_tied_and_unseen_cases_are_listed_and_marked() -> None:
    page = Page(rendered(small_report()))
    assert "Wrong: 1 case" in page.text
    assert "case-3 normal abnormal ben: normal 0.80 % wrong" in page.text
    assert "The panel itself is tied: 1 case" in page.text
    assert "case-6 normal normal or abnormal cho: normal 50 % tie" in page.text
    assert "Settled with no human vote: 2 cases" in page.text
    assert "case-4 normal normal none 0.40 % no human vote" in page.text
    assert "case-8" in page.text
    assert "case-5" not in page.text


def test_long_lists_point_to_the_steps() -> None:
    cases = [scored_case(t) for t in range(LISTED + 3)]
    summary = summarise(cases, experts=("ann", "ben", "cho"), outcomes=("normal", "abnormal"))
    page = Page(rendered(dataclasses.replace(small_report(), summary=summary, scored=tuple(cases))))
    assert "And 3 more cases, in steps.csv." in page.text
    assert f"case-{LISTED - 1} " in page.text
    assert f"case-{LISTED} " not in page.text
    assert "No case that the panel decides was settled wrongly." in page.text


@pytest.mark.parametrize("where", ["experts", "classes", "title", "key", "settings", "method"])
def test_nasty_texts_are_shown_as_they_are_and_never_run(where: str) -> None:
    report = small_report()
    if where == "experts":
        report = small_report((NASTY, "ben", "cho"))
    elif where == "classes":
        report = small_report(classes=(NASTY, "abnormal"))
    elif where == "title":
        report = dataclasses.replace(report, title=NASTY)
    elif where == "key":
        wrong = dataclasses.replace(report.scored[3], key=NASTY)
        report = dataclasses.replace(report, scored=(*report.scored[:3], wrong, *report.scored[4:]))
    elif where == "settings":
        report = dataclasses.replace(report, settings={NASTY: NASTY})
    else:
        report = dataclasses.replace(report, method=NASTY)
    text = rendered(report)
    page = Page(text)
    assert "<script" not in text
    assert NASTY in page.text or where == "experts"
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)


def test_groups_of_settings_are_laid_open() -> None:
    settings = {"seed": 3, "hyper_parameters": {"sigma_mu": 0.1, "temperature": False}, "window": None}
    page = Page(rendered(dataclasses.replace(small_report(), settings=settings)))
    assert "seed 3 sigma_mu 0.1 temperature no window none" in page.text


def test_a_method_that_samples_nothing_says_so() -> None:
    report = dataclasses.replace(
        small_report(), method="all", sampler=SamplerFigures(), timing=None, correlation=None, max_error=None
    )
    page = Page(rendered(report))
    assert "Worst R-hat none nothing was sampled" in page.text
    assert "Who goes with whom" not in page.text


def test_several_classes_name_the_base_and_the_mean() -> None:
    page = Page(rendered(small_report(classes=("a", "b", "c"))))
    assert "log-ratios of each class to c, mean over the 2 of them" in page.text


def test_the_same_report_gives_the_same_page() -> None:
    assert rendered(small_report()) == rendered(small_report())


def test_percentages_never_round_an_error_away() -> None:
    assert [percent(x) for x in (0.9999, 0.999999, 0.0996, 0.05, 0.00049)] == [
        "99.99 %",
        "99.99 %",
        "10 %",
        "5.0 %",
        "0.049 %",
    ]
