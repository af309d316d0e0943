"""What was learned as bytes, so that a study goes on in another process exactly where it stopped."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from typing import Any
from zipfile import BadZipFile

import numpy as np

from quorate.core.health import Health
from quorate.core.panel import Panel
from quorate.core.settings import Settings
from quorate.errors import InputError
from quorate.models.draws import Draws
from quorate.models.full.gibbs import Chain, Chains
from quorate.models.full.population import Cases, Population, Update
from quorate.models.full.predictor import FullPredictor
from quorate.models.full.state import State, Widths, make_data, make_prior

FORMAT = 1


def predictor_to_npz(predictor: FullPredictor) -> bytes:
    """A predictor with its settings, health, draws and chains as the bytes of an .npz file."""
    about = {"format": FORMAT, "settings": asdict(predictor.settings), "health": asdict(predictor.health)}
    parts: dict[str, Any] = {"draws": _as_array(predictor.draws.to_npz())}
    if predictor.population is not None:
        parts["population"] = _as_array(population_to_npz(predictor.population))
    out = io.BytesIO()
    np.savez(out, about=_as_array(json.dumps(about).encode()), **parts)
    return out.getvalue()


def predictor_from_npz(content: bytes, panel: Panel) -> FullPredictor:
    """The predictor that `predictor_to_npz` wrote, for its panel; nothing in the bytes is ever run."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            about = _about(arrays["about"])
            draws = Draws.from_npz(arrays["draws"].tobytes())
            settings, known = Settings(**about["settings"]), about["health"]
            chains = population_from_npz(arrays["population"].tobytes(), settings) if "population" in arrays else None
    except (KeyError, TypeError, ValueError, OSError, EOFError, BadZipFile) as error:
        raise InputError(f"these bytes are nothing that quorate has learned: {error}") from None
    shape = (len(panel.classes), len(panel.classifiers), len(panel.experts))
    if shape != (draws.classes, draws.classifiers, draws.experts):
        raise InputError(
            f"these bytes are of {draws.classes} classes, {draws.classifiers} classifiers and {draws.experts} experts; "
            "the panel has {}, {} and {}".format(*shape)
        )
    health = Health(**{**known, "reasons": tuple(known["reasons"])})
    return FullPredictor(panel, settings, draws, health, chains)


def _as_array(content: bytes) -> Any:
    return np.frombuffer(content, dtype=np.uint8)


def _about(array: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(array.tobytes())
    if found["format"] != FORMAT:
        raise InputError(f"bytes of format {found['format']} cannot be read; expected format {FORMAT}")
    return found


def population_to_npz(population: Population) -> bytes:
    """The chains with their generators, cases and recent draws as the bytes of an .npz file."""
    cases, chains = population.cases, population.chains.chains
    about = {
        "format": FORMAT,
        "classes": cases.classes,
        "keys": cases.keys,
        "refused": population.chains.refused,
        "changed": population.changed,
        "recent": [(update.behind, update.refused) for update in population.recent],
        "generators": [chain.rng.bit_generator.state for chain in chains],
    }
    arrays: dict[str, Any] = {"log_ratios": cases.log_ratios, "votes": cases.votes}
    for name in State._fields:
        arrays[f"state_{name}"] = np.stack([getattr(chain.state, name) for chain in chains])
    for name in Widths._fields:
        arrays[f"width_{name}"] = np.stack([getattr(chain.widths, name) for chain in chains])
    for number, update in enumerate(population.recent):
        arrays[f"draws_{number}"] = _as_array(update.draws.to_npz())
    out = io.BytesIO()
    np.savez_compressed(out, about=_as_array(json.dumps(about).encode()), **arrays)
    return out.getvalue()


def population_from_npz(content: bytes, settings: Settings) -> Population:
    """The population that `population_to_npz` wrote, under the settings it had; nothing in the bytes is ever run."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            about = _about(arrays["about"])
            cases = Cases(tuple(about["keys"]), arrays["log_ratios"], arrays["votes"], about["classes"])
            states = [arrays[f"state_{name}"] for name in State._fields]
            widths = [arrays[f"width_{name}"] for name in Widths._fields]
            recent = tuple(
                Update(Draws.from_npz(arrays[f"draws_{number}"].tobytes()), behind, refused)
                for number, (behind, refused) in enumerate(about["recent"])
            )
    except (KeyError, ValueError, OSError, EOFError, BadZipFile) as error:
        raise InputError(f"these bytes are not chains of quorate: {error}") from None
    chains = tuple(
        Chain(_generator(state), State(*(part[c] for part in states)), Widths(*(part[c] for part in widths)))
        for c, state in enumerate(about["generators"])
    )
    data = make_data(cases.log_ratios, cases.votes, cases.classes)
    return Population(
        cases, Chains(data, make_prior(settings), settings, chains, about["refused"]), recent, about["changed"]
    )


def _generator(state: dict[str, object]) -> np.random.Generator:
    made = np.random.Generator(np.random.PCG64())
    made.bit_generator.state = state
    return made
