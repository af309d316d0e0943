"""The one place where names become parts: methods, presets, choosers, schedules, engines."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Literal, TypeVar

from quorate.baselines.simple import ClassifierAlone, GuidedLearner, Unlearning, VotesSoFar
from quorate.core.loss import gravity_of
from quorate.core.panel import Panel
from quorate.core.protocols import Chooser, Learner, Predictor, Stopper, Target
from quorate.core.rules import NO_RULES, Rules
from quorate.core.settings import EvidenceSettings, Settings
from quorate.core.target import FunctionTarget, Votes, parse_target
from quorate.errors import SettingsError
from quorate.policy.choosers import choosers, orders
from quorate.policy.greedy import EpsilonGreedy, TiesAtRandom
from quorate.policy.information import InformationGain
from quorate.policy.schedule import SCHEDULES, Schedule, every_schedule, never_schedule
from quorate.policy.stopping import ErrorBelow, VotesSeen
from quorate.study.journal import Journal
from quorate.study.method import Method
from quorate.study.study import Study

ENGINES: dict[str, Literal["gibbs", "nuts"]] = {"gibbs": "gibbs", "nuts": "nuts"}
Part = TypeVar("Part")

ABLATIONS = ("temperature", "correlations")
METHODS = "bayes, bayes:paper, bayes:quorate, infexp, confusion, majority:N, until-determined, all or classifier"


@dataclass(frozen=True)
class Preset:
    """A model, a chooser and a schedule under one name; single options override it."""

    model: str
    chooser: str
    schedule: str


PRESETS = {
    "quorate": Preset(model="evidence", chooser="lookahead", schedule="every"),
    "paper": Preset(model="full", chooser="entropy", schedule="paper"),
}
DEFAULT_PRESET = "quorate"
MODELS: dict[str, type[Settings] | type[EvidenceSettings]] = {"evidence": EvidenceSettings, "full": Settings}
"""The models, and what each can be tuned by."""
DEFAULT_MODEL = PRESETS[DEFAULT_PRESET].model


@dataclass(frozen=True)
class Options:
    """What a user may say about a method; None leaves it to the preset or to the method itself."""

    method: str = "bayes"
    max_error: float = 0.01
    preset: str | None = None
    model: str | None = None
    chooser: str | None = None
    schedule: str | None = None
    window: int | None = None
    engine: str | None = None
    ablate: tuple[str, ...] = ()
    settings: Settings | EvidenceSettings | None = None  # of the model in force
    cost_blind: bool = False  # choose as if every expert cost the same
    rules: Rules = NO_RULES  # kept to whatever is known of a case
    loss: Mapping[str, float] | None = field(default=None, hash=False)  # how grave it is to miss an outcome, else 1
    in_flight: int = 1  # experts asked about a case at a time


@dataclass(frozen=True)
class Plan:
    """The names in force and the method they stand for."""

    method: Method
    name: str
    max_error: float | None
    preset: str | None
    model: str | None
    chooser: str
    schedule: str | None
    engine: str | None
    settings: Settings | EvidenceSettings | None


def plan(panel: Panel, options: Options, target: Target) -> Plan:
    """The method that options name, for a panel and a target.

    >>> panel = Panel(["no", "yes"], ["ann", "ben"])
    >>> plan(panel, Options("majority:1"), parse_target("consensus", panel)).chooser
    'panel'
    """
    options.rules.check(panel)
    if not isinstance(options.in_flight, int) or isinstance(options.in_flight, bool) or options.in_flight < 1:
        raise SettingsError(f"in_flight {options.in_flight!r} is out of range; expected a whole number of at least 1")
    stop = ErrorBelow(options.max_error, gravity=gravity_of(options.loss, target.outcomes))
    found = _by_name(panel, options, target, stop)
    method = replace(
        found.method,
        rules=options.rules,
        gravity=stop.gravity,
        in_flight=options.in_flight,
        cost_blind=options.cost_blind,
    )
    return replace(found, method=method)


def _by_name(panel: Panel, options: Options, target: Target, stop: ErrorBelow) -> Plan:
    kind, _, rest = options.method.partition(":")
    if kind == "bayes" and not options.method.endswith(":"):
        return _bayes(options, rest, stop)
    if kind == "infexp":
        return _infexp(options, target, rest, stop)
    if kind == "confusion":
        return _confusion(options, target, rest, stop)
    if kind == "majority" and rest:
        if not (rest.isascii() and rest.isdigit()) or int(rest) > len(panel.experts):
            raise SettingsError(
                f"method {options.method!r}: expected a whole number from 0 to {len(panel.experts)}, got {rest!r}"
            )
        return _counting(options, VotesSoFar(panel, on=True), VotesSeen(int(rest)), "panel", stop)
    if options.method == "until-determined":
        return _counting(options, VotesSoFar(panel), VotesSeen(None), "random", stop)
    if options.method == "all":
        return _counting(options, VotesSoFar(panel, on=True), VotesSeen(None), "panel", stop)
    if options.method == "classifier":
        return _counting(options, ClassifierAlone(panel), VotesSeen(0), "panel", stop)
    raise SettingsError(f"unknown method {options.method!r}; expected {METHODS}")


def _bayes(options: Options, named: str, stop: ErrorBelow) -> Plan:
    if named and options.preset and named != options.preset:
        raise SettingsError(f"method 'bayes:{named}' and preset {options.preset!r} name two presets; give one")
    name = named or options.preset or DEFAULT_PRESET
    preset = _one_of("preset", name, PRESETS)
    model, chooser = options.model or preset.model, options.chooser or preset.chooser
    schedule = options.schedule or preset.schedule
    settings = options.settings or _one_of("model", model, MODELS)()
    if not isinstance(settings, MODELS[model]):
        raise _of_another_model("the settings given are of", PRESETS[preset_of(settings)].model, model)
    if isinstance(settings, Settings):
        settings = _settings(settings, options.ablate)
    engine, learner = _learner(options, settings)
    part = _one_of("chooser", chooser, choosers(stop))
    method = Method(
        learner=learner,
        chooser=part,
        stopper=stop,
        schedule=_one_of("schedule", schedule, SCHEDULES),
        window=_window(options.window, settings),
    )
    return Plan(method, options.method, options.max_error, name, model, chooser, schedule, engine, settings)


def model_of(options: Options) -> str:
    """Name of the model behind a Bayesian method."""
    named = options.method.partition(":")[2] if options.method.startswith("bayes") else ""
    return options.model or _one_of("preset", named or options.preset or DEFAULT_PRESET, PRESETS).model


def read_settings(texts: Mapping[str, str], model: str | None = None) -> Settings | EvidenceSettings | None:
    """Settings from text, of a model or else of the one that has the first of them; None where there are none."""
    owners = {name: _model_with(name) for name in texts}
    if not owners:
        return None
    found = model or next(iter(owners.values())) or DEFAULT_MODEL
    kind = _one_of("model", found, MODELS)
    for name, own in owners.items():
        if own is not None and own != found:
            if model is None:
                raise SettingsError(f"settings {', '.join(owners)} are of two models; give those of one")
            raise _of_another_model(f"setting {name} is for", own, found)
    return kind().changed(texts)


def preset_of(settings: Settings | EvidenceSettings) -> str:
    """The preset whose model has such settings.

    >>> preset_of(Settings())
    'paper'
    """
    return next(name for name, preset in PRESETS.items() if isinstance(settings, MODELS[preset.model]))


def _model_with(setting: str) -> str | None:
    """The model that has a setting; no two have one of the same name."""
    return next((model for model, kind in MODELS.items() if setting in {own.name for own in fields(kind)}), None)


def _of_another_model(what: str, own: str, model: str) -> SettingsError:
    """What is said of something that only another model than the one in force can use."""
    preset = next(name for name, preset in PRESETS.items() if preset.model == own)
    return SettingsError(
        f"{what} model {own!r}, and model {model!r} is in force; take --preset {preset} or --model {own} "
        f"(in Python preset={preset!r} or model={own!r})"
    )


def with_shared(options: Options, shared: Options) -> Options:
    """Options of a Bayesian method with what it shares with others; settings of another model are left out.

    The preset is said in any case, and its chooser but for the paper's, which stays what it is: so a finished run keeps
    its meaning under another default.
    """
    preset = shared.preset or (None if ":" in options.method else DEFAULT_PRESET)
    named = preset or options.method.partition(":")[2]
    chooser = shared.chooser or (PRESETS[named].chooser if named in PRESETS and named != "paper" else None)
    given = replace(shared, method=options.method, max_error=options.max_error, preset=preset, chooser=chooser)
    if shared.settings is None or isinstance(shared.settings, MODELS[model_of(given)]):
        return given
    return replace(given, settings=None)


def _learner(options: Options, settings: Settings | EvidenceSettings) -> tuple[str | None, Learner]:
    """The sampler of the settings' model, by the engine that is named."""
    if isinstance(settings, Settings):
        engine = options.engine or "gibbs"
        return engine, _full_learner(settings, engine)
    for option, value in {"engine": options.engine, "ablate": options.ablate or None}.items():
        if value is not None:
            raise _of_another_model(f"option {option} is for", "full", "evidence")
    from quorate.models.evidence.learner import EvidenceLearner  # loads the compiler, which other methods do without

    return None, EvidenceLearner(settings)


def _counting(
    options: Options, predictor: VotesSoFar | ClassifierAlone, stopper: Stopper, order: str, stop: ErrorBelow
) -> Plan:
    """A method that counts votes; only where a model chooses the expert do the model's options apply."""
    chooser = options.chooser or order
    if chooser == "entropy" and isinstance(predictor, VotesSoFar):
        guide = _bayes(replace(options, method="bayes"), "", stop)
        learner = GuidedLearner(predictor, guide.method.learner)
        method = replace(guide.method, learner=learner, stopper=stopper)
        return replace(guide, method=method, name=options.method, max_error=None)
    part = _one_of(f"chooser for method {options.method!r}", chooser, orders())
    _refuse_options(options, "which has no model", schedule=options.schedule)
    method = Method(Unlearning(predictor), part, stopper, never_schedule)
    return Plan(method, options.method, None, None, None, chooser, None, None, None)


def _refuse_options(options: Options, why: str, schedule: str | None = None) -> None:
    """Options of the Bayesian model given to a method that has no use for them are an error, not passed over."""
    given = {
        "preset": options.preset,
        "model": options.model,
        "schedule": schedule,
        "window": options.window,
        "engine": options.engine,
        "ablate": options.ablate or None,
        "set": options.settings,
    }
    for option, value in given.items():
        if value is not None:
            raise SettingsError(f"option {option} does not apply to method {options.method!r}, {why}")


def _infexp(options: Options, target: Target, variant: str, stop: ErrorBelow) -> Plan:
    from quorate.baselines.infexp import InfexpLearner, InfexpOptions, every_twenty  # loads scipy's optimisers

    variants = {
        "": InfexpOptions(),
        "finite": InfexpOptions(pool="finite"),
        "exact": InfexpOptions(exact=True),
        "determined": InfexpOptions(update_only_when_determined=True),
    }
    chosen, schedule = _variant(options, variant, variants), options.schedule or "every-20"
    refit = _one_of("schedule for method 'infexp'", schedule, {"every-20": every_twenty, **SCHEDULES})
    known: dict[str, Chooser] = {"accuracy": EpsilonGreedy(), **orders()}
    # Its learner looks at every settled case, since accuracies are always counted; the schedule is for its parameters.
    return _rival(options, InfexpLearner(target, chosen, refit), known, every_schedule, schedule, stop)


def _confusion(options: Options, target: Target, variant: str, stop: ErrorBelow) -> Plan:
    from quorate.baselines.confusion import ConfusionLearner, ConfusionOptions  # loads scipy's optimisers

    variants = {"": ConfusionOptions(), "mean": ConfusionOptions(likelihood="mean")}
    chosen, schedule = _variant(options, variant, variants), options.schedule or "every"
    # Before anything is learned all experts tie: in panel order the first would be asked, and learned about, always.
    known: dict[str, Chooser] = {"entropy": TiesAtRandom(InformationGain()), **orders()}
    when = _one_of("schedule", schedule, SCHEDULES)
    return _rival(options, ConfusionLearner(target, chosen), known, when, schedule, stop)


def _variant(options: Options, name: str, variants: Mapping[str, Part]) -> Part:
    if options.method.endswith(":") or name not in variants:
        kind = options.method.partition(":")[0]
        known = " or ".join(f"{kind}:{variant}" if variant else kind for variant in variants)
        raise SettingsError(f"unknown method {options.method!r}; expected {known}")
    return variants[name]


def _rival(
    options: Options, learner: Learner, known: Mapping[str, Chooser], when: Schedule, schedule: str, stop: ErrorBelow
) -> Plan:
    """A rival of the paper: its own learner, the first of its choosers unless another is named."""
    _refuse_options(options, "which is not the Bayesian model")
    chooser = options.chooser or next(iter(known))
    part = _one_of(f"chooser for method {options.method!r}", chooser, known)
    # The rivals stop by their stated error alone, as published, however noisy it is.
    method = Method(learner, part, replace(stop, noise=None), when)
    return Plan(method, options.method, options.max_error, None, None, chooser, schedule, None, None)


def _full_learner(settings: Settings, engine: str) -> Learner:
    from quorate.models.full.learner import FullLearner  # loads the compiler, which other methods do without

    return FullLearner(settings, _one_of("engine", engine, ENGINES))


def _settings(settings: Settings, ablate: tuple[str, ...]) -> Settings:
    for part in ablate:
        if part not in ABLATIONS:
            raise SettingsError(f"cannot ablate {part!r}; expected {' or '.join(ABLATIONS)}")
    without = dict.fromkeys(ablate, False)
    return replace(
        settings,
        temperature=without.get("temperature", settings.temperature),
        correlations=without.get("correlations", settings.correlations),
    )


def _window(size: int | None, settings: Settings | EvidenceSettings) -> int | None:
    if size is not None and size < 1:
        raise SettingsError(f"window {size} is too small; expected a whole number of at least 1")
    if size is not None and isinstance(settings, EvidenceSettings) and size > settings.cases:
        raise SettingsError(
            f"window {size} is more than setting cases = {settings.cases}, the most that model 'evidence' learns from; "
            "give a smaller window or raise cases"
        )
    if size is None and isinstance(settings, EvidenceSettings):
        return settings.cases  # it learns from no more: the rest need not be sent to where it learns
    return size


def _one_of(kind: str, name: str, known: Mapping[str, Part]) -> Part:
    if name not in known:
        raise SettingsError(f"unknown {kind} {name!r}; expected {' or '.join(known)}")
    return known[name]


def read_target(target: str | Target | Callable[[Votes], Hashable], panel: Panel) -> Target:
    """A target from its name, from a function of the votes, or as it is."""
    if isinstance(target, str):
        return parse_target(target, panel)
    return FunctionTarget(target, panel) if callable(target) else target


def create_study(
    panel: Panel,
    *,
    name: str = "study",
    max_error: float = 0.01,
    target: str | Target | Callable[[Votes], Hashable] = "consensus",
    seed: int = 0,
    options: Options | None = None,
    journal: Journal | None = None,
    learned: Predictor | None = None,
) -> Study:
    """A new study, or one rebuilt from its journal: the same questions come out.

    `learned`, if it was kept, is what was in force at the journal's end; else all fits are run again.

    >>> panel = Panel(["normal", "abnormal"], ["ann", "ben", "cho"], ["densenet"])
    >>> study = create_study(panel, options=Options(method="until-determined"))
    >>> study.open("case-1", {"densenet": [0.2, 0.8]})
    >>> study.ask("case-1").reason
    'unsure'
    """
    aim = read_target(target, panel)
    chosen = plan(panel, replace(options or Options(), max_error=max_error), aim)
    if learned is not None and chosen.model is not None:
        _check_learned(learned, chosen.model)
    return Study(panel, target=aim, method=chosen.method, seed=seed, name=name, journal=journal, learned=learned)


def _check_learned(learned: Predictor, model: str) -> None:
    """Refuse what another model has learned: it would be in force until the next fit, and then be dropped."""
    from quorate.models.evidence.predictor import EvidencePredictor  # loads the compiler, which not all methods need
    from quorate.models.full.predictor import FullPredictor

    for own, kind in {"evidence": EvidencePredictor, "full": FullPredictor}.items():
        if isinstance(learned, kind) and own != model:
            raise _of_another_model("what was learned is of", own, model)
