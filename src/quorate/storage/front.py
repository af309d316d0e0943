"""The public way in: a study by its name, in memory or in the database of a URL."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

from quorate import assembly
from quorate.assembly import Options, read_target
from quorate.core.panel import Panel
from quorate.core.protocols import Predictor, Target
from quorate.core.rules import NO_RULES, Rules
from quorate.core.target import Votes
from quorate.errors import InputError, TargetError
from quorate.storage.addresses import check_names
from quorate.storage.extra import check_extra
from quorate.study.journal import Journal
from quorate.study.study import Study

if TYPE_CHECKING:
    from quorate.storage.database import Database

SEEN = Rules(min_votes=1)
"""What a study that others may serve keeps to, unless it is told otherwise."""


def create_study(
    panel: Panel,
    *,
    name: str = "study",
    max_error: float = 0.01,
    target: str | Target | Callable[[Votes], Hashable] = "consensus",
    seed: int = 0,
    options: Options | None = None,
    storage: str | None = None,
    journal: Journal | None = None,
    learned: Predictor | None = None,
) -> Study:
    """A new study; one with a journal is rebuilt from it, and the same questions come out.

    `storage` is the URL of a database that keeps it (`open_study` goes on from there); unless `options`
    name rules, every case of such a study is seen by a person, as in the service. `learned`, if it was kept, is
    what was in force at the journal's end; else all fits are run again.

    >>> panel = Panel(["normal", "abnormal"], ["ann", "ben", "cho"], ["densenet"])
    >>> study = create_study(panel, options=Options(method="until-determined"))
    >>> study.open("case-1", {"densenet": [0.2, 0.8]})
    >>> study.ask("case-1").reason
    'unsure'
    """
    if storage is None:
        return assembly.create_study(
            panel,
            name=name,
            max_error=max_error,
            target=target,
            seed=seed,
            options=options,
            journal=journal,
            learned=learned,
        )
    if journal is not None or learned is not None:
        raise InputError(
            "a study in a database has its own journal and draws; give storage alone, or journal and learned"
        )
    check_extra("a study in a database")
    from quorate.storage import studies
    from quorate.storage.config import StudyConfig
    from quorate.storage.database import Database

    chosen = replace(options or Options(), max_error=max_error)
    if chosen.rules is NO_RULES:  # none were named
        chosen = replace(chosen, rules=SEEN)
    config = StudyConfig(panel, chosen, _name_of(target, panel), seed)
    config.plan()  # what is wrong with it is said before a file is made
    check_names(name, panel.experts)
    db = Database.open(storage, create=True)
    return _or_closed(db, lambda: studies.create(db, name, config).study)


def open_study(name: str, *, storage: str) -> Study:
    """The study of a name in the database of a URL, as it was left."""
    check_extra("a study in a database")
    from quorate.storage import studies
    from quorate.storage.database import Database

    db = Database.open(storage)
    return _or_closed(db, lambda: studies.load(db, name).study)


def _name_of(target: str | Target | Callable[[Votes], Hashable], panel: Panel) -> str:
    """The text that a target is read from again, so that it can be stored."""
    aim = read_target(target, panel)
    try:
        if read_target(aim.name, panel) == aim:
            return aim.name
    except TargetError:
        pass
    raise TargetError(
        f"target {aim.name!r} is a function that a database cannot hold; expected one by its name, such as 'consensus'"
    )


def _or_closed(db: Database, made: Callable[[], Study]) -> Study:
    """What is made of a database, which is closed where that fails."""
    try:
        return made()
    except BaseException:
        db.close()
        raise
