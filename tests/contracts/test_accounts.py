"""The contract of accounts, on both databases."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.accounts import AccountsContract


class TestSqlite(AccountsContract):
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return f"sqlite:///{tmp_path}/quorate.db"


class TestPostgresql(AccountsContract):
    @pytest.fixture
    def url(self, postgres_url: str) -> str:
        return postgres_url
