"""The public names, and that importing them stays quick and light."""

from __future__ import annotations

import subprocess
import sys

import quorate


def test_public_names_are_pinned_and_resolve() -> None:
    assert quorate.__all__ == [
        "EvidenceSettings",
        "Forecast",
        "FunctionTarget",
        "Guard",
        "OldCasesWarning",
        "Options",
        "Panel",
        "PanelForecaster",
        "Query",
        "QuorateError",
        "Rules",
        "Settings",
        "Settle",
        "Study",
        "Table",
        "UnhealthyFitWarning",
        "Wait",
        "__version__",
        "create_study",
        "open_study",
        "read_table",
        "replay",
        "simulate",
    ]
    for name in quorate.__all__:
        assert getattr(quorate, name) is not None
    assert dir(quorate) == sorted(quorate.__all__)


def test_importing_loads_no_compiler_web_stack_or_data_frames() -> None:
    heavy = [
        "numba",
        "pandas",
        "jax",
        "scipy",
        "matplotlib",
        "fastapi",
        "arviz_base",
        "xarray",
        "pyarrow",
        "rich",
        "sqlalchemy",
    ]
    code = f"import sys, quorate; quorate.Panel; print([name for name in {heavy!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
