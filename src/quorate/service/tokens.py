"""Secrets that are handed out: sessions, API tokens, one-time sign-in links, and the proof that a form is ours.

A secret is random and means nothing by itself. The database holds only its digest, an HMAC with the key file, so a
copied database opens nothing. A digest is bound to the kind of token: a link cannot pass for a session.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal

from quorate.errors import AccountError

if TYPE_CHECKING:
    from quorate.storage.accounts import Accounts
    from quorate.storage.people import Grant, Token, User

Kind = Literal["session", "api", "link"]

API_PREFIX: Final = "quo_"  # so that a token that leaked is recognised by those who scan for them
SECRET_BYTES: Final = 32
LONGEST_SECRET: Final = 128
SESSION_LIFETIME: Final = timedelta(hours=12)  # a working day; counted from signing in, so that using it writes nothing
LINK_LIFETIME: Final = timedelta(minutes=15)
FIRST_LINK_LIFETIME: Final = timedelta(hours=24)
FIRST_ADMIN: Final = "admin"
RECENT: Final = 1.0  # seconds for which a secret that was read need not be looked up again
MOST_RECENT: Final = 10_000
NEVER: Final = (0, 0.0, None)


@dataclass(frozen=True)
class Issued:
    """A secret, which is known only now, and what is stored of it."""

    secret: str = field(repr=False)
    token: Token


class Tokens:
    """Hands out secrets and knows them again."""

    def __init__(self, accounts: Accounts, key: bytes, *, ticks: Callable[[], float] = time.monotonic) -> None:
        self.accounts = accounts
        self._key = key
        self._ticks = ticks
        self._recent: dict[str, tuple[int, float, Grant]] = {}  # by digest: the changes and the time it was read at

    def issue_session(self, user_id: int, *, by: Literal["password", "link"]) -> Issued:
        """A session of somebody who has just shown who it is; its label says how."""
        return self._issue(user_id, "session", new_secret(), by, SESSION_LIFETIME)

    def issue_api(
        self, user_id: int, *, label: str = "", lifetime: timedelta | None = None, until: datetime | None = None
    ) -> Issued:
        """A token for a program, without an end unless one is given; `until` is the latest that it may have."""
        return self._issue(user_id, "api", API_PREFIX + new_secret(), label, lifetime, until)

    def issue_link(self, user_id: int, *, lifetime: timedelta = LINK_LIFETIME) -> Issued:
        """The secret of a sign-in link that works once; links given out before stop working."""
        self.accounts.revoke_all(user_id, ("link",))
        return self._issue(user_id, "link", new_secret(), "", lifetime)

    def read(self, kind: Kind, secret: str) -> Grant | None:
        """What a secret opens now, or None."""
        if len(secret) > LONGEST_SECRET:
            return None
        digest = self.digest(kind, secret)
        changes, now = self.accounts.changes, self._ticks()
        grant = self.accounts.grant(kind, digest)
        if grant is None or not hmac.compare_digest(grant.token.digest, digest):
            return None
        if len(self._recent) >= MOST_RECENT:
            self._recent = {}
        self._recent[digest] = changes, now, grant
        return grant

    def recall(self, kind: Kind, secret: str) -> Grant | None:
        """What a secret was read to open within the last second, without a look at the database; None if not known.

        What is changed through these accounts is seen at once, what another program changes after that second.
        """
        if len(secret) > LONGEST_SECRET:
            return None
        changes, then, grant = self._recent.get(self.digest(kind, secret), NEVER)
        if grant is None or changes != self.accounts.changes or self._ticks() - then > RECENT:
            return None
        end = grant.token.expires_at
        return grant if end is None or end > self.accounts.clock() else None

    def spend_link(self, secret: str) -> tuple[Issued, Grant] | None:
        """Use up a sign-in link and begin a session; None if the link is used, expired or unknown."""
        if len(secret) > LONGEST_SECRET:
            return None
        session = new_secret()
        grant = self.accounts.spend_link(
            self.digest("link", secret),
            self.digest("session", session),
            label="link",
            expires_at=self.accounts.clock() + SESSION_LIFETIME,
        )
        return None if grant is None else (Issued(session, grant.token), grant)

    def csrf(self, session_digest: str) -> str:
        """The proof that a form or script of ours made a request: bound to one session, and nothing to store."""
        return self._mac("csrf", session_digest)

    def form_proof(self, nonce: str) -> str:
        """The same for forms before there is a session: bound to a random cookie."""
        return self._mac("form", nonce)

    def form_fits(self, nonce: str, given: str) -> bool:
        """Whether a form carries its cookie's proof, compared in constant time."""
        return same_text(self.form_proof(nonce), given)

    def digest(self, kind: Kind, secret: str) -> str:
        """What is stored of a secret."""
        return self._mac(kind, secret)

    def _issue(
        self,
        user_id: int,
        kind: Kind,
        secret: str,
        label: str,
        lifetime: timedelta | None,
        until: datetime | None = None,
    ) -> Issued:
        ends = [] if lifetime is None else [self.accounts.clock() + lifetime]
        end = min(ends if until is None else [*ends, until], default=None)
        token = self.accounts.add_token(user_id, kind, self.digest(kind, secret), label=label, expires_at=end)
        return Issued(secret, token)

    def _mac(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose}\0{text}".encode(), hashlib.sha256).hexdigest()


def new_secret() -> str:
    """A random text that fits into an address, a header and a cookie."""
    return secrets.token_urlsafe(SECRET_BYTES)


def first_link(tokens: Tokens) -> tuple[Issued, User] | None:
    """A sign-in link for the first admin, who is made if there is none; None once an admin has a password.

    To be printed at every start: whoever reads the server's terminal may come in, and until there is a password, an
    admin whose session has ended has no other way. The link before, lost in a log that nobody read, is replaced.
    """
    accounts = tokens.accounts
    admins = [user for user in accounts.users() if user.role == "admin" and not user.disabled]
    if not admins:
        try:
            admins = [accounts.create_user(FIRST_ADMIN, "admin")]
        except AccountError:  # another process started at the same time and prints the link, or the name is taken
            return None
    if any(admin.password is not None for admin in admins):
        return None
    first = admins[0]
    return tokens.issue_link(first.id, lifetime=FIRST_LINK_LIFETIME), first


def link_address(base_url: str, secret: str) -> str:
    """Where a sign-in link leads.

    >>> link_address("http://127.0.0.1:8000/", "abc")
    'http://127.0.0.1:8000/sign-in/abc'
    """
    return f"{base_url.rstrip('/')}/sign-in/{secret}"


def same_text(expected: str, given: str) -> bool:
    """Whether two texts are equal, compared in constant time."""
    return hmac.compare_digest(expected.encode(), given.encode(errors="replace"))
