"""A study in a database as a command finds it: load it, change it, learn at once, and say what it came to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

import typer

from quorate.errors import MissingExtraError, StudyError

if TYPE_CHECKING:
    from quorate.storage.database import Database
    from quorate.storage.studies import StoredStudy
    from quorate.study.study import Study

Answer = TypeVar("Answer")


@contextmanager
def database(url: str, *, create: bool = False) -> Iterator[Database]:
    """The database of a URL."""
    try:
        from quorate.storage.database import Database
    except ImportError:
        raise MissingExtraError("a study in a database", "service") from None
    with Database.open(url, create=create) as db:
        yield db


@contextmanager
def loaded(url: str, name: str) -> Iterator[StoredStudy]:
    """A study of a database; what was met on the way is said."""
    with database(url) as db:
        from quorate.storage import studies

        stored = studies.load(db, name)
        for note in stored.notes:
            typer.echo(f"quorate: {note}", err=True)
        yield stored


def changed(url: str, name: str, change: Callable[[Study], Answer]) -> Answer:
    """Make a change and learn from it at once, if there is anything to learn."""
    with loaded(url, name) as stored:
        found = stored.tried(change)
        _learn(stored)
        return found


def _learn(stored: StoredStudy) -> None:
    """Run the fit that is due; where another program was first, it is left to whoever comes next."""
    job = stored.study.due()
    if job is None:
        return
    learned = job.run()
    with suppress(StudyError):  # what it was to learn from is stored by now: that has not failed
        stored.tried(lambda study: study.adopt(job, learned))


def say(told: dict[str, object], *, as_json: bool) -> None:
    """Print what was found, as an object or a line each."""
    if as_json:
        typer.echo(json.dumps(told))
        return
    width = max(map(len, told))
    for key, value in told.items():
        shown = ", ".join(map(str, value)) if isinstance(value, tuple | list) else value
        if isinstance(value, dict):
            shown = ", ".join(f"{part} {_number(one)}" for part, one in value.items())
        typer.echo(f"{key:<{width}}  {_number(shown)}")


def _number(value: object) -> object:
    return f"{value:.4g}" if isinstance(value, float) else value
