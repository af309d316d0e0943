"""Passwords: hashed with argon2id, checked with the same work whether or not there is such a user."""

from __future__ import annotations

import secrets
import unicodedata
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError

from quorate.errors import InputError

SHORTEST: Final = 10
LONGEST: Final = 200


class Passwords:
    """Makes and checks hashes; the defaults are the second recommendation of RFC 9106 on one thread.

    A check takes tens of milliseconds and 64 MiB, on purpose: call it off the event loop and few at a time.
    """

    def __init__(self, *, time_cost: int = 3, memory_kib: int = 64 * 1024, parallelism: int = 1) -> None:
        self._hasher = PasswordHasher(time_cost=time_cost, memory_cost=memory_kib, parallelism=parallelism)
        self._nobody = self._hasher.hash(secrets.token_urlsafe())

    def hash(self, password: str) -> str:
        """The text to store for a password that is long enough, else an InputError."""
        return self._hasher.hash(_checked(password))

    def verify(self, stored: str | None, password: str) -> bool:
        """Whether a password fits a stored hash; None, for a user who is unknown or has none, costs the same."""
        try:
            given = _checked(password)
        except InputError:
            given, stored = "", None
        try:
            fits = self._hasher.verify(stored or self._nobody, given)
        except VerifyMismatchError:
            return False
        except (InvalidHashError, VerificationError):
            return self.verify(None, password)  # a broken hash lets nobody in, and looks like no hash
        return fits and stored is not None

    def outdated(self, stored: str) -> bool:
        """Whether a hash was made with other parameters, and should be made anew at the next sign-in."""
        return self._hasher.check_needs_rehash(stored)


def _checked(password: str) -> str:
    """The one form of a password that keyboards may type in several."""
    normal = unicodedata.normalize("NFC", password[: 4 * LONGEST])
    if not SHORTEST <= len(normal) <= LONGEST:
        size = "shorter" if len(normal) < SHORTEST else "longer"
        raise InputError(f"the password is {size} than allowed; expected {SHORTEST} to {LONGEST} characters")
    try:
        normal.encode()
    except UnicodeEncodeError:
        raise InputError("the password holds half a character; expected whole Unicode characters") from None
    return normal
