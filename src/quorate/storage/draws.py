"""What a study has learned, as .npz content under its digest; the one in force and the one before are kept."""

from __future__ import annotations

import hashlib

from sqlalchemy import delete, insert, select

from quorate.core.panel import Panel
from quorate.core.protocols import Predictor
from quorate.errors import InputError
from quorate.models.stored import predictor_from_npz, predictor_to_npz
from quorate.storage.chain import stamp
from quorate.storage.codec import event_from_text
from quorate.storage.journal import SqlJournal
from quorate.storage.schema import DRAWS, EVENTS
from quorate.study.events import Adopted


def last_fit(journal: SqlJournal) -> Adopted | None:
    """The event by which a study adopted its last fit, of those that the journal has seen."""
    seen = (EVENTS.c.study_id == journal.study_id, EVENTS.c.number <= len(journal))
    fits = select(EVENTS.c.body).where(*seen, EVENTS.c.kind == Adopted.__name__)
    with journal.reading() as connection:
        body = connection.execute(fits.order_by(EVENTS.c.number.desc()).limit(1)).scalar_one_or_none()
    found = None if body is None else event_from_text(Adopted.__name__, body)
    return found if isinstance(found, Adopted) else None


class DrawKeeper:
    """Keeps what a study learns beside its journal."""

    def __init__(self, journal: SqlJournal) -> None:
        self.journal = journal

    def keep(self, predictor: Predictor) -> str:
        """Store what was learned under its digest; refused where others changed the study meanwhile."""
        content = predictor_to_npz(predictor)
        digest, study = hashlib.sha256(content).hexdigest(), self.journal.study_id
        wanted = (DRAWS.c.study_id == study, DRAWS.c.digest == digest)
        with self.journal.writing() as connection:
            if connection.execute(select(DRAWS.c.digest).where(*wanted)).one_or_none() is None:
                values = {"study_id": study, "digest": digest, "content": content}
                connection.execute(insert(DRAWS).values(**values, at=stamp(self.journal.clock())))
            last = last_fit(self.journal)
            in_force = "" if last is None else last.digest  # it stays until the event that replaces it is kept too
            connection.execute(
                delete(DRAWS).where(DRAWS.c.study_id == study, DRAWS.c.digest.not_in([digest, in_force]))
            )
        return digest

    def drop(self, digest: str) -> None:
        """Keep no longer what was kept under a digest."""
        with self.journal.writing() as connection:
            connection.execute(delete(DRAWS).where(DRAWS.c.study_id == self.journal.study_id, DRAWS.c.digest == digest))

    def get(self, digest: str, panel: Panel) -> Predictor:
        """What was kept under a digest, by a fit that knew this panel; anything wrong with it is an InputError."""
        wanted = (DRAWS.c.study_id == self.journal.study_id, DRAWS.c.digest == digest)
        with self.journal.reading() as connection:
            content = connection.execute(select(DRAWS.c.content).where(*wanted)).scalar_one_or_none()
        if content is None:
            raise InputError(f"no draws {digest or 'of the last fit'} are kept")
        if hashlib.sha256(content).hexdigest() != digest:
            raise InputError(f"the draws {digest} were changed")
        return predictor_from_npz(content, panel)
