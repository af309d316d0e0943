from __future__ import annotations

import sys

import numpy as np
import pytest

from quorate.core.settings import Settings
from quorate.errors import MissingExtraError
from quorate.models.full import nuts


def test_without_the_extra_its_name_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpyro.infer", None)
    with pytest.raises(MissingExtraError, match=r"the engine nuts needs the extra 'nuts'"):
        nuts.sample(
            np.random.default_rng(0),
            np.zeros((1, 1, 1)),
            np.zeros((1, 1), dtype=np.int64),
            classes=2,
            settings=Settings(),
        )


def test_an_empty_history_gives_the_prior() -> None:
    draws, divergences = nuts.sample(
        np.random.default_rng(0),
        np.empty((0, 1, 1)),
        np.empty((0, 2), dtype=np.int64),
        classes=2,
        settings=Settings(),
        draws=50,
    )
    assert draws.shape == (nuts.CHAINS, 50)
    assert divergences == 0
