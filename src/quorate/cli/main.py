"""The program `quorate`: its commands, and how errors become exit codes.

0 done, 1 bad input, 2 usage (an option that is unknown or out of range), 130 interrupted.
"""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from quorate.cli import check, compare, data, db, paper, replay, serve, simulate, study, token, user
from quorate.errors import QuorateError, SettingsError, TargetError

BAD_INPUT = 1
USAGE = 2
INTERRUPTED = 130

app = typer.Typer(
    name="quorate",
    help="Forecast what a panel of experts would decide, ask only whose vote tells most, stop when sure enough.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help and errors: they are read by scripts and in logs too
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Each command lives in a module of its own, which imports what it needs only when it runs.
app.command()(check.check)
app.command()(compare.compare)
app.command()(paper.paper)
app.command()(replay.replay)
app.command()(serve.serve)
app.command()(simulate.simulate)
app.add_typer(data.app)
app.add_typer(db.app)
app.add_typer(study.app)
app.add_typer(token.app)
app.add_typer(user.app)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"quorate {version('quorate')}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Options that stand before a command."""


def main() -> None:
    """Run the program; every error that a user can cause ends as one line and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a key may hold letters that the terminal lacks
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="quorate")
    except (SettingsError, TargetError) as error:  # they come from options alone
        _stop(error, USAGE)
    except QuorateError as error:
        _stop(error, BAD_INPUT)
    except KeyboardInterrupt:
        _stop("interrupted", INTERRUPTED)
    except SystemExit as stop:
        if stop.code == INTERRUPTED:
            typer.echo("quorate: interrupted", err=True)
        raise


def _stop(error: object, code: int) -> None:
    word = "" if code == INTERRUPTED else "error: "
    typer.echo(f"quorate: {word}{error}", err=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
