"""Every error quorate raises on purpose, as one tree.

QuorateError
├── InputError           what was given cannot be used (also a ValueError)
│   ├── PanelError       classes, experts or classifiers
│   ├── TargetError      the function of the votes that is wanted
│   ├── SettingsError    a setting, hyper-parameter, preset, method or option
│   ├── TableError       recorded votes; carries every problem by its row
│   └── NotFoundError    a name or number that nothing has
├── StudyError           an operation that does not fit the study's state
│   ├── StaleJournalError   another program changed the study meanwhile
│   └── UnreadableError     a study that is there and cannot be loaded
├── StorageError         a database that cannot be reached, read or written
├── AccountError         an operation that does not fit the users there are
├── HealthError          a sampler gave nothing that may be used
├── FetchError           a published file could not be got, or is not what was published
└── MissingExtraError    an optional dependency is not installed
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class QuorateError(Exception):
    """Root of the tree: catch it to catch everything quorate raises on purpose."""


class InputError(QuorateError, ValueError):
    """What was given cannot be used; the message says what was expected."""


class PanelError(InputError):
    """Classes, experts or classifiers that do not make a panel, or a name the panel lacks."""


class TargetError(InputError):
    """A target that cannot be read, or a value of it that was not declared."""


class SettingsError(InputError):
    """A setting, hyper-parameter, preset, method or option that is unknown or out of range."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a table: the row (1 = first row of data, None = the whole table) and why."""

    row: int | None
    message: str

    def __str__(self) -> str:
        return self.message if self.row is None else f"row {self.row}: {self.message}"


class TableError(InputError):
    """Recorded votes that cannot be read; `problems` holds every one of them."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        shown = "; ".join(str(problem) for problem in self.problems[:3])
        rest = len(self.problems) - 3
        more = f"; and {rest} more (`quorate check {source}` lists them all)" if rest > 0 else ""
        super().__init__(f"{source}: {shown}{more}")


class NotFoundError(InputError):
    """A study, case, user, seat or token was named that is not there."""


class StudyError(QuorateError):
    """An operation that does not fit the study's state, such as a vote on a case never opened."""


class AccountError(QuorateError):
    """An operation that does not fit the users there are, such as disabling the last admin."""


class StaleJournalError(StudyError):
    """Another program appended events to a study since this one last looked; nothing was written."""


class UnreadableError(StudyError):
    """A study that is there and cannot be loaded, as when what is stored of it was changed or damaged."""


class StorageError(QuorateError):
    """A database that cannot be reached, read or written, or whose tables are not those of this version."""


class HealthError(QuorateError):
    """A sampler gave nothing that may be used."""


class FetchError(QuorateError):
    """A published file that could not be got or kept, or that is not what was published."""


class MissingExtraError(QuorateError, ImportError):
    """An optional dependency is not installed; the message names the extra."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra '{extra}': pip install 'quorate[{extra}]'")
