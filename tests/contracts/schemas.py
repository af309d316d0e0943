"""What the tables and connections of every database must do."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import text

from quorate.errors import StorageError
from quorate.storage import studies
from quorate.storage.database import Database
from quorate.storage.schema import METADATA
from quorate.storage.studies import StoredStudy
from tests.contracts.databases import DatabaseFixtures


class SchemaContract(DatabaseFixtures):
    """Tables that are made and upgraded, and connections that keep to their part."""

    def test_the_steps_lead_to_the_tables_of_the_code(self, db: Database) -> None:
        from alembic.autogenerate import compare_metadata
        from alembic.migration import MigrationContext

        with db.reading() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            assert compare_metadata(context, METADATA) == []

    def test_an_empty_database_is_not_used_as_it_is(self, url: str) -> None:
        Database.unchecked(url).close()
        with pytest.raises(StorageError, match=r"is empty; make its tables with `quorate db upgrade --db .*`"):
            Database.open(url)

    def test_upgrading_twice_changes_nothing(self, url: str) -> None:
        with Database.unchecked(url) as db:
            assert db.version() is None
            assert db.upgrade() is None
            assert db.upgrade() == db.version() == "0001"
        Database.open(url).close()

    @pytest.mark.parametrize(
        ("version", "message"), [("0000", "of a newer quorate than this"), ("9999", "of a newer quorate than this")]
    )
    def test_an_unknown_version_is_refused(self, url: str, db: Database, version: str, message: str) -> None:
        with db.writing() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = :new"), {"new": version})
        for attempt in (lambda: Database.open(url), lambda: Database.open(url, create=True), db.upgrade):
            with pytest.raises(StorageError, match=message):
                attempt()

    def test_an_older_version_is_refused_with_what_to_run(
        self, url: str, db: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("quorate.storage.database.VERSIONS", ("0001", "0002"))
        with pytest.raises(StorageError, match=r"of version 0001, .* needs 0002; run `quorate db upgrade --db"):
            Database.open(url)

    def test_the_tables_of_something_else_are_left_alone(self, url: str) -> None:
        with Database.unchecked(url) as db:
            with db.writing() as connection:
                connection.execute(text("CREATE TABLE patients (id INTEGER)"))
            for attempt in (lambda: Database.open(url, create=True), db.upgrade):
                with pytest.raises(StorageError, match=r"holds tables of something else \(patients\)"):
                    attempt()

    def test_programs_that_start_at_once_make_the_tables_once(self, url: str) -> None:
        failed: list[BaseException] = []

        def start() -> None:
            try:
                Database.open(url, create=True).close()
            except BaseException as error:  # the thread ends here: told in the test's own
                failed.append(error)
                raise

        threads = [threading.Thread(target=start) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed

    def test_a_connection_for_reading_cannot_write(self, db: Database, stored: StoredStudy) -> None:
        from sqlalchemy.exc import DBAPIError

        with pytest.raises((StorageError, DBAPIError)), db.reading() as connection:
            connection.execute(text("DELETE FROM studies"))
        assert studies.names(db) == ["cxr"]

    def test_a_transaction_that_fails_is_undone(self, db: Database) -> None:
        def fail() -> None:
            with db.writing() as connection:
                connection.execute(text("DELETE FROM alembic_version"))
                raise KeyError("stop")

        with pytest.raises(KeyError):
            fail()
        assert db.version() == "0001"

    def test_writing_inside_writing_is_a_mistake_that_is_told(self, db: Database) -> None:
        with db.writing(), pytest.raises(RuntimeError, match="cannot begin to write again"), db.writing():
            pass
        with db.writing():
            pass
