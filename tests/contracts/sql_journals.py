"""What a study's events in every database must do, beside what every journal does."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from quorate.core.case import Case
from quorate.errors import InputError, NotFoundError, StaleJournalError, StudyError
from quorate.storage import listing, studies
from quorate.storage.database import Database
from quorate.storage.journal import SqlJournal
from quorate.storage.records import key_of
from quorate.storage.studies import StoredStudy
from quorate.study.events import Opened, Voted
from tests.contracts.databases import DatabaseFixtures
from tests.contracts.happenings import EVERY_KIND
from tests.contracts.journals import JournalContract


class SqlJournalContract(DatabaseFixtures, JournalContract):
    """A journal in a database, with all that a journal in memory has no use for."""

    @pytest.fixture
    def journal(self, stored: StoredStudy) -> SqlJournal:
        return stored.journal

    def other(self, journal: SqlJournal) -> SqlJournal:
        """The same journal as another program sees it."""
        return SqlJournal(journal.db, journal.study_id, journal.clock)

    def test_another_program_sees_what_was_appended(self, journal: SqlJournal, url: str) -> None:
        for event in EVERY_KIND:
            journal.append(event)
        with Database.open(url) as again:
            seen = SqlJournal(again, journal.study_id)
            assert len(seen) == len(EVERY_KIND)
            assert list(seen) == list(EVERY_KIND)

    def test_events_have_numbers_and_times(self, journal: SqlJournal) -> None:
        for event in EVERY_KIND[:3]:
            journal.append(event)
        times = [f"2025-03-30T{time}.000005+00:00" for time in ("00:59:59", "01:00:00", "01:00:01")]
        assert journal.since(0) == list(zip((1, 2, 3), times, EVERY_KIND[:3], strict=True))
        assert journal.since(2) == [(3, times[2], EVERY_KIND[2])]
        assert journal.since(3) == []

    def test_a_batch_is_kept_as_one(self, journal: SqlJournal) -> None:
        beside = self.other(journal)
        with journal.batch():
            for event in EVERY_KIND[:4]:
                journal.append(event)
            assert len(journal) == 4
            assert list(journal) == list(EVERY_KIND[:4])
            assert beside.catch_up() == []
        assert len(journal) == 4
        assert beside.catch_up() == list(EVERY_KIND[:4])
        assert beside.catch_up() == []

    def test_a_batch_inside_a_batch_is_part_of_it(self, journal: SqlJournal) -> None:
        def fail() -> None:
            with journal.batch():
                with journal.batch():
                    journal.append(EVERY_KIND[0])
                raise KeyError("stop")

        with pytest.raises(KeyError):
            fail()
        assert list(journal) == []

    def test_nothing_of_a_batch_that_fails_is_kept(self, journal: SqlJournal) -> None:
        journal.append(EVERY_KIND[0])

        def fail() -> None:
            with journal.batch():
                journal.append(EVERY_KIND[1])
                assert len(list(journal)) == 2  # so that it was written, and is undone
                raise KeyError("stop")

        with pytest.raises(KeyError):
            fail()
        assert len(journal) == 1
        assert list(self.other(journal)) == [EVERY_KIND[0]]
        journal.append(EVERY_KIND[1])
        assert journal.db.verify() == []

    def test_an_event_that_cannot_be_kept_leaves_no_trace(self, journal: SqlJournal) -> None:
        for case in (Case("nul\0", (None,), (True,)), Case("half\ud800", (None,), (True,)), Case("x" * 501, (), ())):
            with pytest.raises(InputError, match="store"):
                journal.append(Opened(case))
        with pytest.raises(StudyError, match="never opened"):
            journal.append(Voted("unknown", 0, 1))
        journal.append(EVERY_KIND[0])
        with pytest.raises(StudyError, match="already"):
            journal.append(EVERY_KIND[0])
        assert list(journal) == [EVERY_KIND[0]]
        assert journal.db.verify() == []

    def test_the_longest_keys_are_found_again(self, journal: SqlJournal, db: Database) -> None:
        keys = ["\N{PILE OF POO}" * 500, "'; DROP TABLE events; --", "%_\\", " "]
        for key in keys:
            journal.append(Opened(replace(EVERY_KIND[0].case, key=key)))  # type: ignore[union-attr]
        for key in keys:
            found = listing.find(db, journal.study_id, key)
            assert found is not None
            assert found.key == key

    def test_a_journal_that_others_changed_is_refused_before_anything_is_written(self, journal: SqlJournal) -> None:
        beside = self.other(journal)
        beside.append(EVERY_KIND[0])
        with pytest.raises(StaleJournalError, match=r"'cxr' was changed by another program meanwhile: it has 1 events"):
            journal.append(EVERY_KIND[0])
        inside = False
        with pytest.raises(StaleJournalError), journal.batch():
            inside = True
        assert not inside
        assert len(journal) == 0
        assert journal.catch_up() == [EVERY_KIND[0]]
        journal.append(EVERY_KIND[1])
        assert list(journal) == list(EVERY_KIND[:2])

    def test_an_iteration_stays_with_what_this_journal_has_seen(self, journal: SqlJournal) -> None:
        journal.append(EVERY_KIND[0])
        beside = self.other(journal)
        beside.append(EVERY_KIND[1])
        assert list(journal) == [EVERY_KIND[0]]
        assert len(journal) == 1

    def test_a_deleted_study_takes_no_events(self, journal: SqlJournal, db: Database) -> None:
        studies.delete(db, "cxr")
        with pytest.raises(NotFoundError, match="'cxr' was deleted"):
            journal.append(EVERY_KIND[0])
        with pytest.raises(NotFoundError, match="deleted"):
            journal.catch_up()
        with pytest.raises(NotFoundError, match="no study number"):
            self.other(journal)

    def test_two_connections_write_in_turns(self, journal: SqlJournal, url: str) -> None:
        failed: list[BaseException] = []

        def write(name: str) -> None:
            try:
                with Database.open(url) as own:
                    _appended(SqlJournal(own, journal.study_id), name, 25)
            except BaseException as error:  # the thread ends here: told in the test's own
                failed.append(error)
                raise

        threads = [threading.Thread(target=write, args=(name,)) for name in ("one", "two", "three")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        journal.catch_up()
        opened = [key_of(event) for event in journal]
        assert sorted(map(str, opened)) == sorted(f"{who}-{n}" for who in ("one", "two", "three") for n in range(25))
        assert journal.db.verify() == []

    def test_two_processes_write_in_turns(self, journal: SqlJournal, url: str) -> None:
        code = (
            "import sys; from quorate.storage.database import Database;"
            "from quorate.storage.journal import SqlJournal; from tests.contracts.sql_journals import _appended;"
            "_appended(SqlJournal(Database.open(sys.argv[1]), int(sys.argv[2])), sys.argv[3], 25)"
        )
        command = [sys.executable, "-c", code, url, str(journal.study_id)]
        running = [subprocess.Popen([*command, name]) for name in ("one", "two")]
        assert [one.wait(timeout=120) for one in running] == [0, 0]
        assert len(journal.catch_up()) == 50
        assert journal.db.verify() == []


def _appended(journal: SqlJournal, name: str, count: int) -> None:
    """Open cases as one of several programs: whoever comes late catches up and does it again."""
    done = 0
    while done < count:
        try:
            journal.append(Opened(Case(f"{name}-{done}", ((0.5, 0.5),), (True, True, True))))
            done += 1
        except StaleJournalError:
            journal.catch_up()
