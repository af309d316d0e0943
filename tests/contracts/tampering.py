"""Whatever is edited behind quorate's back, `verify` finds it."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Connection, Table, and_, delete, insert, select, update

from quorate.errors import QuorateError
from quorate.storage import studies
from quorate.storage.database import Database
from quorate.storage.schema import CASES, DRAWS, EVENTS, STUDIES
from quorate.storage.studies import StoredStudy
from tests.contracts.databases import DatabaseFixtures
from tests.contracts.happenings import COUNTING, LEARNING, Ticking, learned, lived

NUMBERS = ("probability", "low", "high", "stated_error")


class UndoError(QuorateError):
    """Ends a transaction without keeping what it did."""


def found_after(db: Database, change: Any) -> list[str]:
    """What is found once a change was made, which is undone again."""
    found: list[str] = []

    def attempt() -> None:
        from quorate.storage.inspection import problems

        with db.writing() as connection:
            change(connection)
            found.extend(problems(connection))
            raise UndoError

    with pytest.raises(UndoError):
        attempt()
    return found


def other(value: object, column: str) -> object:
    """A value unlike another, that the column takes."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 77
        case None:
            return {"kept": True}.get(column, 0.5 if column in NUMBERS else "x")
        case "open" | "settled" | "imported" if column == "state":
            return "settled" if value == "open" else "open"
    return f"{value} "


class TamperingContract(DatabaseFixtures):
    """Each column of each row that matters is edited, and rows come, go and change places."""

    @pytest.fixture
    def stored(self, db: Database) -> StoredStudy:
        stored = studies.create(db, "cxr", COUNTING, clock=Ticking())
        lived(stored.study)
        return stored

    @pytest.fixture
    def beside(self, db: Database) -> StoredStudy:
        """Another study, for rows to be moved to."""
        return studies.create(db, "beside", COUNTING)

    def edits(self, connection: Connection, table: Table, stored: StoredStudy) -> list[tuple[str, Any, Any]]:
        """Every column of some rows of a table, with what tells the row and what to put there."""
        own = table.c.id if table is STUDIES else table.c.study_id
        rows = connection.execute(select(table).where(own == stored.id)).mappings().all()
        found = []
        for row in [rows[0], rows[len(rows) // 2], rows[-1]]:
            this = and_(*(column == row[column.name] for column in table.primary_key))
            found += [(column.name, this, other(row[column.name], column.name)) for column in table.c]
        return found

    @pytest.mark.parametrize("table", [STUDIES, EVENTS, CASES], ids=lambda table: table.name)
    def test_every_edited_column_is_found(
        self, db: Database, stored: StoredStudy, beside: StoredStudy, table: Table
    ) -> None:
        assert db.verify() == []
        with db.reading() as connection:
            edits = self.edits(connection, table, stored)
        for column, this, value in edits:
            if column == "id":
                continue  # its events would be without a study: the database refuses it
            edit = update(table).where(this).values({column: beside.id if column == "study_id" else value})

            def change(connection: Connection, edit: Any = edit) -> None:
                assert connection.execute(edit).rowcount == 1

            assert found_after(db, change), (table.name, column)
        assert db.verify() == []

    @pytest.mark.parametrize("number", [1, 5, 28])
    def test_a_removed_event_is_found(self, db: Database, stored: StoredStudy, number: int) -> None:
        this = and_(EVENTS.c.study_id == stored.id, EVENTS.c.number == number)
        assert len(stored.journal) == 28
        found = found_after(db, lambda connection: connection.execute(delete(EVENTS).where(this)))
        assert found

    def test_events_cut_off_at_the_end_are_found_though_the_count_is_edited_too(
        self, db: Database, stored: StoredStudy
    ) -> None:
        def change(connection: Connection) -> None:
            connection.execute(delete(EVENTS).where(EVENTS.c.study_id == stored.id, EVENTS.c.number > 20))
            connection.execute(update(STUDIES).values(count=20))

        assert any("does not end with the event" in problem for problem in found_after(db, change))

    def test_an_inserted_event_is_found(self, db: Database, stored: StoredStudy) -> None:
        def change(connection: Connection) -> None:
            last = connection.execute(select(EVENTS).where(EVENTS.c.number == 28)).mappings().one()
            connection.execute(insert(EVENTS).values({**last, "number": 29}))
            connection.execute(update(STUDIES).values(count=29))

        assert any("event 29 (Leased) was changed" in problem for problem in found_after(db, change))

    def test_events_that_changed_places_are_found(self, db: Database, stored: StoredStudy) -> None:
        def change(connection: Connection) -> None:
            for before, after in ((4, 1004), (5, 4), (1004, 5)):
                connection.execute(update(EVENTS).where(EVENTS.c.number == before).values(number=after))

        found = found_after(db, change)
        assert any("event 4 " in problem for problem in found)

    def test_a_removed_or_an_added_case_is_found(self, db: Database, stored: StoredStudy) -> None:
        this = and_(CASES.c.study_id == stored.id, CASES.c.key == "plain")
        removed = found_after(db, lambda connection: connection.execute(delete(CASES).where(this)))
        assert removed == ["study 'cxr': case 'plain' is not in the read table"]

        def change(connection: Connection) -> None:
            row = connection.execute(select(CASES).where(this)).mappings().one()
            connection.execute(insert(CASES).values({**row, "key": "made up", "place": 99}))

        assert found_after(db, change) == ["study 'cxr': case 'made up' is in the read table and in no event"]

    def test_what_cannot_be_read_is_told_and_nothing_hides_behind_it(self, db: Database, stored: StoredStudy) -> None:
        this = and_(EVENTS.c.study_id == stored.id, EVENTS.c.number == 3)
        for body in ("{", '{"key":"plain"}', '{"expert":0,"key":"plain","vote":0,"mood":1}'):
            change = update(EVENTS).where(this).values(body=body)
            found = found_after(db, lambda connection, change=change: connection.execute(change))
            assert any("event 3 (Leased) was changed" in problem for problem in found)
            assert any("event 3 cannot be read" in problem for problem in found)

    def test_many_problems_are_counted(self, db: Database) -> None:
        stored = studies.create(db, "long", COUNTING)
        with stored.batch():
            for n in range(50):
                stored.study.open(f"case-{n}", {"net": [0.5, 0.5]})
        found = found_after(db, lambda connection: connection.execute(update(CASES).values(audit=True)))
        assert len(found) == 21
        assert found[0] == "study 'long': case 'case-0' is not what its events say: audit"
        assert found[-1] == "study 'long': and 30 more like it"

    def test_edited_draws_are_found(self, db: Database) -> None:
        stored = studies.create(db, "learning", LEARNING)
        learned(stored.study, 0, 1)
        for column in ("digest", "content"):
            value = {"digest": "0" * 64, "content": b"PK"}[column]
            change = update(DRAWS).values({column: value})
            found = found_after(db, lambda connection, change=change: connection.execute(change))
            assert any("draws" in problem for problem in found)
        assert any("missing" in problem for problem in found_after(db, lambda c: c.execute(delete(DRAWS))))
