"""PanelForecaster: arrays in, arrays out, scikit-learn manners, no pickle."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from quorate import PanelForecaster, Settings, UnhealthyFitWarning
from quorate.assembly import DEFAULT_PRESET
from quorate.core.settings import EvidenceSettings
from quorate.data.synthetic import simulate
from quorate.errors import InputError, SettingsError, StudyError
from quorate.forecaster import OldCasesWarning

SETTINGS = Settings(chains=2, warmup=100, draws=200, extensions=2, latents=4000, max_rhat=1.5, min_ess=10.0)
TABLE = simulate(np.random.default_rng(0), experts=3, classes=2, cases=25, skill=0.9)
VOTES, P = TABLE.votes, TABLE.probabilities
PANEL = {"classes": ["0", "1"], "experts": ["a", "b", "c"], "classifiers": ["m"]}


@pytest.fixture(scope="module")
def model() -> PanelForecaster:
    return PanelForecaster(preset="paper", settings=SETTINGS, random_state=1).fit(VOTES, P)


@pytest.fixture(scope="module")
def evidence() -> PanelForecaster:
    return PanelForecaster(settings=EvidenceSettings(particles=64), random_state=1).fit(VOTES, P)


@pytest.mark.parametrize("name", ["model", "evidence"])
def test_probabilities_and_votes_have_their_shapes_and_limits(name: str, request: pytest.FixtureRequest) -> None:
    model: PanelForecaster = request.getfixturevalue(name)
    seen = VOTES[:5].astype(float)
    seen[0] = np.nan
    seen[1, 1:] = -1
    proba = model.predict_proba(P[:5], seen)
    assert proba.shape == (5, 2)
    assert np.allclose(proba.sum(axis=1), 1)
    assert 0 < proba[0, 0] < 1
    for n in range(2, 5):  # every vote is in: the consensus itself
        assert proba[n].tolist() == np.eye(2)[np.bincount(VOTES[n], minlength=2).argmax()].tolist()
    votes = model.predict_votes(P[:5], seen)
    assert votes.shape == (5, 3, 2)
    assert np.allclose(votes.sum(axis=2), 1)
    assert votes[1, 0].tolist() == np.eye(2)[VOTES[1, 0]].tolist()
    assert model.predict(P[2:5], seen[2:5]) == [model.outcomes_[row.argmax()] for row in proba[2:5]]


@pytest.mark.parametrize("name", ["model", "evidence"])
def test_a_query_names_whom_to_ask_and_what_each_would_tell(name: str, request: pytest.FixtureRequest) -> None:
    model: PanelForecaster = request.getfixturevalue(name)
    seen = np.full((3, 3), -1)
    seen[1] = VOTES[1]
    available = np.ones((3, 3), dtype=bool)
    available[2, :2] = False
    asked, gains = model.query(P[:3], seen, available)
    assert asked[0] == np.nanargmax(gains[0])
    assert asked[1] == -1
    assert np.isnan(gains[1]).all()
    assert asked[2] == 2
    assert np.isnan(gains[2, :2]).all()
    assert (gains[0] >= 0).all()


@pytest.mark.parametrize(("name", "preset", "parameter"), [("model", "paper", "tau"), ("evidence", "quorate", "trust")])
def test_a_model_is_saved_and_loaded_without_pickle(
    name: str, preset: str, parameter: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    model: PanelForecaster = request.getfixturevalue(name)
    path = tmp_path / "model.npz"
    model.save(path)
    again = PanelForecaster.load(path)
    assert again.get_params() == model.get_params()
    assert again.preset == preset  # as it was, whatever the default is by now
    assert np.array_equal(again.predict_proba(P[:4]), model.predict_proba(P[:4]))
    assert again.health_ == model.health_
    assert np.array_equal(
        again.posterior_["posterior"][parameter].to_numpy(), model.posterior_["posterior"][parameter].to_numpy()
    )
    whole = path.read_bytes()
    for damaged in (b"not a model", whole[:1000], whole[:500] + b"x" * 200 + whole[700:]):
        (tmp_path / "damaged.npz").write_bytes(damaged)
        with pytest.raises(InputError, match=r"damaged\.npz|nothing that quorate has learned"):
            PanelForecaster.load(tmp_path / "damaged.npz")
    np.save(tmp_path / "other.npz", np.arange(3))
    (tmp_path / "other.npz.npy").rename(tmp_path / "other.npz")
    with pytest.raises(InputError, match=r"not a file that PanelForecaster\.save wrote"):
        PanelForecaster.load(tmp_path / "other.npz")
    with pytest.raises(InputError, match="no such file"):
        PanelForecaster.load(tmp_path / "absent.npz")


def test_the_posterior_is_an_arviz_tree(model: PanelForecaster) -> None:
    posterior = model.posterior_["posterior"]
    assert posterior["omega"].dims == ("chain", "draw", "agent", "class", "agent_other", "class_other")
    assert posterior["agent"].to_numpy().tolist() == ["classifier_1", "expert_1", "expert_2", "expert_3"]
    assert posterior["tau"].shape == (2, 200)


def test_the_posterior_of_shared_evidence_has_plain_names(evidence: PanelForecaster) -> None:
    posterior = evidence.posterior_["posterior"]
    assert posterior["attention"].dims == ("chain", "draw", "expert", "class")
    assert posterior["trust"].shape == (1, 64, 1, 2)
    assert posterior["expert"].to_numpy().tolist() == ["expert_1", "expert_2", "expert_3"]


def test_the_model_is_that_of_the_preset_or_the_one_named() -> None:
    assert PanelForecaster().preset == DEFAULT_PRESET == "quorate"
    assert "trust" in PanelForecaster(settings=EvidenceSettings(particles=64)).fit(VOTES, P).posterior_["posterior"]
    named = PanelForecaster(preset="paper", model="evidence", settings=EvidenceSettings(particles=64)).fit(VOTES, P)
    assert "residual" in named.posterior_["posterior"]
    with pytest.raises(SettingsError, match=r"of model 'full', and model 'evidence' is in force; .*preset='paper'"):
        PanelForecaster(settings=SETTINGS).fit(VOTES, P)
    with pytest.raises(SettingsError, match=r"option engine is for model 'full', .*preset='paper' or model='full'"):
        PanelForecaster(engine="nuts").fit(VOTES, P)


def test_a_file_of_another_format_is_named(model: PanelForecaster, tmp_path: Path) -> None:
    about = json.dumps({"format": 1, "params": model.get_params() | {"settings": None}, "panel": PANEL})
    np.savez(tmp_path / "old.npz", about=np.frombuffer(about.encode(), dtype=np.uint8))
    with pytest.raises(InputError, match=r"old\.npz: .* format 1, this version of quorate reads 2"):
        PanelForecaster.load(tmp_path / "old.npz")


def test_parameters_in_scikit_learn_manners(model: PanelForecaster) -> None:
    copy = PanelForecaster(**model.get_params())
    assert copy.get_params() == model.get_params()
    assert copy.set_params(random_state=9).random_state == 9
    with pytest.raises(SettingsError, match="no parameter 'depth'"):
        copy.set_params(depth=3)
    with pytest.raises(StudyError, match="not fitted yet"):
        copy.predict_proba(P)


def test_another_target() -> None:
    model = PanelForecaster(target="any:1", settings=EvidenceSettings(particles=64)).fit(VOTES, P[:, 0])
    proba = model.predict_proba(P[:2, 0], np.array([[1, -1, -1], [0, 0, -1]]))
    assert model.outcomes_ == ("no", "yes")
    assert proba[0].tolist() == [0.0, 1.0]
    assert 0 < proba[1, 1] < 1


def test_an_unhealthy_fit_warns() -> None:
    strict = Settings(chains=2, warmup=0, draws=4, extensions=0, min_ess=1e6)
    with pytest.warns(UnhealthyFitWarning, match="effective sample size"):
        model = PanelForecaster(preset="paper", settings=strict).fit(VOTES, P)
    assert not model.health_.healthy


def test_cases_that_are_left_out_are_told() -> None:
    few = EvidenceSettings(particles=64, cases=10)
    with pytest.warns(OldCasesWarning, match="learned from the last 10 of 25 cases; raise setting cases for more"):
        model = PanelForecaster(preset="quorate", settings=few, random_state=1).fit(VOTES, P)
    alone = PanelForecaster(preset="quorate", settings=few, random_state=1).fit(VOTES[-10:], P[-10:])
    assert model.health_.healthy
    assert np.array_equal(
        model.posterior_["posterior"]["lapse"].to_numpy(), alone.posterior_["posterior"]["lapse"].to_numpy()
    )


@pytest.mark.parametrize(
    ("votes", "p", "message"),
    [
        (VOTES[:3], P, r"votes have shape \(3, 3\), expected \(25, H\)"),
        (VOTES + 0.5, P, "is no class; expected -1, NaN or 0 to 1"),
        (VOTES + 7, P, "is no class"),
        (VOTES, P[:, 0, 0], "expected \\(N, K\\)"),
        (VOTES, P * 2, "row 0, classifier 1: "),
    ],
)
def test_bad_arrays_are_named(votes: np.ndarray, p: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        PanelForecaster().fit(votes, p)


def test_arrays_of_another_panel_are_refused(model: PanelForecaster) -> None:
    with pytest.raises(InputError, match="the model was fitted on"):
        model.predict_proba(np.full((2, 3), 1 / 3))
    with pytest.raises(InputError, match="votes_seen has shape"):
        model.predict_proba(P[:2], np.full((2, 5), -1))
    with pytest.raises(InputError, match="available has shape"):
        model.query(P[:2], None, np.ones((2, 5), dtype=bool))
