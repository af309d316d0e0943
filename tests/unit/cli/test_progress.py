"""Why the first use of a model takes longer is said once, on a terminal."""

from __future__ import annotations

import sys

import pytest

from quorate.assembly import MODELS
from quorate.cli.progress import announce_compiling
from quorate.models import compiled


@pytest.mark.parametrize("model", MODELS)
def test_compiling_is_announced_on_a_terminal_where_it_is_to_come(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*, terminal: bool, ready: bool) -> str:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
        monkeypatch.setattr(compiled, "is_compiled", lambda _model: ready)
        announce_compiling(model)
        return capsys.readouterr().err

    assert f"compiling the sampler of model {model}, once: this takes " in told(terminal=True, ready=False)
    assert told(terminal=True, ready=True) == told(terminal=False, ready=False) == ""
