"""The first tables: studies with their events, cases and draws; users with their seats and tokens."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "studies",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("config", sa.Text, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("head", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_studies"),
        sa.UniqueConstraint("name", name="uq_studies_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "events",
        sa.Column("study_id", sa.Integer, nullable=False),
        sa.Column("number", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("key", sa.Text),
        sa.PrimaryKeyConstraint("study_id", "number", name="pk_events"),
        _belongs("events", "study"),
    )
    op.create_index("ix_events_study_id_key_number", "events", ["study_id", "key", "number"])
    op.create_table(
        "cases",
        sa.Column("study_id", sa.Integer, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("opened_at", sa.Text, nullable=False),
        sa.Column("settled_at", sa.Text),
        sa.Column("outcome", sa.Text),
        sa.Column("probability", sa.Float),
        sa.Column("low", sa.Float),
        sa.Column("high", sa.Float),
        sa.Column("stated_error", sa.Float),
        sa.Column("reason", sa.Text),
        sa.Column("kept", sa.Boolean),
        sa.Column("human_votes", sa.Integer, nullable=False),
        sa.Column("audit", sa.Boolean, nullable=False),
        sa.Column("would_be", sa.Text),
        sa.Column("asked", sa.Text, nullable=False),
        sa.Column("changed", sa.Boolean, nullable=False),
        sa.Column("show", sa.Text),
        sa.PrimaryKeyConstraint("study_id", "key", name="pk_cases"),
        sa.UniqueConstraint("study_id", "place", name="uq_cases_study_id_place"),
        sa.CheckConstraint("state IN ('open', 'settled', 'imported')", name=op.f("ck_cases_state")),
        _belongs("cases", "study"),
    )
    op.create_index("ix_cases_study_id_state_place", "cases", ["study_id", "state", "place"])
    op.create_table(
        "draws",
        sa.Column("study_id", sa.Integer, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("study_id", "digest", name="pk_draws"),
        _belongs("draws", "study"),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("password", sa.Text),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("disabled", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sa.UniqueConstraint("name", name="uq_users_name"),
        sa.CheckConstraint("role IN ('admin', 'manager', 'expert')", name=op.f("ck_users_role")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "seats",
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("study_id", sa.Integer, nullable=False),
        sa.Column("expert", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "study_id", "expert", name="pk_seats"),
        _belongs("seats", "user"),
        _belongs("seats", "study"),
    )
    op.create_index("ix_seats_study_id", "seats", ["study_id"])
    op.create_table(
        "tokens",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Text),
        sa.Column("used_at", sa.Text),
        sa.Column("revoked_at", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("digest", name="uq_tokens_digest"),
        sa.CheckConstraint("kind IN ('session', 'api', 'link')", name=op.f("ck_tokens_kind")),
        _belongs("tokens", "user"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_tokens_user_id", "tokens", ["user_id"])


def _belongs(table: str, owner: str) -> sa.ForeignKeyConstraint:
    """Rows go with the study or the user that they are of."""
    column, owners = f"{owner}_id", {"study": "studies", "user": "users"}[owner]
    return sa.ForeignKeyConstraint([column], [f"{owners}.id"], name=f"fk_{table}_{column}", ondelete="CASCADE")
