"""Studies in a database: create, load, follow what other programs append, delete."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from sqlalchemy import delete as delete_from
from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from quorate.assembly import Plan
from quorate.core.case import Show
from quorate.core.history import History
from quorate.core.panel import Panel
from quorate.core.protocols import Predictor
from quorate.errors import InputError, NotFoundError, SettingsError, StaleJournalError, StudyError
from quorate.models.stored import predictor_to_npz
from quorate.storage import listing
from quorate.storage.addresses import check_expert, check_key, check_names
from quorate.storage.chain import Clock, now, origin, stamp
from quorate.storage.codec import canonical, event_from_text, from_plain, plain, to_plain
from quorate.storage.config import StudyConfig
from quorate.storage.database import Database
from quorate.storage.draws import DrawKeeper, last_fit
from quorate.storage.journal import SqlJournal
from quorate.storage.schema import EVENTS, STUDIES
from quorate.study.events import Adopted, Event, Joined, Replaced
from quorate.study.method import Job, Method
from quorate.study.seeds import generator
from quorate.study.state import folded
from quorate.study.study import Study
from quorate.study.verbs import Probabilities

Answer = TypeVar("Answer")
TRIES = 5
"""How often a change is tried when other programs write to the same study meanwhile."""
LEARNED_FROM = 2000
"""The most recent cases that a study learns from unless its window says otherwise: fits stay short however it grows."""


class KeptStudy(Study):
    """A study in a database, by whichever way it was opened.

    It draws the cases that are audited, and whatever comes new to it has a name that an address of the service can
    hold; what was named otherwise before stays.
    """

    def __init__(
        self,
        name: str,
        created_at: str,
        config: StudyConfig,
        *,
        method: Method,
        journal: SqlJournal,
        keeper: DrawKeeper,
        learned: Predictor | None,
    ) -> None:
        super().__init__(
            config.panel,
            target=config.aim(),
            method=method,
            seed=config.seed,
            name=name,
            journal=journal,
            learned=learned,
            keeper=keeper,
        )
        self._config, self._kept = config, (journal, keeper)
        self._created_at = created_at
        self._audit_share = config.service.audit_share

    def refresh(self) -> int:
        """Take in what other programs have written to the study since; says how many events that were."""
        journal, keeper = self._kept
        stored = StoredStudy(
            journal.db, journal.study_id, self.name, self._created_at, self._config, journal, keeper, self
        )
        found = stored.refresh()
        if stored.study is not self:  # it was loaded anew, since what others had learned is lost
            self.__dict__.update(stored.study.__dict__)
        return found

    def drawn(self, key: str) -> bool:
        """Whether a case is audited: drawn by the study's seed and its key, so that nobody can know or choose."""
        share = self._audit_share
        return share > 0 and bool(generator(self.seed, "audit", self._created_at, key).random() < share)

    def open(
        self,
        key: str,
        probabilities: Probabilities,
        *,
        available: Sequence[str] | None = None,
        audit: bool = False,
        show: Show | None = None,
    ) -> None:
        """A case arrives, audited if it is drawn or if that is wanted."""
        check_key(key)
        super().open(key, probabilities, available=available, audit=audit or self.drawn(key), show=show)

    def import_case(self, key: str, probabilities: Probabilities, votes: Mapping[str, str]) -> None:
        """A past case joins the history with its votes."""
        check_key(key)
        super().import_case(key, probabilities, votes)

    def add_expert(self, name: str, *, cost: float | None = None, by: str | None = None) -> None:
        """A new expert joins, or a retired one returns."""
        if name not in self.panel.experts:
            check_expert(name)
        super().add_expert(name, cost=cost, by=by)


@dataclass
class StoredStudy:
    """A study whose journal and draws are in a database; for one thread at a time.

    `study` is another object after a batch that failed, and after a fit of others that could not be read.
    """

    db: Database
    id: int
    name: str
    created_at: str
    config: StudyConfig
    journal: SqlJournal
    keeper: DrawKeeper
    study: KeptStudy
    notes: tuple[str, ...] = field(default=())  # what was wrong when it was loaded, and what was done about it

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Everything written inside is kept as one, on leaving; where something is raised, nothing has happened."""
        before = copy.copy(self.study)  # all that it holds is replaced, never changed
        try:
            with self.journal.batch():
                yield
        except BaseException:
            self.study = before
            raise

    @contextmanager
    def part(self) -> Iterator[KeptStudy]:
        """A part of a batch: where something is raised inside, it alone has not happened, and the batch may go on."""
        before = copy.copy(self.study)
        with self.journal.part():
            try:
                yield self.study
            except BaseException:
                self.study = before
                raise

    def shown(self, keys: Sequence[str]) -> dict[str, Show | None]:
        """What experts are shown of some cases; safe for many threads."""
        kept = {key: self.journal.records.get(key) for key in keys}
        read = listing.shown(self.db, self.id, [key for key, record in kept.items() if record is None])
        return {key: read[key] if record is None else record.show for key, record in kept.items()}

    def tried(self, change: Callable[[KeptStudy], Answer]) -> Answer:
        """Make a change as one; where another program was first, take in what it did and make the change again."""
        for _ in range(TRIES - 1):
            try:
                with self.batch():
                    return change(self.study)
            except StaleJournalError:
                self.refresh()
        with self.batch():
            return change(self.study)

    def adopt(self, job: Job, predictor: Predictor) -> None:
        """Put what a job has learned in force, and store it."""
        with self.batch():
            self.study.adopt(job, predictor)

    def refresh(self) -> int:
        """Take in what other programs have appended; says how many events."""
        return len(self.take_in())

    def take_in(self) -> list[Event]:
        """Take in what other programs have appended, and give it: all, or where that fails, nothing."""
        seen = self.journal.seen
        events = self.journal.catch_up()
        last = next((event for event in reversed(events) if isinstance(event, Adopted)), None)
        try:
            learned = self._learned(last)
            if last is not None and learned is None:
                return events + self._reload()
        except BaseException:  # the database has gone away: all of it is taken in another time
            self.journal.return_to(seen)
            raise
        for event in events:
            self.study.follow(event, learned if event is last else None)
        return events

    def _learned(self, fit: Adopted | None) -> Predictor | None:
        """What a fit of others has learned; None where that is lost, or dropped by now for that of a newer fit."""
        if fit is None:
            return None
        try:
            return self.keeper.get(fit.digest, _panel_of(fit, self.journal, self.config))
        except InputError:
            return None

    def _reload(self) -> list[Event]:
        """Load the study anew; gives the events that has brought."""
        again = load(self.db, self.name, clock=self.journal.clock)
        brought = [event for _, _, event in again.journal.since(len(self.journal))]
        self.journal, self.keeper, self.study, self.notes = again.journal, again.keeper, again.study, again.notes
        return brought


def create(db: Database, name: str, config: StudyConfig, *, clock: Clock = now) -> StoredStudy:
    """A new study of a name that no other has; unless told, it learns from a bounded number of recent cases."""
    check_names(name, config.panel.experts)
    plan = config.plan()
    _check_storable(config, plan)
    if plan.schedule is not None and plan.method.window is None:
        config = replace(config, options=replace(config.options, window=LEARNED_FROM))
    at, text = stamp(clock()), canonical(to_plain(config))
    values = {"name": name, "created_at": at, "config": text, "count": 0, "head": origin(name, at, text)}
    try:
        with db.writing() as connection:
            made = connection.execute(insert(STUDIES).values(**values).returning(STUDIES.c.id)).scalar_one()
    except IntegrityError:
        raise StudyError(
            f"study {name!r} exists already in {db.url}; choose another name, or open it by its name"
        ) from None
    return _loaded(db, made, name, at, config, clock)


def _check_storable(config: StudyConfig, plan: Plan) -> None:
    """Refuse a method that learns what cannot be stored: each start would learn everything from nothing."""
    if plan.schedule is None:  # it never learns
        return
    prior = plan.method.learner.update(generator(config.seed, "fit", 0), History(config.panel), None)
    try:
        predictor_to_npz(prior)
    except InputError:
        raise SettingsError(
            f"what method {config.options.method!r} learns cannot be stored; expected a Bayesian method, such as "
            "'bayes', or one that only counts votes, such as 'all'"
        ) from None


def names(db: Database) -> list[str]:
    """All studies, in the order they were created."""
    with db.reading() as connection:
        return list(connection.execute(select(STUDIES.c.name).order_by(STUDIES.c.id)).scalars())


def load(db: Database, name: str, *, clock: Clock = now) -> StoredStudy:
    """A study as it was left, with what it had learned; nothing is learned again unless that is lost."""
    with db.reading() as connection:
        found = connection.execute(
            select(STUDIES.c.id, STUDIES.c.created_at, STUDIES.c.config).where(STUDIES.c.name == name)
        ).one_or_none()
    if found is None:
        raise missing(db, name)
    config = from_plain(StudyConfig, plain(found.config, f"the configuration of study {name!r}"))
    return _loaded(db, found.id, name, found.created_at, config, clock)


def missing(db: Database, name: str) -> NotFoundError:
    """What is said of a study that is not there."""
    return NotFoundError(f"no study {name!r} in {db.url}; it has {', '.join(names(db)) or 'none'}")


def delete(db: Database, name: str) -> None:
    """Delete a study with everything that belongs to it."""
    with db.writing() as connection:
        gone = connection.execute(delete_from(STUDIES).where(STUDIES.c.name == name)).rowcount
    if not gone:
        raise missing(db, name)


def _loaded(db: Database, id_: int, name: str, at: str, config: StudyConfig, clock: Clock) -> StoredStudy:
    journal = SqlJournal(db, id_, clock)
    keeper, plan, last = DrawKeeper(journal), config.plan(), last_fit(journal)
    job: Job | None = None
    learned: Predictor | None = None
    notes: tuple[str, ...] = ()
    if last is not None:
        try:
            learned = keeper.get(last.digest, _panel_of(last, journal, config))
        except InputError as error:
            if journal.catch_up():  # others went on meanwhile, and may have replaced what was in force
                return _loaded(db, id_, name, at, config, clock)
            state = folded(config.panel, journal)
            recent = state.history.window(plan.method.window)
            job = Job(last.fit + 1, state.events, len(state.history), config.seed, plan.method.learner, recent, None)
            learned = job.run()
            notes = (
                f"study {name!r}: what fit {last.fit} had learned is lost ({error}); "
                f"fit {job.fit} learned from all of the history anew",
            )
    study = KeptStudy(name, at, config, method=plan.method, journal=journal, keeper=keeper, learned=learned)
    stored = StoredStudy(db, id_, name, at, config, journal, keeper, study, notes)
    if job is not None and last is not None and learned is not None:
        with stored.batch():
            stored.study.adopt(job, learned)
            keeper.drop(last.digest)
    return stored


def _panel_of(fit: Adopted, journal: SqlJournal, config: StudyConfig) -> Panel:
    """The panel that a fit knew: that of the start, and whoever came before the fit was started."""
    with journal.reading() as connection:
        growth = connection.execute(
            select(EVENTS.c.kind, EVENTS.c.body)
            .where(EVENTS.c.study_id == journal.study_id, EVENTS.c.number <= fit.seen)
            .where(EVENTS.c.kind.in_([Joined.__name__, Replaced.__name__]))
            .order_by(EVENTS.c.number)
        ).all()
    return folded(config.panel, (event_from_text(kind, body) for kind, body in growth)).panel
