"""`quorate data`: the paper's panels, listed and fetched from where their authors published them."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorate.cli.check import headline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quorate.data.published import Published

app = typer.Typer(
    name="data",
    help="The paper's panels, which belong to others: list them, fetch them from where they were published.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def fetch(
    panels: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="chestxray, chaoyang, cifar10h, imagenet16h; all if none is named."),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder to write NAME.csv into; made if need be.")
    ] = Path(),
) -> None:
    """Download the paper's panels, check their SHA-256 and write them as tables.

    The panels belong to others and state no licence. What was downloaded once is taken from the cache.
    """
    from quorate.data import published as source
    from quorate.errors import InputError

    wanted = [source.published(name) for name in dict.fromkeys(panels or (panel.name for panel in source.PUBLISHED))]
    try:
        output.mkdir(parents=True, exist_ok=True)  # before anything is downloaded
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"cannot write to the folder {str(output)!r}: {why}; name another with -o") from None
    for panel in wanted:
        with _progress(panel.name) as progress:
            fetched = source.fetch(panel, progress=progress)
        path = output / f"{panel.name}.csv"
        source.write_indexed(fetched.table, path)
        origin = "downloaded" if fetched.downloaded else "from the cache"
        typer.echo(f"{path}: {headline(fetched.table)} ({origin}); --classes {_quoted(panel.classes)}")
    typer.echo(f"\n{source.NOTICE}")


@app.command("list")
def list_(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """List the paper's panels: what they hold, where they come from, and which are in the cache."""
    from quorate.data.published import NOTICE, PUBLISHED, REPOSITORY, is_cached

    cached = [is_cached(panel) for panel in PUBLISHED]
    if as_json:
        listed = [_described(panel, cached=kept) for panel, kept in zip(PUBLISHED, cached, strict=True)]
        typer.echo(json.dumps({"panels": listed, "notice": NOTICE}, ensure_ascii=False))
        return
    typer.echo(f"{'name':<12} {'experts':>7} {'classes':>7} {'cases':>6}  cached  what")
    for panel, kept in zip(PUBLISHED, cached, strict=True):
        numbers = f"{panel.experts:>7} {len(panel.classes):>7} {panel.cases:>6}"
        typer.echo(f"{panel.name:<12} {numbers}  {'yes' if kept else 'no':<6}  {panel.about} ({panel.cite})")
    typer.echo(f"\nPublished at {REPOSITORY}\n{NOTICE}")


def _described(panel: Published, *, cached: bool) -> dict[str, object]:
    from quorate.data.published import REPOSITORY, address, cache_file

    return {
        "name": panel.name,
        "experts": panel.experts,
        "classes": list(panel.classes),
        "cases": panel.cases,
        "about": panel.about,
        "cite": panel.cite,
        "address": address(panel, REPOSITORY),
        "sha256": panel.sha256,
        "cached": cached,
        "file": str(cache_file(panel)),
    }


def _quoted(names: Sequence[str]) -> str:
    """Names as --classes reads them."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int | None], None]]:
    """A progress bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _done, _size: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(f"fetching {name}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, size: bar.update(task, completed=done, total=size)
