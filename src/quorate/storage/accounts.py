"""Users, the seats they vote from, and the tokens they come in with.

Nothing here knows a password or a secret: hashes and digests are stored as given.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import LABEL_STYLE_TABLENAME_PLUS_COL, and_, bindparam, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from quorate.errors import AccountError, InputError, NotFoundError
from quorate.storage.people import (
    LONGEST_LABEL,
    Grant,
    Seat,
    Token,
    User,
    folded_name,
    text_of,
    token_of,
    user_of,
    utc_now,
)
from quorate.storage.schema import EVENTS, ROLES, SEATS, STUDIES, TOKEN_KINDS, TOKENS, USERS
from quorate.study.events import Joined

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import BindParameter, ColumnElement, Connection

    from quorate.storage.database import Database


class Accounts:
    """The accounts of a database; every method is one transaction."""

    def __init__(self, db: Database, *, clock: Callable[[], datetime] = utc_now) -> None:
        self.db = db
        self.clock = clock
        self._numbers = itertools.count(1)
        self.changes = 0  # another number after every change that was made here

    def changed(self) -> None:
        """Say that what was read before may hold no longer."""
        self.changes = next(self._numbers)

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        try:
            with self.db.writing() as connection:
                yield connection
        finally:
            self.changed()

    # Users

    def create_user(self, name: str, role: str, *, password: str | None = None) -> User:
        """A new user; names are unique."""
        folded = folded_name(name)
        values = {"name": folded, "role": _known(role, ROLES, "role"), "password": password, "disabled": False}
        try:
            with self._writing() as connection:
                made = connection.execute(
                    insert(USERS).values(**values, created_at=text_of(self.clock())).returning(*USERS.c)
                )
                return user_of(made.one())
        except IntegrityError:
            raise AccountError(f"there is already a user {folded!r}; choose another name") from None

    def users(self) -> list[User]:
        """All users by name."""
        with self.db.reading() as connection:
            return [user_of(row) for row in connection.execute(select(USERS).order_by(USERS.c.name))]

    def page_of_users(self, *, after: int, limit: int) -> list[User]:
        """Users in the order they came, from the one after a number on."""
        wanted = select(USERS).where(USERS.c.id > after).order_by(USERS.c.id).limit(limit)
        with self.db.reading() as connection:
            return [user_of(row) for row in connection.execute(wanted)]

    def user(self, user_id: int) -> User:
        """The user with this number."""
        with self.db.reading() as connection:
            return _present(connection, user_id)

    def named(self, name: str) -> User | None:
        """The user with this name, or None."""
        try:
            folded = folded_name(name)
        except InputError:
            return None
        with self.db.reading() as connection:
            row = connection.execute(select(USERS).where(USERS.c.name == folded)).one_or_none()
        return None if row is None else user_of(row)

    def change_role(self, user_id: int, role: str) -> User:
        """Another role, at once; the last admin stays one."""
        known = _known(role, ROLES, "role")
        with self._writing() as connection:
            if known != "admin":
                _keep_an_admin(connection, user_id, "lose the role")
            return _changed(connection, user_id, {"role": known})

    def set_password(self, user_id: int, password: str | None, *, keep: int | None = None) -> User:
        """Another password hash; sessions and links of the user end, but for the token numbered `keep`."""
        with self._writing() as connection:
            user = _changed(connection, user_id, {"password": password})
            others = and_(
                TOKENS.c.user_id == user_id, TOKENS.c.kind.in_(("session", "link")), TOKENS.c.id != (keep or 0)
            )
            _revoke(connection, others, self.clock())
            return user

    def refresh_password(self, user_id: int, before: str, after: str) -> None:
        """The same password hashed anew, unless it was changed meanwhile; nothing ends."""
        with self._writing() as connection:
            same = and_(USERS.c.id == user_id, USERS.c.password == before)
            connection.execute(update(USERS).where(same).values(password=after))

    def disable(self, user_id: int) -> User:
        """Keep a user out: every token is dead at once and stays so. The last admin cannot be disabled."""
        with self._writing() as connection:
            _keep_an_admin(connection, user_id, "be disabled")
            user = _changed(connection, user_id, {"disabled": True})
            _revoke(connection, TOKENS.c.user_id == user_id, self.clock())
            return user

    def enable(self, user_id: int) -> User:
        """Let a user in again, with new tokens only."""
        with self._writing() as connection:
            return _changed(connection, user_id, {"disabled": False})

    # Seats

    def give_seat(self, user_id: int, study: str, expert: str) -> Seat:
        """Let a user vote as an expert of a study; giving it twice is giving it once."""
        with self._writing() as connection:
            _present(connection, user_id, lock=True)
            study_id = _study_id(connection, study)
            experts = _experts(connection, study_id)
            if expert not in experts:
                raise NotFoundError(f"study {study!r} has no expert {expert!r}; it has {', '.join(experts)}")
            seat = {"user_id": user_id, "study_id": study_id, "expert": expert}
            if connection.execute(select(SEATS).filter_by(**seat)).one_or_none() is None:
                connection.execute(insert(SEATS).values(**seat))
        return Seat(user_id, study, expert)

    def take_seat(self, user_id: int, study: str, expert: str) -> None:
        """Take a seat from a user."""
        with self._writing() as connection:
            name = _present(connection, user_id).name
            held = (SEATS.c.user_id == user_id, SEATS.c.study_id == _study_id(connection, study))
            if not connection.execute(delete(SEATS).where(*held, SEATS.c.expert == expert)).rowcount:
                raise NotFoundError(f"{name!r} has no seat as {expert!r} of study {study!r}")

    def seats(self, *, user_id: int | None = None, study: str | None = None) -> list[Seat]:
        """Seats of a user, of a study, or all, by study and expert."""
        wanted = select(SEATS.c.user_id, STUDIES.c.name, SEATS.c.expert).join(STUDIES, STUDIES.c.id == SEATS.c.study_id)
        if user_id is not None:
            wanted = wanted.where(SEATS.c.user_id == user_id)
        if study is not None:
            wanted = wanted.where(STUDIES.c.name == study)
        with self.db.reading() as connection:
            rows = connection.execute(wanted.order_by(STUDIES.c.name, SEATS.c.expert, SEATS.c.user_id)).all()
        return [Seat(*row) for row in rows]

    # Tokens

    def add_token(
        self, user_id: int, kind: str, digest: str, *, label: str = "", expires_at: datetime | None = None
    ) -> Token:
        """Note a secret that is handed out to a user who may sign in."""
        with self._writing() as connection:
            user = _present(connection, user_id, lock=True)
            if user.disabled:
                raise AccountError(f"user {user.name!r} is disabled; enable the user before giving out a token")
            return _added(connection, user_id, kind, digest, label, self.clock(), expires_at)

    def grant(self, kind: str, digest: str) -> Grant | None:
        """What a secret opens now, or None: by its digest, with its user and seats, in one query."""
        with self.db.glancing() as connection:
            return _grant(connection, _known(kind, TOKEN_KINDS, "kind of token"), digest, self.clock())

    def spend_link(self, link: str, session: str, *, label: str, expires_at: datetime) -> Grant | None:
        """Use up a sign-in link and begin a session, in one step; None if the link is dead. Of two at once one wins."""
        now = self.clock()
        unused = (TOKENS.c.digest == link, TOKENS.c.kind == "link", *_live(text_of(now)))
        with self._writing() as connection:
            owner = connection.execute(
                update(TOKENS).where(*unused).values(used_at=text_of(now)).returning(TOKENS.c.user_id)
            ).scalar_one_or_none()
            if owner is None or _present(connection, owner, lock=True).disabled:
                return None
            _added(connection, owner, "session", session, label, now, expires_at)
            return _grant(connection, "session", session, now)

    def revoke(self, token_id: int) -> Token:
        """End a token; ending it again changes nothing."""
        with self._writing() as connection:
            _revoke(connection, TOKENS.c.id == token_id, self.clock())
            row = connection.execute(select(TOKENS).where(TOKENS.c.id == token_id)).one_or_none()
        if row is None:
            raise NotFoundError(f"there is no token {token_id}; `quorate token list` shows those there are")
        return token_of(row)

    def revoke_all(self, user_id: int, kinds: Collection[str] = TOKEN_KINDS) -> int:
        """End a user's tokens of some kinds; how many were ended."""
        with self._writing() as connection:
            return _revoke(connection, and_(TOKENS.c.user_id == user_id, TOKENS.c.kind.in_(kinds)), self.clock())

    def tokens(
        self,
        *,
        user_id: int | None = None,
        kinds: Collection[str] = TOKEN_KINDS,
        after: int = 0,
        limit: int | None = None,
    ) -> list[Token]:
        """Tokens of a user or of all, dead ones included, in the order they were made, from the one after a number."""
        wanted = select(TOKENS).where(TOKENS.c.kind.in_(kinds), TOKENS.c.id > after).order_by(TOKENS.c.id).limit(limit)
        if user_id is not None:
            wanted = wanted.where(TOKENS.c.user_id == user_id)
        with self.db.reading() as connection:
            return [token_of(row) for row in connection.execute(wanted)]

    def purge(self, before: datetime) -> int:
        """Delete tokens that expired, were used up or were revoked before a time; how many."""
        ended = or_(
            *(column < text_of(before) for column in (TOKENS.c.expires_at, TOKENS.c.used_at, TOKENS.c.revoked_at))
        )
        with self._writing() as connection:
            return int(connection.execute(delete(TOKENS).where(ended)).rowcount)


def _known(value: str, known: tuple[str, ...], what: str) -> str:
    if value not in known:
        raise InputError(f"{value!r} is no {what}; expected one of {', '.join(known)}")
    return str(value)


def _present(connection: Connection, user_id: int, *, lock: bool = False) -> User:
    """A user, held until the transaction ends where what follows depends on it."""
    wanted = select(USERS).where(USERS.c.id == user_id)
    row = connection.execute(wanted.with_for_update() if lock else wanted).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no user {user_id}; `quorate user list` shows those there are")
    return user_of(row)


def _changed(connection: Connection, user_id: int, values: Mapping[str, object]) -> User:
    _present(connection, user_id, lock=True)
    return user_of(
        connection.execute(update(USERS).where(USERS.c.id == user_id).values(values).returning(*USERS.c)).one()
    )


def _keep_an_admin(connection: Connection, user_id: int, what: str) -> None:
    """Refuse what would leave nobody who can manage users; the rows are locked, so two cannot leave at once."""
    admins = select(USERS.c.id, USERS.c.name).where(USERS.c.role == "admin", ~USERS.c.disabled).order_by(USERS.c.id)
    rows = connection.execute(admins.with_for_update()).all()
    if len(rows) == 1 and rows[0].id == user_id:
        raise AccountError(f"{rows[0].name!r} is the last admin and cannot {what}; make another user an admin first")


def _study_id(connection: Connection, study: str) -> int:
    found = connection.execute(select(STUDIES.c.id).where(STUDIES.c.name == study)).scalar_one_or_none()
    if found is None:
        raise NotFoundError(f"there is no study {study!r}; `quorate study list` shows those there are")
    return int(found)


def _experts(connection: Connection, study_id: int) -> list[str]:
    """The experts of a study: those it started with, and those who joined."""
    config = connection.execute(select(STUDIES.c.config).where(STUDIES.c.id == study_id)).scalar_one()
    joined = select(EVENTS.c.body).where(EVENTS.c.study_id == study_id, EVENTS.c.kind == Joined.__name__)
    bodies = connection.execute(joined.order_by(EVENTS.c.number)).scalars()
    return [*json.loads(config)["panel"]["experts"], *(json.loads(body)["expert"] for body in bodies)]


def _added(
    connection: Connection,
    user_id: int,
    kind: str,
    digest: str,
    label: str,
    now: datetime,
    expires_at: datetime | None,
) -> Token:
    if len(label) > LONGEST_LABEL or not label.isprintable():
        raise InputError(f"{label[:80]!r} is no label; expected at most {LONGEST_LABEL} printable characters")
    values = {
        "user_id": user_id,
        "kind": _known(kind, TOKEN_KINDS, "kind of token"),
        "digest": digest,
        "label": label,
        "created_at": text_of(now),
        "expires_at": None if expires_at is None else text_of(expires_at),
    }
    return token_of(connection.execute(insert(TOKENS).values(values).returning(*TOKENS.c)).one())


def _live(now: str | BindParameter[str]) -> tuple[ColumnElement[bool], ...]:
    unexpired = or_(TOKENS.c.expires_at.is_(None), TOKENS.c.expires_at > now)
    return (TOKENS.c.revoked_at.is_(None), TOKENS.c.used_at.is_(None), unexpired)


_GRANT = (  # put together once: every request needs it
    select(TOKENS, USERS, STUDIES.c.name, SEATS.c.expert)
    .set_label_style(LABEL_STYLE_TABLENAME_PLUS_COL)
    .join(USERS, USERS.c.id == TOKENS.c.user_id)
    .outerjoin(SEATS, SEATS.c.user_id == USERS.c.id)
    .outerjoin(STUDIES, STUDIES.c.id == SEATS.c.study_id)
    .where(TOKENS.c.digest == bindparam("digest"), TOKENS.c.kind == bindparam("kind"), ~USERS.c.disabled)
    .where(*_live(bindparam("now")))
)


def _grant(connection: Connection, kind: str, digest: str, now: datetime) -> Grant | None:
    rows = connection.execute(_GRANT, {"kind": kind, "digest": digest, "now": text_of(now)}).all()
    if not rows:
        return None
    user = user_of(rows[0], "users_")
    seats = tuple(Seat(user.id, row.studies_name, row.seats_expert) for row in rows if row.seats_expert is not None)
    return Grant(token_of(rows[0], "tokens_"), user, seats)


def _revoke(connection: Connection, which: ColumnElement[bool], now: datetime) -> int:
    return connection.execute(
        update(TOKENS).where(which, TOKENS.c.revoked_at.is_(None)).values(revoked_at=text_of(now))
    ).rowcount
