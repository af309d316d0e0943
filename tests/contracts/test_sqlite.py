"""The storage contract on SQLite."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.schemas import SchemaContract
from tests.contracts.sql_journals import SqlJournalContract
from tests.contracts.stored_studies import StudiesContract
from tests.contracts.tampering import TamperingContract


class SqliteFixture:
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return f"sqlite:///{tmp_path / 'studies.db'}"


class TestJournal(SqliteFixture, SqlJournalContract):
    pass


class TestStudies(SqliteFixture, StudiesContract):
    pass


class TestSchema(SqliteFixture, SchemaContract):
    pass


class TestTampering(SqliteFixture, TamperingContract):
    pass
