"""Every number a study can be tuned by, with the paper's values as defaults."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from quorate.errors import SettingsError


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
    extensions: int = 3  # how often a fit that fails its health gate goes on for as many sweeps again
    latents: int = 16_000  # latent draws behind one forecast, over all posterior draws
    max_rhat: float = 1.05  # health gate of a fit: largest R-hat
    min_ess: float = 100.0  # health gate of a fit: smallest effective sample size

    def __post_init__(self) -> None:
        for name in ("sigma_mu", "sigma_sigma", "eta", "sigma_tau", "clip", "min_ess"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise SettingsError(f"setting {name} = {value:g} is out of range; expected a number above 0")
        for name, least in (("chains", 2), ("warmup", 0), ("draws", 4), ("extensions", 0), ("latents", 1)):
            if getattr(self, name) < least:
                raise SettingsError(f"setting {name} = {getattr(self, name)} is too small; expected {least} or more")
        if not self.max_rhat > 1.0:
            raise SettingsError(f"setting max_rhat = {self.max_rhat:g} is out of range; expected a number above 1")

    def changed(self, texts: Mapping[str, str]) -> Settings:
        """These settings with some of them read from text, as `--set name=value` gives them."""
        kinds = {field.name: field.type for field in fields(self)}
        values: dict[str, float | int | bool] = {}
        for name, text in texts.items():
            if name not in kinds:
                raise SettingsError(f"no setting {name!r}; the settings are {', '.join(kinds)}")
            values[name] = _read(name, text, str(kinds[name]))
        return replace(self, **values)  # type: ignore[arg-type]  # _read gave each field its own type


def _read(name: str, text: str, kind: str) -> float | int | bool:
    expected = {"float": "a number", "int": "a whole number", "bool": "true or false"}[kind]
    try:
        if kind == "bool":
            return {"true": True, "false": False}[text.strip().lower()]
        return int(text) if kind == "int" else float(text)
    except (KeyError, ValueError):
        raise SettingsError(f"setting {name} = {text!r}: expected {expected}") from None
