from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest

from quorate.core.panel import Panel
from quorate.core.settings import Settings
from quorate.errors import InputError
from quorate.models.draws import Draws
from quorate.models.full.normal import prior_draws

PANEL = Panel(["low", "mid", "high"], ["ann", "ben"], ["net"])


def made(count: int = 6) -> Draws:
    return prior_draws(
        np.random.default_rng(4), classes=3, classifiers=1, experts=2, settings=Settings(), chains=2, count=count
    )


def test_bytes_and_back() -> None:
    draws = made()
    back = Draws.from_npz(draws.to_npz())
    assert back.digest == draws.digest
    assert (back.omega == draws.omega).all()


def test_the_digest_sees_every_number() -> None:
    draws = made()
    tau = draws.tau.copy()
    tau[1, 3] = np.nextafter(tau[1, 3], 1.0)
    changed = Draws(draws.mu, draws.s, draws.omega, tau, 3, 1, 2)
    assert changed.digest != draws.digest


def test_bytes_that_are_no_draws_are_refused_and_never_run() -> None:
    with pytest.raises(InputError, match="not draws"):
        Draws.from_npz(b"nonsense")
    pickled = io.BytesIO()
    np.savez(pickled, numbers=np.array([object()]))
    with pytest.raises(InputError, match="not draws"):
        Draws.from_npz(pickled.getvalue())
    other = io.BytesIO()
    np.savez(other, numbers=np.array([9, 3, 1, 2]), mu=1.0, s=1.0, omega=1.0, tau=1.0)
    with pytest.raises(InputError, match="format 9"):
        Draws.from_npz(other.getvalue())


def test_shapes_are_checked() -> None:
    draws = made()
    with pytest.raises(InputError, match="draws of mu"):
        Draws(draws.mu[..., :-1], draws.s, draws.omega, draws.tau, 3, 1, 2)


def test_named_axes_and_back() -> None:
    draws = made()
    tree = draws.to_datatree(PANEL)
    found = tree["posterior"]["mu"].sel({"agent": "ben", "class": "mid"}).to_numpy()
    assert (found == draws.mu[..., 5]).all()
    pair = tree["posterior"]["omega"].sel({"agent": "net", "class": "low", "agent_other": "ann", "class_other": "mid"})
    assert (pair.to_numpy() == draws.omega[..., 0, 3]).all()
    assert Draws.from_datatree(tree).digest == draws.digest
    with pytest.raises(InputError, match="the panel has 2, 1 and 2"):
        draws.to_datatree(Panel(["no", "yes"], ["ann", "ben"]))


def test_parts_of_a_run() -> None:
    draws = made(10)
    assert (draws.last(4).tau == draws.tau[:, -4:]).all()
    assert (draws.last(9, every=3).tau == draws.tau[:, [3, 6, 9]]).all()
    assert draws.last(4).then(draws.last(6)).shape == (2, 10)


def test_the_import_is_light() -> None:
    program = (
        "import sys, quorate.models.draws, quorate.models.health; "
        "assert not {'arviz_base', 'arviz_stats', 'xarray'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
