"""Every event carries a hash of itself and of the one before it, so that no row can be changed unnoticed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime

from quorate.storage.codec import canonical

Clock = Callable[[], datetime]


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


def stamp(moment: datetime) -> str:
    """A moment as it is stored: all have the same length, so that their order is that of the texts.

    >>> stamp(datetime(2025, 1, 31, 12, tzinfo=UTC))
    '2025-01-31T12:00:00.000000+00:00'
    """
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def origin(name: str, created_at: str, config: str) -> str:
    """The hash before a study's first event."""
    return _digest(name, created_at, config)


def linked(before: str, name: str, number: int, at: str, kind: str, body: str) -> str:
    """The hash of one more event of a study."""
    return _digest(before, name, number, at, kind, body)


def _digest(*parts: str | int) -> str:
    return hashlib.sha256(canonical(parts).encode("ascii")).hexdigest()  # JSON keeps the parts apart
