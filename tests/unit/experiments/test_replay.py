"""The replay: the same path as a live study, votes only when asked, figures that add up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from quorate.assembly import Options
from quorate.core.case import Case
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.protocols import Predictor, Target
from quorate.core.settings import EvidenceSettings, Settings
from quorate.data.synthetic import simulate
from quorate.data.table import Table
from quorate.errors import SettingsError
from quorate.experiments.replay import choose_rows, replay
from quorate.models import health
from quorate.models.evidence.predictor import EvidencePredictor
from quorate.models.full.predictor import FullPredictor
from quorate.reporting.replay import figures

QUICK = Settings(chains=2, warmup=100, draws=200, extensions=1, latents=4000, max_rhat=1.5, min_ess=10.0)
PAPER = Options(preset="paper", settings=QUICK)
PRESETS = {"quorate": Options(settings=EvidenceSettings(particles=64)), "paper": PAPER}
each_preset = pytest.mark.parametrize("options", PRESETS.values(), ids=PRESETS)
TIMES = {"seconds", "seconds_fitting", "seconds_deciding", "decision_p95_ms"}


def panel_table(cases: int = 30, seed: int = 0, **options: object) -> Table:
    rng = np.random.default_rng(seed)
    return simulate(rng, experts=4, classes=2, cases=cases, **options)  # type: ignore[arg-type]  # options by name


@each_preset
def test_the_same_seed_gives_the_same_figures_but_for_times(options: Options) -> None:
    table = panel_table(12)
    runs = [figures(replay(table, options=options, seed=3)) for _ in range(2)]
    one, two = ({key: value for key, value in run.items() if key not in TIMES} for run in runs)
    assert one == two
    assert one["fits"] == 11  # after every case but the last
    assert one["cases"] == 12


@each_preset
def test_the_model_asks_less_than_counting_and_keeps_its_promise(options: Options) -> None:
    table = panel_table(40, seed=1, skill=0.95, classifier_skill=0.95)
    model = replay(table, options=replace(options, max_error=0.05)).summary
    counting = replay(table, options=Options(method="until-determined")).summary
    assert model.mean_queries < counting.mean_queries
    assert model.errors <= 2


@each_preset
@pytest.mark.parametrize("chooser", ["stop", "lookahead"])
def test_choosers_that_look_ahead_go_by_the_same_stopping(options: Options, chooser: str) -> None:
    table = panel_table(15, seed=1, skill=0.9)
    report = replay(table, options=replace(options, max_error=0.05, chooser=chooser))
    assert report.settings["chooser"] == chooser
    assert all(case.stated_error <= 0.05 or case.reason == "tie" for case in report.scored)
    assert report.summary.mean_queries < 4


@each_preset
def test_at_error_zero_only_the_votes_settle(options: Options) -> None:
    report = replay(panel_table(10, seed=2), options=replace(options, max_error=0.0))
    assert {case.reason for case in report.scored} <= {"certain", "tie"}
    assert report.summary.errors == 0


@pytest.mark.parametrize(("name", "kind"), [("quorate", EvidencePredictor), ("paper", FullPredictor)])
def test_ill_forecasts_settle_nothing(
    name: str, kind: type[EvidencePredictor | FullPredictor], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ill(self: Predictor, rng: np.random.Generator, case: Case, target: Target) -> Forecast:
        return replace(whole(self, rng, case, target), health=Health(reasons=("ill for this test",)))

    table, options = panel_table(6), replace(PRESETS[name], max_error=0.2)
    healthy = replay(table, options=options)
    whole: Callable[..., Forecast] = kind.forecast
    monkeypatch.setattr(kind, "forecast", ill)
    forced = replay(table, options=options)
    assert {case.reason for case in forced.scored} <= {"certain", "tie"}
    assert forced.summary.forced_asks > 0 == healthy.summary.forced_asks
    assert forced.summary.mean_queries > healthy.summary.mean_queries


def test_a_strict_gate_counts_its_unhealthy_fits_and_asks_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "AGREEMENT", 0.0)  # no carried chains pass, and no long fit that is tried after them
    strict = Settings(chains=2, warmup=1, draws=4, extensions=0, latents=500, min_ess=1e6)
    report = replay(panel_table(6), options=Options(max_error=0.3, preset="paper", settings=strict))
    assert report.sampler.unhealthy_fits == report.sampler.fits == 5
    assert {case.reason for case in report.scored[1:]} <= {"certain", "tie"}


def test_rows_are_chosen_by_offset_limit_and_shuffle() -> None:
    assert choose_rows(5, limit=None, offset=3, shuffle=None) == [3, 4]
    shuffled = choose_rows(50, limit=None, offset=0, shuffle=4)
    assert sorted(shuffled) == list(range(50))
    assert shuffled != list(range(50))
    assert choose_rows(50, limit=7, offset=5, shuffle=4) == shuffled[5:12]
    with pytest.raises(SettingsError, match="offset 9 is out of range; the table has 5 cases"):
        choose_rows(5, limit=1, offset=9, shuffle=None)
    with pytest.raises(SettingsError, match="limit 0 is too small"):
        choose_rows(5, limit=0, offset=0, shuffle=None)


def test_progress_counts_every_case() -> None:
    seen: list[tuple[int, int]] = []
    replay(panel_table(4), options=Options(method="all"), progress=lambda done, cases: seen.append((done, cases)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize("ablate", [("temperature",), ("correlations",), ("temperature", "correlations")])
def test_ablated_models_replay_too(ablate: tuple[str, ...]) -> None:
    report = replay(panel_table(6), options=replace(PAPER, max_error=0.1, ablate=ablate))
    assert report.correlation is not None
    matrix = report.correlation.matrix
    assert np.allclose(matrix, np.eye(len(matrix))) == ("correlations" in ablate)


@each_preset
def test_missing_votes_and_classifiers_are_taken_as_they_are(options: Options) -> None:
    whole = panel_table(12, seed=5, classifiers=2, missing=0.3)
    gaps = whole.probabilities.copy()
    gaps[::3, 0] = np.nan
    gaps[4] = np.nan
    table = replace(whole, probabilities=gaps)
    report = replay(table, options=replace(options, max_error=0.1))
    for case, row in zip(report.scored, table.votes, strict=True):
        there = {name for name, vote in zip(table.panel.experts, row, strict=True) if vote >= 0}
        assert set(case.asked) <= there
        assert case.panel == len(there)


@each_preset
def test_a_guided_majority_asks_the_fixed_number(options: Options) -> None:
    report = replay(panel_table(5), options=replace(options, method="majority:2", chooser="entropy"))
    assert [case.human_votes for case in report.scored] == [2] * 5
    assert report.sampler.fits == 4
