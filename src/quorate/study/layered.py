"""A mapping that is never changed, only replaced by a larger one, at a cost that grows slowly with its size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)  # equal to any mapping of the same entries, however they are layered
class Layered(Mapping[str, Value]):
    """Newer entries lie over older ones, and sink to them before copying the newer ones costs more than that.

    >>> one = Layered().plus("ann", 1)
    >>> dict(one.plus("ann", 2).plus("ben", 3)), dict(one)
    ({'ann': 2, 'ben': 3}, {'ann': 1})
    """

    under: Mapping[str, Value] = field(default_factory=dict)
    over: Mapping[str, Value] = field(default_factory=dict)

    def plus(self, key: str, value: Value) -> Layered[Value]:
        """The mapping with one more entry, or another value in place of one."""
        over = {**self.over, key: value}
        if len(over) ** 2 <= len(self.under):
            return Layered(self.under, over)
        return Layered({**self.under, **over})

    def __getitem__(self, key: str) -> Value:
        return self.over[key] if key in self.over else self.under[key]

    def __iter__(self) -> Iterator[str]:
        yield from self.under
        yield from (key for key in self.over if key not in self.under)

    def __len__(self) -> int:
        return len(self.under) + sum(key not in self.under for key in self.over)
