"""`quorate db`: the database that studies are kept in, its tables, whether it is sound, and copies of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from quorate.storage.database import Database

app = typer.Typer(
    name="db",
    help="The database that studies are kept in: make or upgrade its tables, verify it, copy it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Url = Annotated[
    str,
    typer.Option(
        "--db",
        metavar="URL",
        help="sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE.",
    ),
]


@app.command()
def upgrade(db: Url) -> None:
    """Bring the tables of a database to this version of quorate; a missing SQLite file is made.

    Make a backup first: there is no way back to older tables.
    """
    _check_extra()
    from quorate.storage.database import VERSIONS, Database

    with Database.unchecked(db) as opened:
        before = opened.upgrade()
        if before == VERSIONS[-1]:
            typer.echo(f"{opened.url}: the tables are of version {before} already")
        else:
            typer.echo(f"{opened.url}: the tables are of version {VERSIONS[-1]} now, {_was(before)}")


def _was(before: str | None) -> str:
    return "there were none" if before is None else f"they were of {before}"


@app.command()
def verify(db: Url) -> None:
    """Find every row that was changed, removed or added by anything but quorate; exit code 1 if there is one.

    Each event holds a hash of itself and of the event before, and what is read of cases is derived anew from events.
    """
    from quorate.errors import StorageError

    with _opened(db) as opened:
        found = opened.verify()
        for problem in found:
            typer.echo(problem)
        if found:
            raise StorageError(f"the database {opened.url} is not as quorate wrote it: {_counted(len(found))}")
        typer.echo(f"{opened.url}: everything is as quorate wrote it")


def _counted(problems: int) -> str:
    return "1 problem" if problems == 1 else f"{problems} problems"


@app.command()
def backup(
    output: Annotated[Path, typer.Argument(metavar="FILE", help="New file to write; an existing one is refused.")],
    db: Url,
) -> None:
    """Copy a SQLite database as it is at one moment, while others write to it."""
    with _opened(db) as opened:
        opened.backup(output)
        typer.echo(f"{opened.url}: copied to {output}")


def _opened(url: str) -> Database:
    _check_extra()
    from quorate.storage.database import Database

    return Database.open(url)


def _check_extra() -> None:
    from quorate.storage.extra import check_extra

    check_extra("a database")
