"""The storage contract on a real PostgreSQL."""

from __future__ import annotations

import pytest

from tests.contracts.schemas import SchemaContract
from tests.contracts.sql_journals import SqlJournalContract
from tests.contracts.stored_studies import StudiesContract
from tests.contracts.tampering import TamperingContract


class PostgresFixture:
    @pytest.fixture
    def url(self, postgres_url: str) -> str:
        return postgres_url


class TestJournal(PostgresFixture, SqlJournalContract):
    pass


class TestStudies(PostgresFixture, StudiesContract):
    pass


class TestSchema(PostgresFixture, SchemaContract):
    pass


class TestTampering(PostgresFixture, TamperingContract):
    pass
