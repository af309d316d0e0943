"""The optional dependencies that every database needs."""

from __future__ import annotations

from importlib.util import find_spec

from quorate.errors import MissingExtraError


def check_extra(what: str) -> None:
    """Say which extra is missing, before an import says it in other words."""
    if find_spec("sqlalchemy") is None or find_spec("alembic") is None:
        raise MissingExtraError(what, "service")
