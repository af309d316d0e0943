"""The tables. Events and configurations are the truth; `cases` can be derived from them again.

Times are texts, ISO-8601 in UTC with microseconds, so that their order is that of the texts in every database.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

STATES = ("open", "settled", "imported")
ROLES = ("admin", "manager", "expert")
TOKEN_KINDS = ("session", "api", "link")


def _one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


STUDIES = Table(
    "studies",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("created_at", Text, nullable=False),
    Column("config", Text, nullable=False),  # canonical JSON
    Column("count", Integer, nullable=False),  # number of the last event
    Column("head", Text, nullable=False),  # its hash; before any event, that of the configuration
    sqlite_autoincrement=True,  # the number of a study that was deleted is never another's
)

EVENTS = Table(
    "events",
    METADATA,
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),  # from 1
    Column("at", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),  # canonical JSON
    Column("hash", Text, nullable=False),  # of all this and of the event before
    Column("key", Text),  # of the case that it is of, as in the body: to find it by
    Index(None, "study_id", "key", "number"),
)

CASES = Table(
    "cases",
    METADATA,
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("key", Text, primary_key=True),
    Column("place", Integer, nullable=False),  # from 1, as they came
    Column("state", Text, nullable=False),
    Column("opened_at", Text, nullable=False),
    Column("settled_at", Text),
    Column("outcome", Text),
    Column("probability", Float),
    Column("low", Float),
    Column("high", Float),
    Column("stated_error", Float),
    Column("reason", Text),
    Column("kept", Boolean),
    Column("human_votes", Integer, nullable=False),
    Column("audit", Boolean, nullable=False),
    Column("would_be", Text),  # canonical JSON: the decision that an audit holds back
    Column("asked", Text, nullable=False),  # canonical JSON: [[expert, vote or null, how, at], ...] in order
    Column("changed", Boolean, nullable=False),  # a vote came, changed or went after it settled
    Column("show", Text),  # canonical JSON: what experts are shown
    UniqueConstraint("study_id", "place"),
    Index(None, "study_id", "state", "place"),
    _one_of("state", STATES),
)

DRAWS = Table(
    "draws",
    METADATA,
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("digest", Text, primary_key=True),  # SHA-256 of the content, in hex
    Column("at", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),  # an .npz file
)

USERS = Table(
    "users",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("role", Text, nullable=False),
    Column("password", Text),  # argon2id; null: signs in by link alone
    Column("created_at", Text, nullable=False),
    Column("disabled", Boolean, nullable=False),
    _one_of("role", ROLES),
    sqlite_autoincrement=True,
)

SEATS = Table(
    "seats",
    METADATA,
    Column("user_id", Integer, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("expert", Text, primary_key=True),
    Index(None, "study_id"),
)

TOKENS = Table(
    "tokens",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("user_id", Integer, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("digest", Text, nullable=False, unique=True),  # HMAC-SHA256 of the secret, in hex
    Column("label", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("expires_at", Text),
    Column("used_at", Text),
    Column("revoked_at", Text),
    Index(None, "user_id"),
    _one_of("kind", TOKEN_KINDS),
    sqlite_autoincrement=True,
)
