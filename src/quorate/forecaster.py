"""PanelForecaster: the models with scikit-learn manners, for arrays instead of a live study."""

from __future__ import annotations

import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from quorate.assembly import DEFAULT_PRESET, Options, plan, read_target
from quorate.core.arrays import Bools, Floats, Ints
from quorate.core.case import Case, Row, probability_row
from quorate.core.choice import Choice
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.history import History
from quorate.core.panel import Panel
from quorate.core.protocols import Target
from quorate.core.settings import EvidenceSettings, Settings, settings_from
from quorate.errors import InputError, SettingsError, StudyError
from quorate.models.packed import as_array, pack, reading, unpack
from quorate.study.seeds import generator

if TYPE_CHECKING:
    from xarray import DataTree

    from quorate.models.evidence.predictor import EvidencePredictor
    from quorate.models.full.predictor import FullPredictor

    Modelled = FullPredictor | EvidencePredictor

FORMAT = 2


class UnhealthyFitWarning(UserWarning):
    """A posterior did not pass its health gate: its forecasts say so and should settle nothing."""


class OldCasesWarning(UserWarning):
    """There were more cases than the settings let a model learn from: the first of them were left out."""


class PanelForecaster:
    """Forecasts a panel's votes and their target from classifiers' probabilities and the votes seen.

    Votes are arrays (N, H) of class indices with -1 or NaN where there is none; probabilities are (N, K) for one
    classifier or (N, M, K) for several, a row of NaN where one is missing.
    """

    def __init__(
        self,
        *,
        target: str = "consensus",
        preset: str = DEFAULT_PRESET,
        model: str | None = None,
        engine: str | None = None,
        settings: Settings | EvidenceSettings | None = None,
        random_state: int = 0,
    ) -> None:
        self.target = target
        self.preset = preset
        self.model = model
        self.engine = engine
        self.settings = settings
        self.random_state = random_state

    def get_params(self, *, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments by name."""
        del deep  # no argument is itself an estimator
        names = ("target", "preset", "model", "engine", "settings", "random_state")
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> PanelForecaster:
        """Change some of the constructor's arguments."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise SettingsError(f"no parameter {name!r}; expected one of {', '.join(known)}")
            setattr(self, name, value)
        return self

    def fit(self, votes: ArrayLike, probabilities: ArrayLike) -> PanelForecaster:
        """Learn who agrees with whom from recorded votes (N, H) and probabilities, the most recent case last."""
        p = _probabilities(probabilities)
        y = _votes(votes, rows=len(p), classes=p.shape[2])
        self._panel = Panel(
            [str(k) for k in range(p.shape[2])],
            [f"expert_{h + 1}" for h in range(y.shape[1])],
            [f"classifier_{m + 1}" for m in range(p.shape[1])],
        )
        self._target: Target = read_target(self.target, self._panel)
        options = Options(preset=self.preset, model=self.model, engine=self.engine, settings=self.settings)
        chosen = plan(self._panel, options, self._target)
        cases = tuple(_case(str(n), p[n], y[n]) for n in range(len(p)))
        learner, rng = chosen.method.learner, generator(self.random_state, "fit", 1)
        self._adopt(learner.update(rng, History(self._panel, cases), None))
        if not self.health_.healthy:
            warnings.warn("; ".join(self.health_.reasons), UnhealthyFitWarning, stacklevel=2)
        if isinstance(chosen.settings, EvidenceSettings) and len(cases) > chosen.settings.cases:
            told = f"learned from the last {chosen.settings.cases} of {len(cases)} cases; raise setting cases for more"
            warnings.warn(told, OldCasesWarning, stacklevel=2)
        return self

    def _adopt(self, predictor: object) -> None:
        from quorate.models.evidence.predictor import EvidencePredictor
        from quorate.models.full.predictor import FullPredictor

        if not isinstance(predictor, FullPredictor | EvidencePredictor):
            raise SettingsError(f"preset {self.preset!r} does not give a posterior that PanelForecaster can hold")
        self._predictor: Modelled | None = predictor
        self.outcomes_ = self._target.outcomes
        self.health_: Health = predictor.health

    @property
    def posterior_(self) -> DataTree:
        """Posterior draws as an ArviZ DataTree."""
        from quorate.models.evidence.draws import to_datatree
        from quorate.models.full.predictor import FullPredictor

        found = self._fitted()
        if isinstance(found, FullPredictor):
            return found.draws.to_datatree(self._panel)
        return to_datatree(found.particles, self._panel)

    def _fitted(self) -> Modelled:
        predictor: Modelled | None = getattr(self, "_predictor", None)
        if predictor is None:
            raise StudyError("this PanelForecaster is not fitted yet; call fit(votes, probabilities) first")
        return predictor

    def predict_proba(self, probabilities: ArrayLike, votes_seen: ArrayLike | None = None) -> Floats:
        """Probability of each outcome given the votes seen: shape (N, J), columns as in `outcomes_`."""
        return np.array([forecast.values for _, forecast in self._forecasts(probabilities, votes_seen)])

    def predict(self, probabilities: ArrayLike, votes_seen: ArrayLike | None = None) -> list[str]:
        """The most probable outcome of each case."""
        return [forecast.outcome for _, forecast in self._forecasts(probabilities, votes_seen)]

    def predict_votes(self, probabilities: ArrayLike, votes_seen: ArrayLike | None = None) -> Floats:
        """How each expert would vote: shape (N, H, K), 1 at a vote that was seen."""
        experts, classes = self._fitted().panel.experts, len(self._panel.classes)
        result = []
        for case, forecast in self._forecasts(probabilities, votes_seen):
            rows = np.zeros((len(experts), classes))
            for h, name in enumerate(experts):
                seen = case.voted(h)
                rows[h] = forecast.joint[name].sum(axis=1) if seen is None else np.eye(classes)[seen]
            result.append(rows)
        return np.array(result)

    def query(
        self, probabilities: ArrayLike, votes_seen: ArrayLike | None = None, available: ArrayLike | None = None
    ) -> tuple[Ints, Floats]:
        """Whom to ask next in each case, and the gain of each expert in nats.

        `available` (N, H) says who may be asked now (default: all who have not voted); -1 where nobody is worth asking.
        """
        from quorate.policy.information import InformationGain

        chooser = InformationGain()
        pairs = self._forecasts(probabilities, votes_seen)
        may = _available(available, (len(pairs), len(self._panel.experts)))
        asked, gains = np.full(len(pairs), -1), np.full(may.shape, np.nan)
        for n, (case, forecast) in enumerate(pairs):
            candidates = tuple(name for name in forecast.candidates if may[n, self._panel.expert(name)])
            if candidates:
                score = chooser.score(np.random.default_rng(0), Choice(case, forecast, candidates))
                for name, gain in score.items():
                    gains[n, self._panel.expert(name)] = gain
                asked[n] = int(np.nanargmax(gains[n]))  # the first of the panel where several lead
        return asked, gains

    def _forecasts(self, probabilities: ArrayLike, votes_seen: ArrayLike | None) -> list[tuple[Case, Forecast]]:
        predictor = self._fitted()
        p = _probabilities(probabilities, like=self._panel)
        shape = (len(p), len(self._panel.experts))
        y = np.full(shape, -1) if votes_seen is None else _votes(votes_seen, rows=len(p), classes=p.shape[2])
        if y.shape != shape:
            raise InputError(f"votes_seen has shape {y.shape}, expected {shape}: one column an expert")
        cases = [_case(str(n), p[n], y[n]) for n in range(len(p))]
        rngs = (generator(self.random_state, "forecast", case.key) for case in cases)
        return [(case, predictor.forecast(rng, case, self._target)) for case, rng in zip(cases, rngs, strict=True)]

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one file, without pickle."""
        from quorate.models.full.predictor import FullPredictor
        from quorate.models.stored import predictor_to_npz

        predictor = self._fitted()
        if isinstance(predictor, FullPredictor):
            predictor = replace(predictor, population=None)  # forecasts need no chains
        about = {
            "format": FORMAT,
            "params": {**self.get_params(), "settings": self.settings and asdict(self.settings)},
            "panel": asdict(self._panel),
        }
        whole = Path(path)
        part = whole.with_name(f".{whole.name}.part")  # a kill leaves the old file or the new one
        part.write_bytes(pack(about, {"learned": as_array(predictor_to_npz(predictor))}))
        part.replace(whole)

    @classmethod
    def load(cls, path: str | Path) -> PanelForecaster:
        """A fitted model from a file that `save` wrote."""
        from quorate.models.stored import predictor_from_npz

        if not Path(path).exists():
            raise InputError(f"{path}: no such file; expected one that PanelForecaster.save wrote")
        with reading(f"{path}: not a file that PanelForecaster.save wrote"):
            about, arrays = unpack(Path(path).read_bytes(), FORMAT)
            params, panel = about["params"], Panel(**about["panel"])
            model = cls(**{**params, "settings": params["settings"] and settings_from(params["settings"])})
            model._panel = panel
            model._target = read_target(model.target, panel)
            model._adopt(predictor_from_npz(arrays["learned"].tobytes(), panel))
        return model


def _probabilities(given: ArrayLike, like: Panel | None = None) -> Floats:
    p = np.asarray(given, dtype=np.float64)
    p = p[:, None, :] if p.ndim == 2 else p
    if p.ndim != 3 or p.shape[2] < 2:
        raise InputError(
            f"probabilities have shape {np.shape(given)}, expected (N, K) or (N, M, K) with K of 2 or more"
        )
    if like is not None and p.shape[1:] != (len(like.classifiers), len(like.classes)):
        expected = (len(like.classifiers), len(like.classes))
        raise InputError(
            f"probabilities have shape (N, {p.shape[1]}, {p.shape[2]}), the model was fitted on {expected}"
        )
    return p


def _votes(given: ArrayLike, *, rows: int, classes: int) -> Ints:
    y = np.asarray(given, dtype=np.float64)
    if y.ndim != 2 or len(y) != rows:
        raise InputError(f"votes have shape {y.shape}, expected ({rows}, H): one row a case, one column an expert")
    y = np.where(np.isnan(y), -1, y)
    bad = np.argwhere((y != np.round(y)) | (y < -1) | (y >= classes))
    if len(bad):
        n, h = bad[0]
        raise InputError(f"vote {y[n, h]:g} at row {n}, column {h} is no class; expected -1, NaN or 0 to {classes - 1}")
    return y.astype(np.int64)


def _available(given: ArrayLike | None, shape: tuple[int, int]) -> Bools:
    may = np.ones(shape, dtype=bool) if given is None else np.asarray(given, dtype=bool)
    if may.shape != shape:
        raise InputError(f"available has shape {may.shape}, expected {shape}: who may be asked now")
    return may


def _case(key: str, p: Floats, y: Ints) -> Case:
    """A case from a row of each array; everyone belongs to its panel."""
    rows: list[Row] = []
    for m, row in enumerate(p):
        missing = bool(np.isnan(row).all())
        what = f"row {key}, classifier {m + 1}"
        rows.append(None if missing else probability_row(row.tolist(), classes=len(row), what=what))
    votes = tuple((h, int(vote)) for h, vote in enumerate(y) if vote >= 0)
    return Case(key, tuple(rows), (True,) * len(y), votes)
