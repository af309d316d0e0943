"""Names become parts, or a message that lists the names there are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quorate.assembly import DEFAULT_MODEL, DEFAULT_PRESET, Options, create_study, plan, read_settings, read_target
from quorate.baselines.confusion import ConfusionLearner, ConfusionOptions
from quorate.baselines.infexp import InfexpLearner, InfexpOptions, every_twenty
from quorate.baselines.simple import GuidedLearner
from quorate.core.panel import Panel
from quorate.core.settings import EvidenceSettings, Settings
from quorate.core.target import FunctionTarget
from quorate.errors import SettingsError
from quorate.models.evidence.learner import EvidenceLearner
from quorate.models.full.learner import FullLearner
from quorate.models.full.predictor import FullPredictor
from quorate.policy.schedule import paper_schedule

PANEL = Panel(["no", "yes"], ["ann", "ben", "cho"])
CONSENSUS = read_target("consensus", PANEL)


def test_shared_evidence_is_the_default() -> None:
    assert (DEFAULT_PRESET, DEFAULT_MODEL) == ("quorate", "evidence")
    chosen = plan(PANEL, Options(), CONSENSUS)
    assert (chosen.name, chosen.preset, chosen.model, chosen.chooser, chosen.schedule, chosen.engine) == (
        "bayes",
        "quorate",
        "evidence",
        "lookahead",
        "every",
        None,
    )
    assert chosen.settings == EvidenceSettings()
    assert isinstance(chosen.method.learner, EvidenceLearner)
    named = plan(PANEL, Options("bayes:quorate"), CONSENSUS)
    assert (named.method, named.settings) == (chosen.method, chosen.settings)


@pytest.mark.parametrize("options", [Options(preset="paper"), Options("bayes:paper")])
def test_the_paper_is_exact(options: Options) -> None:
    chosen = plan(PANEL, options, CONSENSUS)
    assert (chosen.preset, chosen.model, chosen.chooser, chosen.schedule, chosen.engine) == (
        "paper",
        "full",
        "entropy",
        "paper",
        "gibbs",
    )
    assert chosen.settings == Settings()
    assert isinstance(chosen.method.learner, FullLearner)
    assert chosen.method.schedule is paper_schedule
    assert (chosen.settings.sigma_mu, chosen.settings.sigma_sigma) == (0.1, 1.0)
    assert (chosen.settings.eta, chosen.settings.sigma_tau) == (0.75, 0.4)


def test_ablations_switch_parts_of_the_model_off() -> None:
    options = Options(preset="paper", ablate=("temperature", "correlations"), settings=Settings(eta=2.0))
    chosen = plan(PANEL, options, CONSENSUS)
    assert isinstance(chosen.settings, Settings)
    assert (chosen.settings.temperature, chosen.settings.correlations, chosen.settings.eta) == (False, False, 2.0)


@pytest.mark.parametrize(
    ("preset", "settings", "used"),
    [(None, EvidenceSettings(particles=64), "quorate"), ("paper", Settings(eta=2.0), "paper")],
)
def test_a_majority_may_be_guided_by_the_model(
    preset: str | None, settings: Settings | EvidenceSettings, used: str
) -> None:
    options = Options(method="majority:2", chooser="entropy", preset=preset, settings=settings)
    chosen = plan(PANEL, options, CONSENSUS)
    assert isinstance(chosen.method.learner, GuidedLearner)
    assert (chosen.name, chosen.preset, chosen.max_error) == ("majority:2", used, None)
    assert chosen.settings == settings


@pytest.mark.parametrize("preset", [None, "quorate"])
@pytest.mark.parametrize(
    ("options", "what"),
    [
        (Options(engine="nuts"), "option engine is for"),
        (Options(ablate=("temperature",)), "option ablate is for"),
        (Options(settings=Settings(eta=1.0)), "the settings given are of"),
        (Options("majority:2", chooser="entropy", engine="gibbs"), "option engine is for"),
    ],
)
def test_what_only_the_full_model_has_says_so_and_how_to_get_it(
    options: Options, what: str, preset: str | None
) -> None:
    message = f"{what} model 'full', and model 'evidence' is in force; take --preset paper or --model full"
    with pytest.raises(SettingsError, match=message):
        plan(PANEL, replace(options, preset=preset), CONSENSUS)
    for way in ({"preset": "paper"}, {"preset": preset, "model": "full"}):
        assert plan(PANEL, replace(options, **way), CONSENSUS).model == "full"


def test_settings_are_read_for_the_model_in_force_or_the_one_that_has_them() -> None:
    assert read_settings({}) is None
    assert read_settings({"particles": "64"}) == EvidenceSettings(particles=64)
    assert read_settings({"eta": "2"}) == read_settings({"eta": "2"}, "full") == Settings(eta=2.0)
    with pytest.raises(SettingsError, match=r"setting eta is for model 'full', and model 'evidence' is in force; take"):
        read_settings({"particles": "64", "eta": "2"}, "evidence")
    with pytest.raises(SettingsError, match=r"setting particles is for model 'evidence'.*take --preset quorate or"):
        read_settings({"particles": "64"}, "full")
    with pytest.raises(SettingsError, match="settings eta, particles are of two models; give those of one"):
        read_settings({"eta": "2", "particles": "64"})
    with pytest.raises(SettingsError, match="no setting 'zeta'; the settings are trust_sd"):
        read_settings({"zeta": "2"})
    with pytest.raises(SettingsError, match="unknown model 'best'; expected evidence or full"):
        read_settings({"eta": "2"}, "best")


def test_what_another_model_has_learned_is_refused() -> None:
    paper = Options(preset="paper", settings=Settings(population=4, latents=500))
    learned = create_study(PANEL, options=paper).predictor
    assert isinstance(learned, FullPredictor)
    assert create_study(PANEL, options=paper, learned=learned).predictor is learned
    with pytest.raises(SettingsError, match="what was learned is of model 'full', and model 'evidence' is in force"):
        create_study(PANEL, learned=learned)
    ours = create_study(PANEL)
    assert create_study(PANEL, learned=ours.predictor).predictor is ours.predictor
    with pytest.raises(SettingsError, match=r"what was learned is of model 'evidence'.*take --preset quorate"):
        create_study(PANEL, options=paper, learned=ours.predictor)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Options(method="magic"), "unknown method 'magic'; expected bayes"),
        (Options(method="bayes:best"), "unknown preset 'best'; expected quorate or paper"),
        (Options(method="bayes:paper", preset="other"), "name two presets"),
        (Options(method="majority:x"), "whole number from 0 to 3, got 'x'"),
        (Options(method="majority:4"), "whole number from 0 to 3, got '4'"),
        (Options(method="majority"), "unknown method 'majority'"),
        (
            Options(chooser="psychic"),
            "unknown chooser 'psychic'; expected entropy or stop or lookahead or random or panel",
        ),
        (Options(schedule="never"), "unknown schedule 'never'; expected paper or every"),
        (Options(preset="paper", engine="stan"), "unknown engine 'stan'; expected gibbs or nuts"),
        (Options(preset="paper", ablate=("tau",)), "cannot ablate 'tau'; expected temperature or correlations"),
        (Options(window=0), "window 0 is too small"),
        (Options(max_error=2), "max error 2 is out of range"),
        (Options(max_error=float("nan")), "out of range"),
        (Options(method="all", max_error=-0.1), "max error -0.1 is out of range"),
        (Options(method="all", engine="nuts"), "option engine does not apply to method 'all'"),
        (Options(method="classifier", chooser="entropy"), "unknown chooser for method 'classifier' 'entropy'"),
        (Options(method="until-determined", settings=Settings()), "option set does not apply"),
        (
            Options(method="infexp:best"),
            "unknown method 'infexp:best'; expected infexp or infexp:finite or infexp:exact",
        ),
        (Options(method="infexp:"), "unknown method 'infexp:'; expected infexp"),
        (Options(method="confusion:worst"), "unknown method 'confusion:worst'; expected confusion or confusion:mean"),
        (Options(method="infexp", engine="gibbs"), "option engine does not apply to method 'infexp', which is not the"),
        (Options(method="infexp", window=50), "option window does not apply to method 'infexp'"),
        (Options(method="infexp:finite", preset="paper"), "option preset does not apply to method 'infexp:finite'"),
        (Options(method="confusion", ablate=("temperature",)), "option ablate does not apply to method 'confusion'"),
        (Options(method="confusion", settings=Settings()), "option set does not apply to method 'confusion'"),
        (Options(method="infexp", max_error=1.5), "max error 1.5 is out of range"),
        (Options(method="infexp", chooser="entropy"), "'entropy'; expected accuracy or random or panel"),
        (Options(method="confusion", chooser="accuracy"), "'accuracy'; expected entropy or random or panel"),
        (Options(method="infexp", schedule="never"), "'never'; expected every-20 or paper or every"),
        (Options(method="confusion", schedule="every-20"), "unknown schedule 'every-20'; expected paper or every"),
    ],
)
def test_what_cannot_be_assembled_is_named(options: Options, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        plan(PANEL, options, CONSENSUS)


@pytest.mark.parametrize(
    ("method", "chooser", "schedule"),
    [
        ("infexp", "accuracy", "every-20"),
        ("infexp:finite", "accuracy", "every-20"),
        ("infexp:exact", "accuracy", "every-20"),
        ("infexp:determined", "accuracy", "every-20"),
        ("confusion", "entropy", "every"),
        ("confusion:mean", "entropy", "every"),
    ],
)
def test_the_rivals_of_the_paper(method: str, chooser: str, schedule: str) -> None:
    chosen = plan(PANEL, Options(method=method, max_error=0.05), CONSENSUS)
    assert (chosen.name, chosen.chooser, chosen.schedule, chosen.max_error) == (method, chooser, schedule, 0.05)
    assert (chosen.preset, chosen.model, chosen.engine, chosen.settings) == (None, None, None, None)
    other = plan(PANEL, Options(method=method, chooser="random", schedule="paper"), CONSENSUS)
    assert (other.chooser, other.schedule) == ("random", "paper")
    for target in ("any:yes", "unanimous", "weighted:ann=3"):
        with pytest.raises(SettingsError, match=f"forecasts the consensus only, and the target is '{target}'"):
            create_study(PANEL, target=target, options=Options(method=method))


def test_variants_of_the_rivals_differ_in_their_options() -> None:
    def options(method: str) -> object:
        learner = plan(PANEL, Options(method=method), CONSENSUS).method.learner
        assert isinstance(learner, InfexpLearner | ConfusionLearner)
        return learner.options

    assert options("infexp") == InfexpOptions()
    assert options("infexp:finite") == InfexpOptions(pool="finite")
    assert options("infexp:exact") == InfexpOptions(exact=True)
    assert options("infexp:determined") == InfexpOptions(update_only_when_determined=True)
    assert options("confusion") == ConfusionOptions()
    assert options("confusion:mean") == ConfusionOptions(likelihood="mean")


def test_infexp_counts_after_every_case_whatever_its_schedule() -> None:
    for schedule in (None, "paper"):
        method = plan(PANEL, Options(method="infexp", schedule=schedule), CONSENSUS).method
        assert all(method.schedule(cases) for cases in range(1, 40))
        assert isinstance(method.learner, InfexpLearner)
        assert method.learner.refit is (paper_schedule if schedule else every_twenty)


def test_a_target_may_be_a_function() -> None:
    target = read_target(lambda votes: votes.get("ann", "nobody"), PANEL)
    assert isinstance(target, FunctionTarget)
    assert read_target(target, PANEL) is target
    study = create_study(PANEL, target=target, options=Options(method="until-determined"))
    study.open("c", {})
    assert study.forecast("c").candidates == ("ann",)  # nobody else can change the outcome


def test_a_window_beyond_what_is_learned_from_is_refused() -> None:
    with pytest.raises(SettingsError, match="window 2001 is more than setting cases = 2000"):
        plan(PANEL, Options(preset="quorate", window=2001), read_target("consensus", PANEL))
    plan(
        PANEL,
        Options(preset="quorate", window=2001, settings=EvidenceSettings(cases=2001)),
        read_target("consensus", PANEL),
    )
    plan(PANEL, Options(preset="paper", window=2001), read_target("consensus", PANEL))
