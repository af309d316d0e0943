"""The page of a comparison: one allowed error at a time, everything without a script, nothing let through unescaped."""

from __future__ import annotations

import dataclasses
import io
import json
import re

import pytest
from rich.console import Console

from quorate.reporting.comparison import Comparison
from quorate.reporting.comparison_page import render_comparison
from quorate.reporting.comparison_tables import comparison_summary
from tests.unit.reporting.comparisons import ERRORS, small_comparison, with_floor
from tests.unit.reporting.replay_reports import Page

NASTY = '<script>alert("1")</script>&\'"'


def rendered(comparison: Comparison) -> str:
    return render_comparison(comparison, version="1.2.3")


def embedded(text: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="allowed-errors">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data: dict[str, object] = json.loads(found[1])
    return data


def test_the_page_opens_with_the_recommendation_for_one_percent() -> None:
    page = Page(rendered(small_comparison()))
    chosen = [attrs for tag, attrs in page.tags if tag == "div" and attrs.get("class") == "now"]
    assert {attrs["data-at"] for attrs in chosen} == {"1"}
    assert page.text.index("At 1 take bayes.") < page.text.index("Error you allow") < page.text.index("Plots")
    assert "quorate 1.2.3" in page.text
    assert "Methods compared on small.csv" in page.text


def test_the_slider_is_a_range_with_a_label_and_a_value_in_words() -> None:
    page = Page(rendered(small_comparison()))
    slider = next(attrs for tag, attrs in page.tags if tag == "input")
    assert (slider["type"], slider["min"], slider["max"], slider["step"], slider["value"]) == (
        "range",
        "0",
        "2",
        "1",
        "1",
    )
    assert slider["aria-valuetext"] == "1 %"
    assert any(tag == "label" and attrs.get("for") == slider["id"] for tag, attrs in page.tags)
    assert any(tag == "output" and attrs.get("for") == slider["id"] for tag, attrs in page.tags)


def test_the_data_of_the_script_are_the_allowed_errors() -> None:
    assert embedded(rendered(small_comparison())) == {
        "at": 1,
        "allowed": [{"error": 0.0, "text": "0 %"}, {"error": 0.01, "text": "1 %"}, {"error": 0.05, "text": "5 %"}],
    }


def test_every_allowed_error_can_be_read_without_a_script() -> None:
    page = Page(rendered(small_comparison()))
    folded = [attrs for tag, attrs in page.tags if tag == "details"]
    assert len(folded) == 5 * len(ERRORS)
    assert [attrs["data-at"] for attrs in folded if "open" in attrs] == ["1"] * 5
    for text in ("0 %", "1 %", "5 %"):
        assert page.text.count(f"At {text} error allowed") == 5
    assert "bayes 1.75 1.65 to 1.85" in page.text
    assert "bayes 1.25 1.15 to 1.35" in page.text


def test_the_plots_hold_a_group_for_each_allowed_error_and_show_one() -> None:
    text = rendered(small_comparison())
    for name in ("tradeoff", "promise", "classes", "time"):
        groups = re.findall(rf'<g id="{name}-at-(\d)-[\w-]+" data-at="(\d)"( class="now")?', text)
        assert {at for at, _, _ in groups} == {"0", "1", "2"}
        assert all(at == data for at, data, _ in groups)
        assert {at for at, _, now in groups if now} == {"1"}
    assert 'id="tradeoff-at-1-best"' in text
    assert 'id="tradeoff-at-0-best"' not in text  # nothing is recommended there


def test_every_group_that_the_slider_moves_is_found_by_the_script() -> None:
    text = rendered(small_comparison())
    script = text[text.rindex("<script>") :]
    for name in re.findall(r'getElementById\("([\w-]+)"\)', script):
        assert text.count(f'id="{name}"') == 1


def test_the_page_fetches_nothing() -> None:
    text = rendered(small_comparison())
    page = Page(text)
    assert {tag for tag, _ in page.tags}.isdisjoint({"link", "img", "iframe", "object", "embed"})
    for attribute in ("src", "href", "srcset", "action"):
        assert all(value.startswith("#") for value in page.attributes(attribute))
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttpRequest|import\(", text)
    assert set(re.findall(r"https?://[^\s\"'<>]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)


def test_the_page_can_be_read_without_seeing_it() -> None:
    page = Page(rendered(small_comparison()))
    drawings = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert len(drawings) == 4
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in drawings)
    assert sum(tag == "caption" for tag, _ in page.tags) == sum(tag == "table" for tag, _ in page.tags)
    assert {attrs.get("scope") for tag, attrs in page.tags if tag == "th"} == {"col", "row"}
    assert "polite" in page.attributes("aria-live")
    ids = page.attributes("id")
    assert len(ids) == len(set(ids))


def test_savings_are_votes_and_where_votes_have_a_price_money() -> None:
    plain = Page(rendered(small_comparison())).text
    assert "Votes saved" in plain
    assert "Cost saved" not in plain
    priced = Page(rendered(small_comparison(price=2.5))).text
    assert "Votes and money saved" in priced
    assert "a case costs 4.38 of 7.50" in priced
    assert "costs weighed in choosing" in priced
    assert "costs weighed in choosing" not in plain
    assert "chooser of the models" not in plain
    assert "chooser of the models" in Page(rendered(dataclasses.replace(small_comparison(), chooser="stop"))).text
    assert "In 1,000 cases the whole panel casts 3,000 votes, which cost 7,500." in priced


def test_differences_say_when_an_interval_excludes_zero() -> None:
    text = Page(rendered(small_comparison())).text.replace("\N{MINUS SIGN}", "-")
    assert "-0.50 -0.70 to -0.30 -1.0 % -3.0 % to +1.0 % fewer queries; no clear difference in errors" in text
    assert "fewer queries; more errors" in text
    assert "bayes against classifier 0.00 -0.10 to +0.10 0 % no clear difference" in text
    assert "cheaper; more errors" in Page(rendered(small_comparison(price=2.0))).text


def test_methods_above_what_is_allowed_are_marked_and_missing_figures_are_dashes() -> None:
    text = rendered(small_comparison())
    at_one = text.split('<details data-at="1" class="now" open>')[1].split("</details>")[0]
    rows = {found[0]: found[1] for found in re.findall(r"</span>([\w:-]+)</span>(.*?)</tr>", at_one, re.DOTALL)}
    assert "above" not in rows["bayes"]
    assert "recommended" in rows["bayes"]
    assert "above" in rows["infexp"]
    assert "above" in rows["majority:1"]
    assert "rare" in Page(text).text
    assert "\N{EN DASH}" in Page(text).text


def test_failures_are_told_at_the_top_and_listed() -> None:
    assert "What failed" not in Page(rendered(small_comparison())).text
    text = Page(rendered(small_comparison(failures=("bayes at 0.01: HealthError: none",)))).text
    assert text.index("1 run failed") < text.index("At 1 take bayes.")
    assert "bayes at 0.01: HealthError: none" in text


def test_a_comparison_without_a_model_or_a_choice_of_errors_has_a_page_too() -> None:
    whole = small_comparison()
    simple = tuple(curve for curve in whole.curves if curve.kind == "simple")
    few = dataclasses.replace(
        whole, curves=simple, differences=(), recommendations=(dataclasses.replace(whole.recommendations[0]),)
    )
    page = Page(rendered(few))
    assert len([tag for tag, _ in page.tags if tag == "svg"]) == 3
    assert "Is the promise kept?" not in page.text
    assert "One error was allowed: 0 %." in page.text
    assert "add bayes" in page.text
    assert "no method kept within 0 %" in page.text


def test_what_was_never_seen_is_not_called_impossible() -> None:
    text = Page(rendered(small_comparison())).text
    assert "60 distinct cases an error of up to 6.0 % can stay unseen" in text
    assert "2 cases of the runs end in a tie" in text


@pytest.mark.parametrize("where", ["experts", "outcomes", "table", "failures", "recommendation", "target"])
def test_nasty_texts_are_shown_as_they_are_and_never_run(where: str) -> None:
    comparison = small_comparison()
    if where == "experts":
        comparison = small_comparison(experts=(NASTY, "ben", "cho"))
    elif where == "outcomes":
        comparison = small_comparison(outcomes=(NASTY, "abnormal", "rare"))
    elif where == "table":
        comparison = small_comparison(table=NASTY)
    elif where == "failures":
        comparison = small_comparison(failures=(NASTY,))
    elif where == "target":
        comparison = dataclasses.replace(comparison, target=NASTY)
    else:
        told = dataclasses.replace(comparison.recommendations[1], text=NASTY)
        comparison = dataclasses.replace(comparison, recommendations=(*comparison.recommendations[:1], told))
    text = rendered(comparison)
    page = Page(text)
    assert sum(tag == "script" for tag, _ in page.tags) == 2
    assert "<script>alert" not in text
    assert NASTY in page.text
    assert embedded(text)["at"] == 1
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)


def test_each_preset_says_its_model() -> None:
    comparison = small_comparison()
    first, second, *rest = comparison.curves
    named = [dataclasses.replace(first, method="bayes:quorate"), dataclasses.replace(second, method="bayes:paper")]
    text = Page(rendered(dataclasses.replace(comparison, curves=(*named, *rest), differences=()))).text
    assert "bayes:quorate the shared-evidence model: learns who agrees with whom" in text
    assert "bayes:paper the paper's model: learns who agrees with whom" in text


def test_the_same_comparison_gives_the_same_page() -> None:
    assert rendered(small_comparison()) == rendered(small_comparison())


def test_a_floor_is_marked_wherever_it_stands() -> None:
    plain, floored = small_comparison(), with_floor(small_comparison())
    assert "floor" not in Page(rendered(plain)).text
    text = Page(rendered(floored)).text
    assert text.count("hindsight floor: fitted in hindsight") >= 4
    assert "The dashed black line is a floor" in text
    assert "never recommended, and has no part in the differences and areas" in text
    assert "bayes with its model fitted on every vote of the table before the first case" in text
    alone = dataclasses.replace(floored, curves=floored.curves[-1:], differences=())
    assert "Is the promise kept?" not in Page(rendered(alone)).text
    shown = io.StringIO()
    Console(width=80, file=shown).print(comparison_summary(floored))
    assert "hindsight*" in shown.getvalue()
    assert "* a floor, not a method" in shown.getvalue()
