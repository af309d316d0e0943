"""A portrait on the page: a sentence, two plots, two tables, and the same figures as numbers."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from quorate.reporting import portrait_plots as plots
from quorate.reporting.files import run_json
from quorate.reporting.portrait import portrait_parts, portrait_record, worth_sentence
from quorate.reporting.report import render_report
from quorate.reporting.style import to_png, to_svg
from tests.unit.reporting.replay_reports import Page, small_portrait, small_report

PNG = b"\x89PNG"
NASTY = '<script>alert("1")</script>&$x_{1}$'


def rendered(**changes: object) -> Page:
    report = dataclasses.replace(small_report(), portrait=small_portrait(), **changes)  # type: ignore[arg-type]  # fields by name
    return Page(render_report(report, version="1.2.3"))


def test_the_page_tells_what_was_learned() -> None:
    page = rendered(settings={"model": "evidence"})
    assert "What was learned about the panel" in page.text
    assert (
        "The classifier alone tells as much about the panel's decision as 1.4 votes of experts taken at random would "
        "without it (95 % interval 0.9 to 1.9)."
    ) in page.text
    assert "0.31; 1 to 2 votes tell 0.25, 0.40" in page.text
    assert "once the evidence that all of them see is taken out" in page.text
    assert "here of 1 pair" in page.text
    assert "ann and ben 0.50 0.25 to 0.75 99 %" in page.text
    assert "ann 70 % (60 % to 75 %)" in page.text
    assert len([tag for tag, _ in page.tags if tag == "svg"]) == 8
    ids = page.attributes("id")
    assert len(ids) == len(set(ids))


def test_the_full_model_says_what_siding_is_there() -> None:
    assert "once the classifiers and everyone else are taken into account" in rendered(settings={"model": "full"}).text


def test_a_report_without_a_portrait_has_no_such_part() -> None:
    page = Page(render_report(small_report(), version="1.2.3"))
    assert "What was learned about the panel" not in page.text
    assert json.loads(run_json(small_report(), seed=0, data_sha256=""))["portrait"] is None


def test_the_record_holds_every_figure_by_name() -> None:
    report = dataclasses.replace(small_report(), portrait=small_portrait())
    found = json.loads(run_json(report, seed=0, data_sha256=""))["portrait"]
    assert found["skill"]["ann"]["normal"] == pytest.approx({"value": 0.7, "low": 0.6, "high": 0.75})
    pair = {"experts": ["ann", "ben"], "value": 0.5, "low": 0.25, "high": 0.75, "probability_above_0": 0.99}
    assert found["siding"][0] == pair
    assert len(found["siding"]) == 3
    assert found["classifiers"]["worth_in_votes"] == {"value": 1.4, "low": 0.9, "high": 1.9}
    assert found["classifiers"]["information_of_votes"] == [0.0, 0.25, 0.4]


def test_a_class_that_is_never_decided_is_told_and_left_out() -> None:
    portrait = small_portrait()
    skill = portrait.skill.copy()
    skill[:, 1] = np.nan
    gone = dataclasses.replace(portrait, skill=skill)
    page = Page("".join(part.html for part in portrait_parts(gone, model="full")))
    assert "never decided" in page.text
    assert to_png(plots.skills(gone), dpi=40).startswith(PNG)
    assert np.isnan(portrait_record(gone)["skill"]["ann"]["abnormal"]["value"])  # type: ignore[index]  # nested by name


@pytest.mark.parametrize(("classifiers", "who"), [(2, "Both classifiers together"), (3, "All 3 classifiers together")])
def test_several_classifiers_are_told_of_together(classifiers: int, who: str) -> None:
    assert worth_sentence(small_portrait(classifiers=classifiers)).startswith(f"{who} tell as much")


def test_one_vote_is_one() -> None:
    portrait = small_portrait()
    one = dataclasses.replace(portrait, worth=dataclasses.replace(portrait.worth, votes=np.array([1.02, 0.5, 1.5])))
    assert "as 1 vote of an expert taken at random would" in worth_sentence(one)


@pytest.mark.parametrize("classes", [2, 5, 6, 12])
def test_any_number_of_classes_and_experts_can_be_drawn(classes: int) -> None:
    names = tuple(f"a class of a long name {k}" for k in range(classes))
    for experts in (1, 20):
        portrait = small_portrait(tuple(f"expert_{h}" for h in range(experts)), names)
        assert to_png(plots.skills(portrait), dpi=40).startswith(PNG)
        parts = portrait_parts(portrait, model="evidence")
        assert ("sides with whom" in "".join(part.html for part in parts)) == (experts > 1)


def test_names_are_shown_as_they_are_and_never_run() -> None:
    portrait = small_portrait((NASTY, "ben", "cho"), (NASTY, "abnormal"))
    text = "".join(part.html for part in portrait_parts(portrait, model="evidence"))
    assert "<script" not in text
    assert NASTY in Page(text).text
    assert to_svg(plots.siding(portrait), "x")


def test_pairs_that_are_sure_stand_out_and_no_zero_is_negative() -> None:
    portrait = small_portrait()
    siding = portrait.siding.copy()
    siding[0, 2, 0] = siding[2, 0, 0] = -0.001
    texts = {
        text.get_text(): text.get_fontweight()
        for text in plots.siding(dataclasses.replace(portrait, siding=siding)).axes[0].texts
    }
    assert texts == {"0.50": "bold", "0.00": "normal"}
