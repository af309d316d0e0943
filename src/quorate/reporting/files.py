"""The files of a run: report.html, steps.csv and run.json, written whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import platform
import secrets
import shutil
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from quorate.assurance.scored import Scored
from quorate.errors import InputError
from quorate.reporting.portrait import portrait_record
from quorate.reporting.replay import ReplayReport, figures
from quorate.reporting.report import render_report
from quorate.reporting.style import blank

PACKAGES = ("quorate", "numpy", "scipy", "numba", "arviz-stats", "jax", "numpyro", "matplotlib")
"""Packages whose version can change a figure or a page; those that are not installed are left out."""

COLUMNS = (
    *("key", "asked", "votes", "decision", "probability", "stated_error", "human_votes", "correct", "cost"),
    *("reason", "kept", "stated_loss", "loss", "rounds"),
)

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A cell that begins so is run as a formula by spreadsheets."""


def write_run(folder: str | Path, report: ReplayReport, *, seed: int, data_sha256: str) -> tuple[Path, ...]:
    """Write the report, the steps and the record of a run; gives the paths.

    A new folder appears with all its files at once; in an existing one each file is replaced whole.
    """
    check_folder(folder)
    return write_whole(
        folder,
        {
            "report.html": render_report(report, version=version("quorate")),
            "steps.csv": steps_csv(report.scored),
            "run.json": run_json(report, seed=seed, data_sha256=data_sha256),
        },
    )


def write_whole(folder: str | Path, contents: Mapping[str, str | bytes]) -> tuple[Path, ...]:
    """Write texts and pictures by name: none of them appears before all are written, and each is replaced whole."""
    target = Path(folder)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        inside = target.is_dir()
        beside = (target if inside else target.parent) / f".quorate-{secrets.token_hex(6)}"
        beside.mkdir()
        try:
            for name, content in contents.items():
                if isinstance(content, bytes):
                    (beside / name).write_bytes(content)
                else:  # a name given on a command line may hold bytes that are no text
                    (beside / name).write_text(content, encoding="utf-8", errors="backslashreplace", newline="")
            if inside:
                for name in contents:
                    (beside / name).replace(target / name)
            else:
                beside.rename(target)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    except (OSError, ValueError) as error:
        raise _refused(target, getattr(error, "strerror", None) or str(error)) from error
    return tuple(target / name for name in contents)


def check_folder(folder: str | Path) -> None:
    """Refuse, before any work is done, a folder that cannot be written to or plots that cannot be drawn."""
    target = Path(folder)
    try:
        found = next(place for place in (target, *target.absolute().parents) if place.exists())
    except OSError as error:
        raise _refused(target, error.strerror or str(error)) from error
    if not found.is_dir():
        raise _refused(target, f"{str(found)!r} is a file; name a folder")
    if not os.access(found, os.W_OK | os.X_OK):
        raise _refused(target, f"no permission to write in {str(found)!r}")
    blank()


def _refused(target: Path, why: str) -> InputError:
    return InputError(f"cannot write to the folder {str(target)!r}: {why}")


def steps_csv(scored: Iterable[Scored]) -> str:
    """One row a case; `correct` is 1, 0, or the share that is right where the panel is tied.

    `kept` is 0 where more error (or loss) was stated than is allowed; losses are empty where all outcomes are alike.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for case in scored:
        writer.writerow(
            [
                cell(case.key),
                cell(joined(case.asked)),
                cell(joined(case.votes)),
                cell(case.outcome),
                f"{case.probability:.9g}",
                f"{case.stated_error:.6g}",
                case.human_votes,
                f"{1.0 - case.error:g}",
                f"{case.cost:.9g}",
                case.reason,
                int(case.kept),
                "" if case.stated_loss is None else f"{case.stated_loss:.6g}",
                "" if case.loss is None else f"{case.loss:.9g}",
                case.rounds,
            ]
        )
    return out.getvalue()


def joined(names: Iterable[str]) -> str:
    r"""Names in one cell, set apart by semicolons; a semicolon within a name is escaped.

    >>> joined(["ann", "ben;jr"])
    'ann;ben\\;jr'
    """
    return ";".join(name.replace("\\", "\\\\").replace(";", "\\;") for name in names)


def cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula.

    >>> cell("=1+1"), cell("case-1")
    ("'=1+1", 'case-1')
    """
    return f"'{text}" if text.startswith(FORMULA) else text


def run_json(report: ReplayReport, *, seed: int, data_sha256: str) -> str:
    """What a run was and what it gave: settings, seed, versions, hash of the data, figures and the panel's portrait."""
    record = {
        "title": report.title,
        "settings": dict(report.settings),
        "seed": seed,
        "data_sha256": data_sha256,
        "versions": versions(),
        "figures": figures(report),
        "saved_interval": None if report.saved is None else [report.saved.low, report.saved.high],
        "portrait": None if report.portrait is None else portrait_record(report.portrait),
    }
    return json.dumps(plain(record), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def versions() -> dict[str, str]:
    """Version of Python and of each package that can change a figure."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def plain(value: object) -> object:
    """A value as JSON can hold it: mappings and sequences by their parts, no number that is not finite."""
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
