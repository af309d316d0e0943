"""The floor: fitted on every vote, replayed without learning, and never taken for a method."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from quorate.assembly import Options, create_study
from quorate.core.panel import Panel
from quorate.core.settings import EvidenceSettings, Settings
from quorate.core.target import parse_target
from quorate.data.synthetic import simulate
from quorate.errors import SettingsError
from quorate.experiments import hindsight
from quorate.experiments.compare import Request, compare
from quorate.experiments.hindsight import as_method, everything, fitted
from quorate.experiments.replay import replay
from quorate.models.evidence.learner import EvidenceLearner
from quorate.models.evidence.predictor import EvidencePredictor
from quorate.models.full.learner import FullLearner
from quorate.models.full.predictor import FullPredictor
from quorate.reporting.replay import figures
from quorate.study.seeds import generator

TABLE = simulate(np.random.default_rng(0), experts=4, classes=2, cases=60, skill=0.9, missing=0.1)
EVIDENCE = EvidenceSettings(particles=64)
FULL = Settings(chains=2, warmup=100, draws=200, extensions=1, latents=2000, max_rhat=1.5, min_ess=10.0)


@pytest.mark.parametrize("name", ["hindsight", "hindsight:quorate"])
def test_the_model_is_that_of_all_rows_and_all_votes(name: str) -> None:
    options = Options(name, settings=EVIDENCE, max_error=0.05)
    report = replay(TABLE, options=options, limit=20, offset=10, seed=7)
    history = everything(TABLE)
    assert np.array_equal(history.votes(), TABLE.votes)
    expected = EvidenceLearner(EVIDENCE).update(generator(7, "hindsight"), history, None)
    assert isinstance(expected, EvidencePredictor)
    target = parse_target("consensus", TABLE.panel)
    learner = fitted(TABLE, options, target, seed=7).method.learner
    found = learner.update(np.random.default_rng(0), history, None)
    assert isinstance(found, EvidencePredictor)
    assert np.array_equal(found.particles.theta, expected.particles.theta)
    told = figures(report)
    assert (told["method"], told["preset"], told["model"]) == (name, "quorate", "evidence")
    assert (told["schedule"], told["fits"], told["cases"]) == (None, 1, 20)
    assert report.portrait is not None


def test_the_papers_model_has_a_floor_too() -> None:
    options = Options("hindsight", preset="paper", settings=FULL, max_error=0.05)
    report = replay(TABLE, options=options, limit=6, seed=1, portrayed=False)
    assert report.settings["model"] == "full"
    assert report.sampler.fits == 1
    expected = FullLearner(FULL).update(generator(1, "hindsight"), everything(TABLE), None)
    found = fitted(TABLE, options, parse_target("consensus", TABLE.panel), seed=1).method.learner
    predictor = found.update(np.random.default_rng(0), everything(TABLE), None)
    assert isinstance(expected, FullPredictor)
    assert isinstance(predictor, FullPredictor)
    assert predictor.draws.digest == expected.draws.digest


def test_one_fit_serves_every_allowed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    hindsight._fit.cache_clear()
    fits = []
    whole = EvidenceLearner.update

    def counted(self: EvidenceLearner, *args: object) -> object:
        fits.append(args)
        return whole(self, *args)  # type: ignore[arg-type]  # passed on as given

    monkeypatch.setattr(EvidenceLearner, "update", counted)
    for max_error in (0.01, 0.05):
        options = Options("hindsight", settings=EVIDENCE, max_error=max_error)
        replay(TABLE, options=options, limit=2, portrayed=False)
    assert len(fits) == 1


def test_options_of_learning_are_refused() -> None:
    with pytest.raises(SettingsError, match="option schedule does not apply to 'hindsight'"):
        as_method(Options("hindsight", schedule="every"))
    with pytest.raises(SettingsError, match="option window does not apply to 'hindsight'"):
        as_method(Options("hindsight", window=5))


def test_half_a_name_is_refused_as_it_was_typed() -> None:
    with pytest.raises(SettingsError, match="unknown method 'hindsight:'; expected hindsight or hindsight:quorate or"):
        as_method(Options("hindsight:"))


def test_other_presets_and_live_studies_do_not_know_it() -> None:
    with pytest.raises(SettingsError, match="unknown preset 'magic'"):
        replay(TABLE, options=Options("hindsight:magic"))
    with pytest.raises(SettingsError, match="unknown method 'hindsight'"):
        create_study(Panel(["no", "yes"], ["ann"]), options=Options("hindsight"))
    assert as_method(Options("infexp")) == Options("infexp")


def test_a_comparison_shows_the_floor_but_never_recommends_it(tmp_path: Path) -> None:
    methods = ("bayes:quorate", "hindsight:quorate", "until-determined", "all")
    shared = Options(settings=EVIDENCE, schedule="paper")
    request = Request(methods, max_errors=(0.02, 0.2), runs=2, options=shared)
    with ThreadPoolExecutor(1) as executor:
        found = compare(TABLE, request, results=tmp_path / "results.jsonl", executor=executor)
    assert found.failures == ()
    kinds = {curve.method: curve.kind for curve in found.curves}
    assert kinds["hindsight:quorate"] == "floor"
    floor = next(curve for curve in found.curves if curve.kind == "floor")
    assert [point.max_error for point in floor.points] == [0.02, 0.2]
    assert floor.area is None
    assert all(one.method != "hindsight:quorate" for one in found.recommendations)
    assert {name for one in found.differences for name in (one.method, one.other)} == {
        "bayes:quorate",
        "until-determined",
        "all",
    }


def test_a_floor_alone_recommends_nothing(tmp_path: Path) -> None:
    request = Request(("hindsight",), max_errors=(0.2,), runs=1, options=Options(settings=EVIDENCE))
    with ThreadPoolExecutor(1) as executor:
        found = compare(TABLE, request, results=tmp_path / "results.jsonl", executor=executor)
    assert [one.method for one in found.recommendations] == [None]
