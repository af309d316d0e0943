"""Users, the seats they vote from and the tokens they come in with, as values."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from quorate.errors import InputError
from quorate.storage.schema import TOKENS, USERS

if TYPE_CHECKING:
    from sqlalchemy import Row

LONGEST_NAME: Final = 64
LONGEST_LABEL: Final = 200


@dataclass(frozen=True)
class User:
    """Somebody who may sign in; `password` is a hash, or None where only links lead in."""

    id: int
    name: str
    role: str
    password: str | None = field(repr=False)
    created_at: datetime
    disabled: bool


@dataclass(frozen=True)
class Seat:
    """An expert of a study that a user votes as."""

    user_id: int
    study: str
    expert: str


@dataclass(frozen=True)
class Token:
    """What is known of a secret that was handed out: never the secret itself."""

    id: int
    user_id: int
    kind: str
    digest: str = field(repr=False)
    label: str
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None
    revoked_at: datetime | None

    def live(self, now: datetime) -> bool:
        """Whether it still opens anything, as far as the token alone can say."""
        return self.revoked_at is None and self.used_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True)
class Grant:
    """A live token with its user and all seats of that user."""

    token: Token
    user: User
    seats: tuple[Seat, ...]


def utc_now() -> datetime:
    """The time by the computer's clock."""
    return datetime.now(UTC)


def folded_name(name: str) -> str:
    """A user's name as it is stored and looked up: signing in does not depend on capitals.

    >>> folded_name(" Ann@Clinic.example ")
    'ann@clinic.example'
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).strip()
    if not 1 <= len(folded) <= LONGEST_NAME or not folded.isprintable() or "/" in folded:
        raise InputError(
            f"{name[:80]!r} is no user name; expected 1 to {LONGEST_NAME} printable characters without '/'"
        )
    return folded


def user_of(row: Row[Any], prefix: str = "") -> User:
    """The user that a row holds, in columns that may carry a prefix."""
    values = {column.name: row._mapping[f"{prefix}{column.name}"] for column in USERS.c}
    return User(**{**values, "created_at": _time(values["created_at"])})


def token_of(row: Row[Any], prefix: str = "") -> Token:
    """The token that a row holds, in columns that may carry a prefix."""
    values = {column.name: row._mapping[f"{prefix}{column.name}"] for column in TOKENS.c}
    times = {name: _time(values[name]) for name in ("created_at", "expires_at", "used_at", "revoked_at")}
    return Token(**{**values, **times})


def text_of(at: datetime) -> str:
    """A time as it is stored."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
