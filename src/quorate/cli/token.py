"""`quorate token`: tokens by which programs use the service's API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from quorate.cli.accounts import DatabaseUrl, KeyFile, UserName, moment, opened, user_named, with_key
from quorate.cli.options import AsJson

if TYPE_CHECKING:
    from datetime import datetime

    from quorate.storage.people import Token

app = typer.Typer(
    name="token",
    help="Tokens by which programs use the service: create, list and revoke them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def create(
    user: UserName,
    db: DatabaseUrl,
    label: Annotated[str, typer.Option(metavar="TEXT", help="What it is for.")] = "",
    days: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=3650, help="Days it is good for; without an end if not given.")
    ] = None,
    key_file: KeyFile = None,
) -> None:
    """Print a new token, which may do what its user may; it is shown only this once."""
    from datetime import timedelta

    lifetime = None if days is None else timedelta(days=days)
    with opened(db) as accounts:
        owner = user_named(accounts, user)
        issued = with_key(accounts, db, key_file).issue_api(owner.id, label=label, lifetime=lifetime)
    typer.echo(issued.secret)
    end = issued.token.expires_at
    until = "until it is revoked" if end is None else f"until {moment(end)} UTC"
    typer.echo(f"token {issued.token.id} of {owner.name!r}, good {until}; it is not shown again", err=True)


@app.command("list")
def list_(
    db: DatabaseUrl,
    user: Annotated[str | None, typer.Option(metavar="USER", help="Only tokens of this user.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Sessions and sign-in links too.")] = False,
    as_json: AsJson = False,
) -> None:
    """List tokens, those that have ended included; what they are is known to their holders alone."""
    with opened(db) as accounts:
        owner = None if user is None else user_named(accounts, user).id
        found = accounts.tokens(user_id=owner, kinds=("session", "api", "link") if every else ("api",))
        people = {person.id: person for person in accounts.users()}
        now = accounts.clock()
    if as_json:
        listed = [{**_described(token, now), "user": people[token.user_id].name} for token in found]
        typer.echo(json.dumps({"tokens": listed}, ensure_ascii=False))
        return
    width = max((len(people[token.user_id].name) for token in found), default=4)
    typer.echo(f"{'id':>5}  {'user':<{width}}  {'kind':<7}  {'state':<7}  {'created':<16}  {'expires':<16}  label")
    for token in found:
        name, times = people[token.user_id].name, f"{moment(token.created_at):<16}  {moment(token.expires_at):<16}"
        line = f"{token.id:>5}  {name:<{width}}  {token.kind:<7}  {_state(token, now):<7}  {times}  {token.label}"
        typer.echo(line.rstrip())


@app.command()
def revoke(
    ids: Annotated[list[int], typer.Argument(metavar="ID", help="Numbers as `quorate token list` shows them.")],
    db: DatabaseUrl,
) -> None:
    """End tokens at once."""
    with opened(db) as accounts:
        for number in ids:
            accounts.revoke(number)
            typer.echo(f"token {number} is revoked")


def _state(token: Token, now: datetime) -> str:
    if token.revoked_at is not None:
        return "revoked"
    if token.used_at is not None:
        return "used"
    return "live" if token.live(now) else "expired"


def _described(token: Token, now: datetime) -> dict[str, object]:
    times = {"created_at": token.created_at, "expires_at": token.expires_at, "revoked_at": token.revoked_at}
    shown = {name: None if at is None else at.isoformat() for name, at in times.items()}
    return {"id": token.id, "kind": token.kind, "label": token.label, "state": _state(token, now), **shown}
