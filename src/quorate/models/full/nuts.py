"""The same posterior by the No-U-Turn sampler (NumPyro): slower than Gibbs, and independent of it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.core.settings import Settings
from quorate.errors import MissingExtraError
from quorate.models.draws import Draws
from quorate.models.full.normal import prior_draws
from quorate.models.full.state import check_data

CHAINS = 3
WARMUP = 1500
DRAWS = 2000
"""The paper's effort (appendix D)."""
TARGET_ACCEPTANCE = 0.9
"""Above the usual 0.8: with a small temperature the votes are nearly steps."""


def _require(name: str) -> Any:
    """A module of the extra `nuts`, which need not be there."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError("the engine nuts", "nuts") from error


def _model(log_ratios: Floats, votes: Ints, settings: Settings) -> Callable[[], None]:
    """The joint model with whitened latents, as NumPyro takes it.

    With the classifiers first, noise e with z = mu + L e is solved row by row of L: where a log-ratio was observed it
    gives the noise, elsewhere a standard normal gives the latent.
    """
    numpyro, dist, jnp, nn = (_require(name) for name in ("numpyro", "numpyro.distributions", "jax.numpy", "jax.nn"))
    n, classifiers, block = log_ratios.shape
    first, size = classifiers * block, (classifiers + votes.shape[1]) * block
    observed = log_ratios.reshape(n, first)
    seen, filled = np.isfinite(observed), np.nan_to_num(observed)
    voted, vote = votes >= 0, np.maximum(votes, 0)

    def model() -> None:
        mu = numpyro.sample("mu", dist.Normal(0.0, settings.sigma_mu).expand([size]).to_event(1))
        s = numpyro.sample("s", dist.HalfNormal(settings.sigma_sigma).expand([size]).to_event(1))
        tau = numpyro.sample("tau", dist.HalfNormal(settings.sigma_tau)) if settings.temperature else 1.0
        free = settings.correlations and size > 1
        factor = numpyro.sample("factor", dist.LKJCholesky(size, settings.eta)) if free else jnp.eye(size)
        L = s[:, None] * factor
        normal = numpyro.sample("noise", dist.Normal(0.0, 1.0).expand([n, size]).to_event(2))
        noise: list[Any] = []
        log_density = 0.0
        for j in range(first):
            mean = mu[j] + sum((L[j, k] * noise[k] for k in range(j)), start=0.0)
            solved = (filled[:, j] - mean) / L[j, j]
            log_density += (seen[:, j] * (-0.5 * solved**2 - jnp.log(L[j, j]))).sum()
            noise.append(jnp.where(seen[:, j], solved, normal[:, j]))
        noise += [normal[:, j] for j in range(first, size)]
        z = mu[first:] + jnp.stack(noise, axis=1) @ L[first:].T  # (n, H (K-1))
        z = jnp.concatenate([z.reshape(n, -1, block), jnp.zeros((n, votes.shape[1], 1))], axis=-1)
        utilities = nn.softmax(z, axis=-1) / tau if settings.temperature else z
        logs = jnp.take_along_axis(nn.log_softmax(utilities, axis=-1), vote[..., None], axis=-1)[..., 0]
        numpyro.factor("data", log_density + (voted * logs).sum())

    return model


def sample(
    rng: np.random.Generator,
    log_ratios: Floats,
    votes: Ints,
    *,
    classes: int,
    settings: Settings,
    chains: int = CHAINS,
    warmup: int = WARMUP,
    draws: int = DRAWS,
) -> tuple[Draws, int]:
    """Draws of the posterior of log-ratios (n, M, K-1) and votes (n, H), and how many transitions diverged."""
    check_data(log_ratios, votes, classes)
    n, classifiers, block = log_ratios.shape
    experts = votes.shape[1]
    if n == 0:
        return prior_draws(
            rng,
            classes=classes,
            classifiers=classifiers,
            experts=experts,
            settings=settings,
            chains=chains,
            count=draws,
        ), 0
    jax, infer = _require("jax"), _require("numpyro.infer")
    size = block * (classifiers + experts)
    with jax.enable_x64(True):  # single precision loses the steps of small temperatures; the caller's setting stays
        transition = infer.NUTS(
            _model(log_ratios, votes, settings),
            target_accept_prob=TARGET_ACCEPTANCE,
            init_strategy=infer.init_to_uniform(radius=0.5),
        )
        mcmc = infer.MCMC(
            transition,
            num_warmup=warmup,
            num_samples=draws,
            num_chains=chains,
            chain_method="sequential",
            progress_bar=False,
        )
        mcmc.run(jax.random.PRNGKey(int(rng.integers(2**31))))
        found = {
            name: np.asarray(part, dtype=np.float64) for name, part in mcmc.get_samples(group_by_chain=True).items()
        }
        divergences = int(np.asarray(mcmc.get_extra_fields()["diverging"]).sum())
    shape = (chains, draws, size, size)
    factor = found.get("factor", np.broadcast_to(np.eye(size), shape))
    omega = factor @ np.swapaxes(factor, -1, -2)
    omega[..., np.arange(size), np.arange(size)] = 1.0
    tau = found.get("tau", np.ones((chains, draws)))
    return Draws(found["mu"], found["s"], omega, tau, classes, classifiers, experts), divergences
