"""What a stored study was created with: it never changes, and every hash of the study rests on it."""

from __future__ import annotations

from dataclasses import dataclass, field

from quorate.assembly import Options, Plan, plan, read_target
from quorate.core.panel import Panel
from quorate.core.protocols import Target
from quorate.errors import SettingsError


@dataclass(frozen=True)
class ServiceSettings:
    """How the service asks people about the cases of a study."""

    lease_seconds: float = 3600.0  # how long a question waits for its answer
    max_open: int = 10  # questions that may wait for one expert
    audit_share: float = 0.0  # of cases that are drawn to be asked of everyone, whatever the forecast says
    about: str = ""  # what experts and managers are told of the study

    def __post_init__(self) -> None:
        if not 1 <= self.lease_seconds <= 10**8:  # NaN fails too
            raise SettingsError(f"lease_seconds {self.lease_seconds:g} is out of range; expected 1 to 100000000")
        if self.max_open < 1:
            raise SettingsError(f"max_open {self.max_open} is out of range; expected a whole number of at least 1")
        if not 0 <= self.audit_share <= 1:
            raise SettingsError(f"audit_share {self.audit_share:g} is out of range; expected 0 to 1")


@dataclass(frozen=True)
class StudyConfig:
    """The panel that a study started with, its method and target by name, and its seed.

    >>> StudyConfig(Panel(["no", "yes"], ["ann", "ben"])).plan().preset
    'quorate'
    """

    panel: Panel
    options: Options = field(default_factory=Options)
    target: str = "consensus"
    seed: int = 0
    service: ServiceSettings = field(default_factory=ServiceSettings)

    def aim(self) -> Target:
        """The function of the votes that is wanted."""
        return read_target(self.target, self.panel)

    def plan(self) -> Plan:
        """The method that the options name."""
        return plan(self.panel, self.options, self.aim())
