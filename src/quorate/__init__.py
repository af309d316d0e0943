"""quorate: forecast what a panel of experts would decide, ask only whose vote tells most, stop when sure enough."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quorate.assembly import Options
    from quorate.core.decision import Query, Settle, Wait
    from quorate.core.forecast import Forecast
    from quorate.core.panel import Panel
    from quorate.core.rules import Guard, Rules
    from quorate.core.settings import EvidenceSettings, Settings
    from quorate.core.target import FunctionTarget
    from quorate.data.synthetic import simulate
    from quorate.data.table import Table, read_table
    from quorate.errors import QuorateError
    from quorate.experiments.replay import replay
    from quorate.forecaster import OldCasesWarning, PanelForecaster, UnhealthyFitWarning
    from quorate.storage.front import create_study, open_study
    from quorate.study.study import Study

__version__ = "0.1.0.dev0"

_HOMES = {
    "EvidenceSettings": "quorate.core.settings",
    "Forecast": "quorate.core.forecast",
    "FunctionTarget": "quorate.core.target",
    "Guard": "quorate.core.rules",
    "OldCasesWarning": "quorate.forecaster",
    "Options": "quorate.assembly",
    "Panel": "quorate.core.panel",
    "PanelForecaster": "quorate.forecaster",
    "Query": "quorate.core.decision",
    "QuorateError": "quorate.errors",
    "Rules": "quorate.core.rules",
    "Settings": "quorate.core.settings",
    "Settle": "quorate.core.decision",
    "Study": "quorate.study.study",
    "Table": "quorate.data.table",
    "UnhealthyFitWarning": "quorate.forecaster",
    "Wait": "quorate.core.decision",
    "create_study": "quorate.storage.front",
    "open_study": "quorate.storage.front",
    "read_table": "quorate.data.table",
    "replay": "quorate.experiments.replay",
    "simulate": "quorate.data.synthetic",
}

__all__ = [
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


def __getattr__(name: str) -> object:
    """Public names load on first use, so that `import quorate` is quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'quorate' has no attribute {name!r}; it has {', '.join(sorted(_HOMES))}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
