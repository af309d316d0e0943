"""Every number a study can be tuned by, with the paper's values as defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

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
        for name, (least, most) in RANGES.items():
            value = getattr(self, name)
            if not least <= value <= most:  # NaN fails too
                raise SettingsError(f"setting {name} = {value:g} is out of range; expected {least:g} to {most:g}")

    def times(self, factor: int, name: str) -> Settings:
        """These settings with one whole number so many times as large, within its range.

        >>> Settings().times(4, "draws").draws
        2000
        """
        return self.changed({name: str(min(factor * int(getattr(self, name)), int(RANGES[name][1])))})

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
