"""Every number a study can be tuned by, with the paper's values as defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from quorate.errors import SettingsError

RANGES = {
    "sigma_mu": (1e-3, 1e3),
    "sigma_sigma": (1e-2, 1e3),  # well above the floor of the scales
    "eta": (0.05, 1e3),
    "sigma_tau": (1e-3, 1e3),  # well above the floor of the temperature
    "clip": (1, 300),
    "chains": (2, 256),
    "warmup": (0, 10**6),
    "draws": (4, 10**6),
    "extensions": (0, 100),
    "population": (4, 1024),
    "latents": (1, 10**7),
    "max_rhat": (1.0001, 100),
    "min_ess": (1e-9, 1e9),
}
"""Smallest and largest value of each setting that is a number."""

EVIDENCE_RANGES = {
    **dict.fromkeys(("sigma", "bend", "leaning", "attention", "residual", "missing"), (1e-3, 1e3)),
    **dict.fromkeys(("trust_sd", "sigma_sd", "bend_sd", "leaning_sd", "attention_sd", "residual_sd"), (0, 10)),
    **dict.fromkeys(("bias_sd", "class_sd", "lapse_sd", "missing_sd"), (0, 10)),
    "lapse": (1e-9, 0.5),
    "particles": (64, 4096),  # with half of them effective a forecast must still be able to pass its gate
    "nodes": (16, 4096),
    "cases": (10, 10**6),
    "panels": (1000, 10**7),  # the same
}
"""The same of the shared-evidence model."""


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters of the paper's model (appendix D) and the effort spent on its posterior.

    >>> Settings().changed({"sigma_mu": "0.3"}).sigma_mu
    0.3
    """

    sigma_mu: float = 0.1  # sd of the normal prior on the means of the log-ratios
    sigma_sigma: float = 1.0  # scale of the half-normal prior on their standard deviations
    eta: float = 0.75  # LKJ concentration of their correlations
    sigma_tau: float = 0.4  # scale of the half-normal prior on the temperature
    temperature: bool = True  # False: votes follow the latent probabilities themselves
    correlations: bool = True  # False: every log-ratio is independent of the others
    clip: float = 20.0  # classifiers' log-ratios are kept within this distance of 0, on both sides
    chains: int = 4
    warmup: int = 200  # sweeps thrown away in each chain
    draws: int = 500  # sweeps kept in each chain
    extensions: int = 6  # how often a fit that fails its health gate goes on for as many sweeps again
    population: int = 32  # chains that are carried through a study
    latents: int = 16_000  # latent draws behind one forecast, over all posterior draws
    max_rhat: float = 1.05  # health gate of a fit: largest R-hat
    min_ess: float = 100.0  # health gate of a fit: smallest effective sample size

    def __post_init__(self) -> None:
        _check(self, RANGES)

    def times(self, factor: int, name: str) -> Settings:
        """These settings with one whole number so many times as large, within its range.

        >>> Settings().times(4, "draws").draws
        2000
        """
        return self.changed({name: str(min(factor * int(getattr(self, name)), int(RANGES[name][1])))})

    def changed(self, texts: Mapping[str, str]) -> Settings:
        """These settings with some of them read from text, as `--set name=value` gives them."""
        return replace(self, **_values(self, texts))


@dataclass(frozen=True)
class EvidenceSettings:
    """Medians and spreads of the shared-evidence model's parameters, and the effort spent on its posterior.

    Spreads of what cannot be negative are those of its logarithm.

    >>> EvidenceSettings().changed({"particles": "256"}).particles
    256
    """

    trust_sd: float = 1.0  # spread of how much a classifier's score counts, about 1
    sigma: float = 3.0  # what experts see beyond the classifiers
    sigma_sd: float = 0.7
    bend: float = 2.0  # scores beyond it count less and less
    bend_sd: float = 1.0
    leaning: float = 0.5  # scale of the experts' own liking for a class
    leaning_sd: float = 0.5
    attention: float = 0.3  # scale of the differences in how much experts go by the evidence
    attention_sd: float = 0.5
    residual: float = 1.0  # scale of what only some experts see, or see the other way
    residual_sd: float = 0.5
    bias_sd: float = 1.0  # spread of all experts' liking for a class
    class_sd: float = 0.3  # spread between classes of trust, of sigma and of each expert's attention
    lapse: float = 0.01  # probability of a vote at random
    lapse_sd: float = 1.0  # spread of its logit
    missing: float = 2.0  # how many times as much experts see beyond where no classifier is there
    missing_sd: float = 0.5
    particles: int = 256
    nodes: int = 64  # points that the evidence of a case is integrated over, with more than two classes
    cases: int = 2000  # most recent cases that are learned from
    panels: int = 8000  # sampled votes behind a forecast where the panel is too large for a table

    def __post_init__(self) -> None:
        _check(self, EVIDENCE_RANGES)

    def changed(self, texts: Mapping[str, str]) -> EvidenceSettings:
        """These settings with some of them read from text, as `--set name=value` gives them."""
        return replace(self, **_values(self, texts))


def settings_from(values: Mapping[str, Any]) -> Settings | EvidenceSettings:
    """The settings that have these names.

    >>> settings_from({"particles": 64}).changed({"nodes": "256"}) == EvidenceSettings(particles=64, nodes=256)
    True
    """
    kinds: tuple[type[Settings], type[EvidenceSettings]] = (Settings, EvidenceSettings)
    for kind in kinds:
        if {field.name for field in fields(kind)} >= set(values):
            return kind(**values)
    raise SettingsError(f"no model is tuned by {', '.join(values)}")


def _check(settings: Settings | EvidenceSettings, ranges: Mapping[str, tuple[float, float]]) -> None:
    for name, (least, most) in ranges.items():
        value = getattr(settings, name)
        if not least <= value <= most:  # NaN fails too
            raise SettingsError(f"setting {name} = {value:g} is out of range; expected {least:g} to {most:g}")


def _values(settings: Settings | EvidenceSettings, texts: Mapping[str, str]) -> dict[str, Any]:
    """Values of some settings from text, each of its field's own type."""
    kinds = {field.name: str(field.type) for field in fields(settings)}
    for name in texts:
        if name not in kinds:
            raise SettingsError(f"no setting {name!r}; the settings are {', '.join(kinds)}")
    return {name: _read(name, text, kinds[name]) for name, text in texts.items()}


def _read(name: str, text: str, kind: str) -> float | int | bool:
    expected = {"float": "a number", "int": "a whole number", "bool": "true or false"}[kind]
    try:
        if kind == "bool":
            return {"true": True, "false": False}[text.strip().lower()]
        return int(text) if kind == "int" else float(text)
    except (KeyError, ValueError):
        raise SettingsError(f"setting {name} = {text!r}: expected {expected}") from None
