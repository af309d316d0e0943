"""Posterior draws of the paper's model: arrays with a fixed meaning, and their forms outside the program."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np

from quorate.core.arrays import Floats
from quorate.core.panel import Panel
from quorate.errors import InputError

if TYPE_CHECKING:
    import xarray as xr

NPZ_FORMAT = 1


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws by chain and sweep; coordinates are blocks of K-1 log-ratios, classifiers first, then experts."""

    mu: Floats  # (C, S, d)
    s: Floats  # (C, S, d)
    omega: Floats  # (C, S, d, d)
    tau: Floats  # (C, S), 1 where votes follow the latent probabilities themselves
    classes: int
    classifiers: int
    experts: int

    def __post_init__(self) -> None:
        size = (self.classes - 1) * (self.classifiers + self.experts)
        runs = self.tau.shape
        expected = {"mu": (*runs, size), "s": (*runs, size), "omega": (*runs, size, size), "tau": runs}
        for name, shape in expected.items():
            given = getattr(self, name).shape
            if given != shape or len(runs) != 2:
                raise InputError(f"draws of {name} have shape {given}; expected {shape} for (chains, draws, ...)")

    @property
    def size(self) -> int:
        """Number of coordinates d = (K-1)(M+H)."""
        return int(self.mu.shape[-1])

    @property
    def shape(self) -> tuple[int, int]:
        """Chains and draws per chain."""
        return int(self.tau.shape[0]), int(self.tau.shape[1])

    @property
    def digest(self) -> str:
        """SHA-256 of the values: two sets of draws are equal if and only if their digests are."""
        sha = hashlib.sha256(f"{self.classes} {self.classifiers} {self.experts} {self.shape}".encode())
        for array in (self.mu, self.s, self.omega, self.tau):
            sha.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
        return sha.hexdigest()

    def last(self, count: int, *, every: int = 1) -> Draws:
        """The last `count` draws of each chain, or every so many of them, the very last included."""
        keep = slice(self.shape[1] - count + (count - 1) % every, None, every)
        return self._with(self.mu[:, keep], self.s[:, keep], self.omega[:, keep], self.tau[:, keep])

    def then(self, later: Draws) -> Draws:
        """These draws followed by later ones of the same chains."""
        return self._with(
            np.concatenate([self.mu, later.mu], axis=1),
            np.concatenate([self.s, later.s], axis=1),
            np.concatenate([self.omega, later.omega], axis=1),
            np.concatenate([self.tau, later.tau], axis=1),
        )

    def pieces(self, count: int) -> Draws:
        """Each chain cut into so many chains of neighbouring draws; the oldest draws that do not fit are left out."""
        chains, each = self.shape[0] * count, self.shape[1] // count
        late = self.last(each * count)
        return self._with(
            late.mu.reshape(chains, each, -1),
            late.s.reshape(chains, each, -1),
            late.omega.reshape(chains, each, self.size, self.size),
            late.tau.reshape(chains, each),
        )

    def _with(self, mu: Floats, s: Floats, omega: Floats, tau: Floats) -> Draws:
        return Draws(mu, s, omega, tau, self.classes, self.classifiers, self.experts)

    def to_npz(self) -> bytes:
        """The draws as the bytes of an .npz file."""
        out = io.BytesIO()
        numbers = np.array([NPZ_FORMAT, self.classes, self.classifiers, self.experts])
        np.savez_compressed(out, numbers=numbers, mu=self.mu, s=self.s, omega=self.omega, tau=self.tau)
        return out.getvalue()

    @classmethod
    def from_npz(cls, content: bytes) -> Draws:
        """The draws that `to_npz` wrote; nothing in the bytes is ever run."""
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                version, classes, classifiers, experts = (int(number) for number in arrays["numbers"])
                mu, s, omega, tau = (arrays[name].astype(np.float64) for name in ("mu", "s", "omega", "tau"))
        except (KeyError, ValueError, OSError, EOFError, BadZipFile) as error:
            raise InputError(f"these bytes are not draws of quorate: {error}") from None
        if version != NPZ_FORMAT:
            raise InputError(f"draws of format {version} cannot be read; expected format {NPZ_FORMAT}")
        return cls(mu, s, omega, tau, classes, classifiers, experts)

    def to_datatree(self, panel: Panel) -> xr.DataTree:
        """The draws as ArviZ takes them, with the panel's names on every axis.

        The axis `class` holds all classes but the last, which is the base of the log-ratios.
        """
        from arviz_base import from_dict  # slow to import, and most programs never need it

        agents, classes = [*panel.classifiers, *panel.experts], list(panel.classes[:-1])
        numbers = (len(panel.classes), len(panel.classifiers), len(panel.experts))
        if numbers != (self.classes, self.classifiers, self.experts):
            raise InputError(
                f"the draws are of {self.classes} classes, {self.classifiers} classifiers and {self.experts} experts; "
                "the panel has {}, {} and {}".format(*numbers)
            )
        grid, runs = (len(agents), len(classes)), self.shape
        posterior = {
            "mu": self.mu.reshape(*runs, *grid),
            "s": self.s.reshape(*runs, *grid),
            "omega": self.omega.reshape(*runs, *grid, *grid),
            "tau": self.tau,
        }
        pair = ["agent", "class"]
        return from_dict(
            {"posterior": posterior},
            coords={"agent": agents, "class": classes, "agent_other": agents, "class_other": classes},
            dims={"mu": pair, "s": pair, "omega": [*pair, "agent_other", "class_other"]},
            attrs={"posterior": {"classes": numbers[0], "classifiers": numbers[1], "experts": numbers[2]}},
        )

    @classmethod
    def from_datatree(cls, tree: xr.DataTree) -> Draws:
        """The draws that `to_datatree` gave away."""
        posterior = tree["posterior"]
        runs = posterior["tau"].shape
        size = int(np.prod(posterior["mu"].shape[2:]))
        return cls(
            posterior["mu"].to_numpy().reshape(*runs, size),
            posterior["s"].to_numpy().reshape(*runs, size),
            posterior["omega"].to_numpy().reshape(*runs, size, size),
            posterior["tau"].to_numpy(),
            *(int(posterior.attrs[name]) for name in ("classes", "classifiers", "experts")),
        )
