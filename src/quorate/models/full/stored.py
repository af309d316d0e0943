"""What was learned as bytes, so that a study goes on in another process exactly where it stopped."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from quorate.core.panel import Panel
from quorate.core.settings import Settings
from quorate.models.draws import Draws
from quorate.models.full.gibbs import Chain, Chains
from quorate.models.full.population import Cases, Population, Update
from quorate.models.full.predictor import FullPredictor
from quorate.models.full.state import State, Widths, make_data, make_prior
from quorate.models.packed import UNLEARNED, as_array, health_of, pack, panel_of, reading, unpack

FORMAT = 1


def predictor_to_npz(predictor: FullPredictor) -> bytes:
    """A predictor with its settings, health, draws and chains as the bytes of an .npz file."""
    about = {
        "format": FORMAT,
        "model": "full",
        "settings": asdict(predictor.settings),
        "health": asdict(predictor.health),
        "rung": predictor.rung,
    }
    parts: dict[str, Any] = {"draws": as_array(predictor.draws.to_npz())}
    if predictor.population is not None:
        parts["population"] = as_array(population_to_npz(predictor.population))
    return pack(about, parts)


def predictor_from_npz(content: bytes, panel: Panel) -> FullPredictor:
    """The predictor that `predictor_to_npz` wrote, for its panel; nothing in the bytes is ever run."""
    with reading(UNLEARNED):
        about, arrays = unpack(content, FORMAT)
        draws = Draws.from_npz(arrays["draws"].tobytes())
        settings, health = Settings(**about["settings"]), health_of(about["health"])
        chains = population_from_npz(arrays["population"].tobytes(), settings) if "population" in arrays else None
        rung = int(about["rung"])
    then = panel_of(panel, draws.classes, draws.classifiers, draws.experts)
    return FullPredictor(then, settings, draws, health, chains, rung)


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
        arrays[f"draws_{number}"] = as_array(update.draws.to_npz())
    return pack(about, arrays)


def population_from_npz(content: bytes, settings: Settings) -> Population:
    """The population that `population_to_npz` wrote, under the settings it had; nothing in the bytes is ever run."""
    with reading("these bytes are not chains of quorate"):
        about, arrays = unpack(content, FORMAT)
        cases = Cases(tuple(about["keys"]), arrays["log_ratios"], arrays["votes"], about["classes"])
        states = [arrays[f"state_{name}"] for name in State._fields]
        widths = [arrays[f"width_{name}"] for name in Widths._fields]
        recent = tuple(
            Update(Draws.from_npz(arrays[f"draws_{number}"].tobytes()), behind, refused)
            for number, (behind, refused) in enumerate(about["recent"])
        )
        chains = tuple(
            Chain(_generator(state), State(*(part[c] for part in states)), Widths(*(part[c] for part in widths)))
            for c, state in enumerate(about["generators"])
        )
        data = make_data(cases.log_ratios, cases.votes, cases.classes)
        whole = Chains(data, make_prior(settings), settings, chains, about["refused"])
        changed = int(about["changed"])
    return Population(cases, whole, recent, changed)


def _generator(state: dict[str, object]) -> np.random.Generator:
    made = np.random.Generator(np.random.PCG64())
    made.bit_generator.state = state
    return made
