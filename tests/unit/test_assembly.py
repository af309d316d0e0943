"""Names become parts, or a message that lists the names there are."""

from __future__ import annotations

import pytest

from quorate.assembly import Options, create_study, plan, read_target
from quorate.baselines.simple import GuidedLearner
from quorate.core.panel import Panel
from quorate.core.settings import Settings
from quorate.core.target import FunctionTarget
from quorate.errors import SettingsError

PANEL = Panel(["no", "yes"], ["ann", "ben", "cho"])


def test_the_paper_is_the_default() -> None:
    chosen = plan(PANEL, Options())
    assert (chosen.preset, chosen.model, chosen.chooser, chosen.schedule, chosen.engine) == (
        "paper",
        "full",
        "entropy",
        "paper",
        "gibbs",
    )
    assert chosen.settings == Settings()
    assert (chosen.settings.sigma_mu, chosen.settings.sigma_sigma) == (0.1, 1.0)
    assert (chosen.settings.eta, chosen.settings.sigma_tau) == (0.75, 0.4)


def test_ablations_switch_parts_of_the_model_off() -> None:
    chosen = plan(PANEL, Options(ablate=("temperature", "correlations"), settings=Settings(eta=2.0)))
    assert chosen.settings is not None
    assert (chosen.settings.temperature, chosen.settings.correlations, chosen.settings.eta) == (False, False, 2.0)


def test_a_majority_may_be_guided_by_the_model() -> None:
    chosen = plan(PANEL, Options(method="majority:2", chooser="entropy", settings=Settings(eta=2.0)))
    assert isinstance(chosen.method.learner, GuidedLearner)
    assert (chosen.name, chosen.preset, chosen.max_error) == ("majority:2", "paper", None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Options(method="magic"), "unknown method 'magic'; expected bayes"),
        (Options(method="bayes:best"), "unknown preset 'best'; expected paper"),
        (Options(method="bayes:paper", preset="other"), "name two presets"),
        (Options(method="majority:x"), "whole number from 0 to 3, got 'x'"),
        (Options(method="majority:4"), "whole number from 0 to 3, got '4'"),
        (Options(method="majority"), "unknown method 'majority'"),
        (Options(chooser="psychic"), "unknown chooser 'psychic'; expected entropy or random or panel"),
        (Options(schedule="never"), "unknown schedule 'never'; expected paper or every"),
        (Options(engine="stan"), "unknown engine 'stan'; expected gibbs or nuts"),
        (Options(ablate=("tau",)), "cannot ablate 'tau'; expected temperature or correlations"),
        (Options(window=0), "window 0 is too small"),
        (Options(max_error=2), "max error 2 is out of range"),
        (Options(max_error=float("nan")), "out of range"),
        (Options(method="all", max_error=-0.1), "max error -0.1 is out of range"),
        (Options(method="all", engine="nuts"), "option engine does not apply to method 'all'"),
        (Options(method="classifier", chooser="entropy"), "unknown chooser for method 'classifier' 'entropy'"),
        (Options(method="until-determined", settings=Settings()), "option set does not apply"),
    ],
)
def test_what_cannot_be_assembled_is_named(options: Options, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        plan(PANEL, options)


def test_a_target_may_be_a_function() -> None:
    target = read_target(lambda votes: votes.get("ann", "nobody"), PANEL)
    assert isinstance(target, FunctionTarget)
    assert read_target(target, PANEL) is target
    study = create_study(PANEL, target=target, options=Options(method="until-determined"))
    study.open("c", {})
    assert study.forecast("c").candidates == ("ann",)  # nobody else can change the outcome
