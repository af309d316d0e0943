"""Steps from one version of the tables to the next, run by Alembic in the transaction of its caller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection

FOLDER = Path(__file__).parent / "migrations"


def steps() -> ScriptDirectory:
    """All steps that there are."""
    return ScriptDirectory(str(FOLDER), version_locations=[str(FOLDER)])


def upgrade(connection: Connection) -> None:
    """Take every step that the database lacks."""
    script = steps()

    def missing(revision: Any, _context: Any) -> Any:
        return script._upgrade_revs("head", revision)  # as Alembic's own command does

    with EnvironmentContext(Config(), script, fn=missing, destination_rev="head") as environment:
        environment.configure(connection=connection, transactional_ddl=True)
        environment.run_migrations()
