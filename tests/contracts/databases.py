"""What every database must do; `test_sqlite` and `test_postgresql` subclass these with a `url` of an empty one."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import insert, select, text, update

from quorate.assembly import create_study
from quorate.core.case import Case
from quorate.core.decision import Query
from quorate.errors import InputError, NotFoundError, StaleJournalError, StorageError, StudyError
from quorate.models.stored import predictor_to_npz
from quorate.storage import listing, studies
from quorate.storage.database import Database
from quorate.storage.journal import SqlJournal
from quorate.storage.records import CaseRecord, key_of, record_after
from quorate.storage.schema import CASES, DRAWS, METADATA, SEATS, USERS
from quorate.storage.studies import StoredStudy
from quorate.study.events import Adopted, Opened, Voted
from tests.contracts.happenings import COUNTING, EVERY_KIND, LEARNING, PANEL, Ticking, learned, lived
from tests.contracts.journals import JournalContract


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
            "from quorate.storage.journal import SqlJournal; from tests.contracts.databases import _appended;"
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


class StudiesContract(DatabaseFixtures):
    """Studies that are created, loaded, followed and deleted; what they learn; what is read of them."""

    def test_create_load_and_delete(self, db: Database) -> None:
        assert studies.names(db) == []
        one = studies.create(db, "one", COUNTING)
        two = studies.create(db, "two", replace(COUNTING, target="any:abnormal", seed=3))
        assert studies.names(db) == ["one", "two"]
        lived(one.study)
        two.study.open("a", {"net": [0.5, 0.5]})
        again = studies.load(db, "two")
        assert (again.id, again.created_at, again.config, again.notes) == (two.id, two.created_at, two.config, ())
        assert again.study.target.name == "any:abnormal"
        assert again.study.seed == 3
        studies.delete(db, "one")
        assert studies.names(db) == ["two"]
        assert again.study.ask("a") == two.study.ask("a")
        with pytest.raises(NotFoundError, match=r"no study 'one' in .*; it has two"):
            studies.load(db, "one")
        with pytest.raises(NotFoundError, match="no study 'one'"):
            studies.delete(db, "one")
        assert studies.create(db, "one", COUNTING).id not in (one.id, two.id)
        with db.reading() as connection:
            assert connection.execute(select(CASES.c.key)).scalars().all() == ["a"]

    def test_a_name_has_one_study(self, db: Database, stored: StoredStudy) -> None:
        with pytest.raises(StudyError, match="study 'cxr' exists already"):
            studies.create(db, stored.name, COUNTING)
        assert studies.names(db) == ["cxr"]

    def test_a_study_from_storage_asks_what_the_one_in_memory_asks(self, db: Database) -> None:
        stored = studies.create(db, "cxr", LEARNING)
        memory = create_study(PANEL, seed=LEARNING.seed, options=LEARNING.options)
        for first, last in ((0, 2), (2, 4)):
            learned(stored.study, first, last)
            learned(memory, first, last)
            stored = studies.load(db, "cxr")
            assert stored.notes == ()
            assert predictor_to_npz(stored.study.predictor) == predictor_to_npz(memory.predictor)
        for study in (stored.study, memory):
            study.add_expert("dee")
            study.open("last", {"net": [0.45, 0.55]})
        loaded = studies.load(db, "cxr").study  # its draws know a smaller panel
        questions = [study.ask("last") for study in (stored.study, memory, loaded)]
        assert isinstance(questions[0], Query)
        assert questions[0] == questions[1] == questions[2]

    def test_draws_in_force_and_those_before_are_kept(self, db: Database) -> None:
        stored = studies.create(db, "cxr", LEARNING)
        other = studies.create(db, "same", LEARNING)  # learns the same, to the bit
        learned(stored.study, 0, 3)
        learned(other.study, 0, 1)
        digests = [event.digest for event in stored.journal if isinstance(event, Adopted)]
        assert len(set(digests)) == 3
        with db.reading() as connection:
            kept = {(study, digest) for study, digest in connection.execute(select(DRAWS.c.study_id, DRAWS.c.digest))}
        assert kept == {(stored.id, digests[1]), (stored.id, digests[2]), (other.id, digests[0])}
        assert db.verify() == []

    @pytest.mark.parametrize("how", ["missing", "changed"])
    def test_lost_draws_are_learned_anew_and_it_is_said(self, db: Database, how: str) -> None:
        stored = studies.create(db, "cxr", LEARNING)
        learned(stored.study, 0, 2)
        with db.writing() as connection:
            connection.execute(text("DELETE FROM draws") if how == "missing" else update(DRAWS).values(content=b"PK"))
        assert any("draws" in problem for problem in db.verify())
        again = studies.load(db, "cxr")
        assert len(again.notes) == 1
        assert "what fit 2 had learned is lost" in again.notes[0]
        assert again.study.state.fits == 3
        assert db.verify() == []
        assert studies.load(db, "cxr").notes == ()
        learned(again.study, 2, 3)

    def test_a_batch_of_a_study_happens_whole_or_not_at_all(self, stored: StoredStudy) -> None:
        def fail() -> None:
            with stored.batch():
                stored.study.open("one", {"net": [0.2, 0.8]})
                stored.study.tell("one", "ann", "normal")
                stored.study.tell("one", "ann", "abnormal")

        with pytest.raises(StudyError, match="has voted 'normal'"):
            fail()
        assert not stored.study.state.places
        with stored.batch():
            stored.study.open("one", {"net": [0.2, 0.8]})
            stored.study.tell("one", "ann", "abnormal")
        assert len(stored.journal) == 2
        assert studies.load(stored.db, "cxr").study.state == stored.study.state

    def test_refreshing_follows_what_others_did(self, db: Database, url: str) -> None:
        here = studies.create(db, "cxr", LEARNING)
        with Database.open(url) as elsewhere:
            there = studies.load(elsewhere, "cxr")
            there.study.open("early", {"net": [0.5, 0.5]})
            assert here.refresh() == 1
            assert here.study.state == there.study.state
            learned(there.study, 0, 2)
            with pytest.raises(StaleJournalError):
                here.study.open("late", {"net": [0.5, 0.5]})
            assert here.refresh() == len(there.journal) - 1
            assert here.refresh() == 0
            assert here.study.state == there.study.state
            assert here.study.ask("early") == there.study.ask("early")
            here.study.open("late", {"net": [0.5, 0.5]})
            assert there.refresh() == 1

    def test_refreshing_learns_anew_what_is_lost(self, db: Database) -> None:
        here = studies.create(db, "cxr", LEARNING)
        there = studies.load(db, "cxr")
        learned(there.study, 0, 2)
        with db.writing() as connection:
            connection.execute(text("DELETE FROM draws"))
        assert here.refresh() == len(there.journal) + 1  # and the fit that had to be
        assert "is lost" in here.notes[0]
        assert here.study.state.fits == 3
        assert there.refresh() == 1
        assert predictor_to_npz(there.study.predictor) == predictor_to_npz(here.study.predictor)
        assert db.verify() == []

    def test_a_refresh_that_fails_takes_in_nothing(
        self, db: Database, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here = studies.create(db, "cxr", LEARNING)
        with Database.open(url) as elsewhere:
            there = studies.load(elsewhere, "cxr")
            learned(there.study, 0, 2)

        def gone(*_: object) -> None:
            raise StorageError("the database has gone away")

        for part in ("quorate.storage.journal.event_from_text", "quorate.storage.draws.predictor_from_npz"):
            with monkeypatch.context() as broken:
                broken.setattr(part, gone)
                with pytest.raises(StorageError):
                    here.refresh()
            assert (len(here.journal), here.study.state.events) == (0, 0)
            with pytest.raises(StaleJournalError):
                here.study.open("blind", {"net": [0.5, 0.5]})
        assert here.refresh() == len(there.journal)
        assert here.study.state == there.study.state

    def test_others_can_write_while_one_thinks(self, db: Database, stored: StoredStudy) -> None:
        other = studies.create(db, "other", COUNTING)
        with stored.batch():
            stored.study.open("slow", {"net": [0.5, 0.5]})
            done = threading.Thread(target=lambda: other.study.open("quick", {"net": [0.5, 0.5]}))
            done.start()
            done.join(5)
            assert not done.is_alive()
        assert len(stored.journal) == len(other.journal) == 1
        assert db.verify() == []

    def test_a_fit_that_others_overtook_changes_nothing(self, db: Database) -> None:
        one = studies.create(db, "cxr", LEARNING)
        learned(one.study, 0, 1)
        two = studies.load(db, "cxr")
        one.study.import_case("past", {"net": [0.4, 0.6]}, {"ann": "abnormal"})
        two.refresh()
        jobs = [(each, each.study.due()) for each in (one, two)]
        results = [(each, job, job.run()) for each, job in jobs if job is not None]
        assert len(results) == 2
        two.study.open("between", {"net": [0.5, 0.5]})
        with pytest.raises(StaleJournalError):
            one.adopt(*results[0][1:])
        assert one.study.state.fits == 1
        two.adopt(*results[1][1:])
        one.refresh()
        assert one.study.ask("between") == two.study.ask("between")
        assert studies.load(db, "cxr").notes == ()
        assert db.verify() == []

    def test_the_read_table_is_what_the_events_come_to(self, stored: StoredStudy) -> None:
        lived(stored.study)
        learnable = [record for record in listing.stream(stored.db, stored.id) if record.state != "open"]
        derived: dict[str, CaseRecord] = {}
        for _, at, event in stored.journal.since(0):
            key = key_of(event)
            if key is not None:
                after = record_after(derived.get(key), event, at)
                assert after is not None
                derived[key] = after if after.place else replace(after, place=len(derived) + 1)
        assert list(listing.stream(stored.db, stored.id)) == list(derived.values())
        assert [record.key for record in learnable] == ["past-1", "plain"]
        votes = {case.key: dict(case.votes) for case in stored.study.history}
        assert {record.key: record.votes for record in learnable} == votes

    def test_pages_counts_and_timelines(self, stored: StoredStudy) -> None:
        lived(stored.study)
        db, id_ = stored.db, stored.id
        keys = [record.key for record in listing.page(db, id_)]
        assert keys == ["past-1", "plain", "doubtful", "again", "new"]
        assert [record.place for record in listing.page(db, id_, limit=2)] == [1, 2]
        assert [record.key for record in listing.page(db, id_, after=2, limit=2)] == ["doubtful", "again"]
        assert [record.key for record in listing.page(db, id_, newest_first=True, after=3)] == ["plain", "past-1"]
        assert [record.key for record in listing.page(db, id_, state="open", after=3)] == ["again", "new"]
        assert listing.counts(db, id_) == {"open": 3, "settled": 1, "imported": 1}
        assert [record.key for record in listing.stream(db, id_, state="settled")] == ["plain"]
        happened = [(n, event) for n, _, event in listing.timeline(db, id_, "plain")]
        assert happened == [(n, event) for n, _, event in stored.journal.since(0) if key_of(event) == "plain"]
        assert len(happened) == 7
        assert listing.timeline(db, id_, "nothing") == []
        assert listing.find(db, id_, "nothing") is None
        assert listing.find(db, id_ + 1, "plain") is None
        for limit in (0, 1001):
            with pytest.raises(InputError, match="expected 1 to 1000"):
                listing.page(db, id_, limit=limit)
        with pytest.raises(InputError, match="no state 'closed'"):
            listing.page(db, id_, state="closed")

    def test_streaming_holds_a_few_rows_and_nobody_up(self, stored: StoredStudy) -> None:
        with stored.batch():
            for n in range(1200):
                stored.study.open(f"case-{n}", {"net": [0.5, 0.5]})
        running = listing.stream(stored.db, stored.id)
        first = next(running)
        stored.study.tell("case-1199", "ann", "normal")  # not held up, and not seen: it is one moment
        rest = list(running)
        assert [first.place, *(record.place for record in rest)] == list(range(1, 1201))
        assert rest[-1].votes == {}

    def test_users_and_seats_go_with_what_they_belong_to(self, db: Database, stored: StoredStudy) -> None:
        with db.writing() as connection:
            user = {"id": 1, "name": "ann", "role": "expert", "created_at": "2025", "disabled": False}
            connection.execute(insert(USERS).values(**user))
            connection.execute(insert(SEATS).values(user_id=1, study_id=stored.id, expert="ann"))
        studies.delete(db, "cxr")
        with db.reading() as connection:
            assert connection.execute(select(SEATS)).all() == []
            assert len(connection.execute(select(USERS)).all()) == 1


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
