"""What the contracts of databases start from; `test_sqlite` and `test_postgresql` give the `url` of an empty one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from quorate.storage import studies
from quorate.storage.database import Database
from quorate.storage.studies import StoredStudy
from tests.contracts.happenings import COUNTING, Ticking


class DatabaseFixtures:
    """Give it a fixture `url`."""

    @pytest.fixture
    def url(self) -> str:
        raise NotImplementedError

    @pytest.fixture
    def db(self, url: str) -> Iterator[Database]:
        with Database.open(url, create=True) as opened:
            yield opened

    @pytest.fixture
    def stored(self, db: Database) -> StoredStudy:
        return studies.create(db, "cxr", COUNTING, clock=Ticking())
