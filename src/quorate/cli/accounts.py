"""What `quorate user` and `quorate token` share: the accounts of a database, and its key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorate.errors import MissingExtraError, NotFoundError

if TYPE_CHECKING:
    from datetime import datetime

    from quorate.service.tokens import Tokens
    from quorate.storage.accounts import Accounts
    from quorate.storage.people import User

DatabaseUrl = Annotated[
    str, typer.Option("--db", metavar="URL", help="sqlite:///FILE or postgresql+psycopg://...", envvar="QUORATE_DB")
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH", help="The service's key; beside an SQLite file if not given.", envvar="QUORATE_KEY_FILE"
    ),
]
UserName = Annotated[str, typer.Argument(metavar="USER", help="The user's name.")]


@contextmanager
def opened(db: str) -> Iterator[Accounts]:
    """The accounts of a database that is there."""
    try:
        from quorate.storage.accounts import Accounts
        from quorate.storage.database import Database
    except ModuleNotFoundError as error:
        if error.name != "sqlalchemy":
            raise
        raise MissingExtraError("a database of users", "service") from None
    with Database.open(db) as database:
        yield Accounts(database)


def with_key(accounts: Accounts, db: str, key_file: Path | None) -> Tokens:
    """What hands out secrets, with the key of the service."""
    from quorate.service.keyfile import key_path, read_or_make_key
    from quorate.service.tokens import Tokens

    return Tokens(accounts, read_or_make_key(key_path(db, key_file)))


def user_named(accounts: Accounts, name: str) -> User:
    """The user of a name."""
    user = accounts.named(name)
    if user is None:
        known = ", ".join(user.name for user in accounts.users()) or "none"
        raise NotFoundError(f"there is no user {name!r}; the users are {known}")
    return user


def moment(at: datetime | None) -> str:
    """A time for people, in UTC."""
    return "-" if at is None else at.strftime("%Y-%m-%d %H:%M")
