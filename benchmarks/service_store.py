"""Studies as large ones are after years: thousands of cases that settled, and what was learned from them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sqlalchemy import insert, select

import quorate
from quorate.data.table import Table
from quorate.service.forms import StudyIn
from quorate.storage import studies
from quorate.storage.database import Database
from quorate.storage.engines import parsed
from quorate.storage.schema import CASES, DRAWS, EVENTS, STUDIES
from quorate.storage.studies import StoredStudy
from quorate.study.events import Event, Leased, Opened, Settled, Voted

EXPERTS = 5
ROWS_AT_ONCE = 5000


@dataclass(frozen=True)
class Shape:
    """How many studies there are, with how many stored cases each, and how many questions may wait for an expert."""

    name: str
    studies: int
    cases: int
    max_open: int = 5

    @property
    def names(self) -> list[str]:
        """The studies."""
        return [f"study-{number}" for number in range(self.studies)]


def votes(cases: int) -> Table:
    """What the panel of every study votes on so many cases."""
    return quorate.simulate(np.random.default_rng(cases), experts=EXPERTS, classes=2, cases=cases)


def prepared(shape: Shape, folder: Path) -> Path:
    """An SQLite file of such studies; it is made once, and kept."""
    kept = folder / f"service-{shape.name}-{shape.studies}x{shape.cases}.db"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        draft = kept.with_suffix(".draft")
        for left in folder.glob(f"{draft.name}*"):
            left.unlink()
        _fill(f"sqlite:///{draft}", shape)
        draft.rename(kept)
    return kept


def filled(shape: Shape, folder: Path, to: str) -> None:
    """Copy the prepared studies to an empty database."""
    source = prepared(shape, folder)
    target = parsed(to)
    if target.database is not None and target.drivername.startswith("sqlite"):
        shutil.copyfile(source, target.database)
        return
    with (
        Database.open(f"sqlite:///{source}") as old,
        Database.open(to, create=True) as new,
        old.reading() as reading,
        new.writing() as writing,
    ):
        for table in (STUDIES, EVENTS, CASES, DRAWS):
            for rows in reading.execute(select(table)).mappings().partitions(ROWS_AT_ONCE):
                writing.execute(insert(table), [dict(row) for row in rows])


def _fill(url: str, shape: Shape) -> None:
    """Make the studies in an empty database; they are alike, so that what one learns is what all learn."""
    table, learned = votes(shape.cases), None
    panel = table.panel
    with Database.open(url, create=True) as db:
        for name in shape.names:
            form = StudyIn(
                name=name,
                classes=list(panel.classes),
                experts=list(panel.experts),
                classifiers=list(panel.classifiers),
                max_error=0.05,
                max_open=shape.max_open,
            )
            _lived(studies.create(db, name, form.config()), table)
            stored = studies.load(db, name)
            job = stored.study.due()
            assert job is not None  # noqa: S101  # its cases have taught nothing yet
            learned = learned or job.run()
            stored.adopt(job, learned)


def _lived(stored: StoredStudy, table: Table) -> None:
    """Append what happened to a study's cases, as its service would have."""
    rng = np.random.default_rng(len(table))
    with stored.journal.batch():
        for row in range(len(table)):
            for event in _story(table, row, int(rng.integers(1, 4))):
                stored.journal.append(event)


def _story(table: Table, row: int, votes: int) -> Iterator[Event]:
    """A case that came, was asked about and settled."""
    case = table.case(row)
    yield Opened(case)
    for expert in range(votes):
        yield Leased(case.key, (row + expert) % EXPERTS, until=1e9)
        yield Voted(case.key, (row + expert) % EXPERTS, int(table.votes[row, (row + expert) % EXPERTS]))
    outcome = table.panel.classes[int(np.bincount(table.votes[row], minlength=2).argmax())]
    yield Settled(case.key, outcome, 0.97, 0.03, "sure", human_votes=votes, interval=(0.95, 0.99))
