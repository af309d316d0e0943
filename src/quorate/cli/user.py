"""`quorate user`: who may sign in to the service, and as which expert they vote."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from quorate.cli.accounts import DatabaseUrl, KeyFile, UserName, moment, opened, user_named, with_key
from quorate.cli.options import AsJson

app = typer.Typer(
    name="user",
    help="Who may sign in to the service: create and list users, seat them as experts, give sign-in links.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

RoleName = Annotated[str, typer.Option(metavar="ROLE", help="admin, manager or expert.")]


@app.command()
def create(name: UserName, db: DatabaseUrl, role: RoleName = "expert") -> None:
    """Create a user, who has no password yet and comes in by a sign-in link."""
    with opened(db) as accounts:
        user = accounts.create_user(name, role)
    typer.echo(f"created {user.role} {user.name!r}; `quorate user link` gives a sign-in link")


@app.command("list")
def list_(db: DatabaseUrl, as_json: AsJson = False) -> None:
    """List the users with their roles and seats."""
    with opened(db) as accounts:
        users, seats = accounts.users(), accounts.seats()
    held = {user.id: [f"{seat.study}:{seat.expert}" for seat in seats if seat.user_id == user.id] for user in users}
    if as_json:
        listed = [
            {
                "name": user.name,
                "role": user.role,
                "disabled": user.disabled,
                "password": user.password is not None,
                "created_at": user.created_at.isoformat(),
                "seats": [{"study": s.study, "expert": s.expert} for s in seats if s.user_id == user.id],
            }
            for user in users
        ]
        typer.echo(json.dumps({"users": listed}, ensure_ascii=False))
        return
    width = max((len(user.name) for user in users), default=4)
    typer.echo(f"{'name':<{width}}  {'role':<7}  {'created':<16}  {'password':<8}  state     seats")
    for user in users:
        state, password = "disabled" if user.disabled else "enabled", "yes" if user.password is not None else "no"
        line = f"{user.name:<{width}}  {user.role:<7}  {moment(user.created_at)}  {password:<8}  {state:<8}  "
        typer.echo(f"{line}{', '.join(held[user.id])}".rstrip())


@app.command()
def role(
    name: UserName, role: Annotated[str, typer.Argument(help="admin, manager or expert.")], db: DatabaseUrl
) -> None:
    """Give a user another role, at once."""
    with opened(db) as accounts:
        user = accounts.change_role(user_named(accounts, name).id, role)
    typer.echo(f"{user.name!r} is {user.role} now")


@app.command()
def disable(name: UserName, db: DatabaseUrl) -> None:
    """Keep a user out: sessions, links and tokens end at once and for good."""
    with opened(db) as accounts:
        user = accounts.disable(user_named(accounts, name).id)
    typer.echo(f"{user.name!r} is disabled; all sessions, links and tokens of this user have ended")


@app.command()
def enable(name: UserName, db: DatabaseUrl) -> None:
    """Let a disabled user in again."""
    with opened(db) as accounts:
        user = accounts.enable(user_named(accounts, name).id)
    typer.echo(f"{user.name!r} is enabled; tokens that had ended stay so")


@app.command()
def seat(
    name: UserName,
    db: DatabaseUrl,
    study: Annotated[str, typer.Option(metavar="NAME", help="The study.")],
    expert: Annotated[str, typer.Option(metavar="NAME", help="The expert of that study.")],
    take: Annotated[bool, typer.Option("--take", help="Take the seat away instead.")] = False,
) -> None:
    """Let a user vote as an expert of a study."""
    with opened(db) as accounts:
        user = user_named(accounts, name)
        if take:
            accounts.take_seat(user.id, study, expert)
        else:
            accounts.give_seat(user.id, study, expert)
    typer.echo(f"{user.name!r} {'no longer votes' if take else 'votes'} as {expert!r} in study {study!r}")


@app.command()
def link(
    name: UserName,
    db: DatabaseUrl,
    key_file: KeyFile = None,
    url: Annotated[str, typer.Option(metavar="URL", help="Where browsers find the service.")] = "http://127.0.0.1:8000",
) -> None:
    """Print a link that signs a user in once, within 15 minutes; links given before stop working."""
    from quorate.service.tokens import LINK_LIFETIME, link_address

    if not url.startswith(("http://", "https://")):
        raise typer.BadParameter(f"{url!r} is no address; expected http://HOST or https://HOST", param_hint="--url")
    with opened(db) as accounts:
        user = user_named(accounts, name)
        issued = with_key(accounts, db, key_file).issue_link(user.id)
    typer.echo(link_address(url, issued.secret))
    minutes = int(LINK_LIFETIME.total_seconds() // 60)
    typer.echo(f"the link signs {user.name!r} in once, within {minutes} minutes", err=True)
