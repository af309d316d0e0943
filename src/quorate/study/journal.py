"""Where a study's events are kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from quorate.core.protocols import Predictor
from quorate.study.events import Event


class Journal(Protocol):
    """An append-only list of events: the truth about a study."""

    def append(self, event: Event) -> None:
        """Keep one more event; once this returns it is not lost."""

    def __iter__(self) -> Iterator[Event]:
        """The events in the order they were appended."""

    def __len__(self) -> int:
        """How many events there are."""


class Keeper(Protocol):
    """Where what was learned is kept, so that a study can go on from it."""

    def keep(self, predictor: Predictor) -> str:
        """Keep what was learned; its digest goes into the journal."""


@dataclass
class MemoryJournal:
    """A journal that lasts as long as the process."""

    events: list[Event] = field(default_factory=list)

    def append(self, event: Event) -> None:
        """Keep one more event."""
        self.events.append(event)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)
