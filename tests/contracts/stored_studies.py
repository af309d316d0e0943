"""What studies in every database must do."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from sqlalchemy import insert, select, text, update

from quorate.assembly import create_study
from quorate.core.decision import Query
from quorate.errors import InputError, NotFoundError, StaleJournalError, StorageError, StudyError
from quorate.models.stored import predictor_to_npz
from quorate.storage import listing, studies
from quorate.storage.database import Database
from quorate.storage.records import CaseRecord, key_of, record_after
from quorate.storage.schema import CASES, DRAWS, SEATS, USERS
from quorate.storage.studies import StoredStudy
from quorate.study.events import Adopted
from tests.contracts.databases import DatabaseFixtures
from tests.contracts.happenings import COUNTING, LEARNING, PANEL, learned, lived


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

    def test_the_read_table_counts_what_others_wrote_and_nothing_that_failed(
        self, db: Database, stored: StoredStudy, url: str
    ) -> None:
        stored.study.open("a", {"net": [0.5, 0.5]})
        stored.study.tell("a", "ann", "normal")
        with Database.open(url) as others:
            beside = studies.load(others, stored.name)
            beside.study.tell("a", "ben", "abnormal")
        assert stored.refresh() == 1

        def undone() -> None:
            with stored.batch():
                stored.study.tell("a", "cho", "abnormal")
                assert len(stored.journal) == len(list(stored.journal))  # written, and not committed
                raise RuntimeError("undone")

        with pytest.raises(RuntimeError, match="undone"):
            undone()
        with stored.batch():
            stored.study.tell("a", "cho", "normal")
            assert len(stored.journal) == len(list(stored.journal))
            stored.study.withdraw("a", "ann")
        record = listing.find(db, stored.id, "a")
        assert record is not None
        assert record.votes == {1: 1, 2: 0}
        assert db.verify() == []

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
