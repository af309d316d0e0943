"""Two samplers that share no code must agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from quorate.core.arrays import Floats, Ints
from quorate.core.settings import Settings
from quorate.data.table import read_table
from quorate.models.full import gibbs, nuts, simplex
from quorate.models.full.normal import prior_parameters, simulate
from quorate.models.health import free_parameters, mixing


def agree(
    rng: np.random.Generator, log_ratios: Floats, votes: Ints, settings: Settings, *, warmup: int, draws: int
) -> None:
    """Every mean lies within four standard errors of the two samplers' difference."""
    by_nuts, divergences = nuts.sample(
        rng, log_ratios, votes, classes=2, settings=settings, chains=2, warmup=warmup, draws=draws
    )
    assert divergences < 40
    begun = gibbs.start(rng, log_ratios, votes, classes=2, settings=settings)
    _, by_gibbs = gibbs.advance(begun, warmup=300, draws=4000)
    names, one = free_parameters(by_nuts, settings)
    _, other = free_parameters(by_gibbs, settings)
    rhat, one_ess, _ = mixing(one)
    _, other_ess, _ = mixing(other)
    assert rhat.max() < 1.1
    assert one_ess.min() > 40, names[int(one_ess.argmin())]
    error = np.sqrt(one.var(axis=(1, 2)) / one_ess + other.var(axis=(1, 2)) / other_ess)
    assert (np.abs(one.mean(axis=(1, 2)) - other.mean(axis=(1, 2))) < 4 * error).all()


@pytest.mark.parametrize("settings", [Settings(), Settings(temperature=False, correlations=False)])
def test_nuts_and_gibbs_agree(settings: Settings) -> None:
    rng = np.random.default_rng(5)
    truth = prior_parameters(rng, classes=2, classifiers=1, experts=2, settings=settings)
    log_ratios, votes = simulate(rng, truth, 15, classes=2, classifiers=1, settings=settings, missing=0.3)
    log_ratios[3] = np.nan
    agree(rng, log_ratios, votes, settings, warmup=250, draws=300)


@pytest.mark.panels
def test_nuts_and_gibbs_agree_on_the_first_chest_x_rays(panels: Path) -> None:
    """Three of the experts always vote alike there: scales and temperature are small, where sampling is hard."""
    settings, table = Settings(), read_table(panels / "chestxray.csv").select(range(20))
    log_ratios = simplex.log_ratios(table.probabilities, clip=settings.clip)
    agree(np.random.default_rng(5), log_ratios, table.votes, settings, warmup=300, draws=500)
