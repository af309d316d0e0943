"""Finished runs as a project may keep them beside its documents: a short line each, without a vote.

Of a case there is how many were asked, the error that was stated, and whether it was wrong: what every figure and
interval is computed from. Who was asked, what anyone voted and what the panel decides stay with the votes' owners.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from quorate.assembly import Options
from quorate.assurance.runs import TIE
from quorate.errors import InputError
from quorate.experiments.accuracy import Accuracy
from quorate.experiments.cell import Line, line_of, rows_of
from quorate.experiments.protocol import RunPlan
from quorate.experiments.series import Subject

TABLES = "tables.json"
SOMEBODY = -1
"""Stands for an expert whose name was not kept."""
DECIDED = -2
"""Stands for the outcome of a case that the panel decides, which was not kept."""
HEALTH = ("unhealthy_fits", "forced_asks")
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
POWERS = 6
STEPS = 254
"""A stated error is kept in one byte: so many steps over so many powers of ten, which is within 3 per cent."""


def kept_text(line: Line) -> str:
    """The short form of a finished run."""
    cell, cases = line.cell, line.cases
    asked = [len(experts) for experts in cases["asked"]]
    if max(asked, default=0) >= len(DIGITS):
        raise InputError(f"a case with {max(asked)} queries cannot be kept; expected fewer than {len(DIGITS)}")
    told = {
        "target": "" if cell.target == "consensus" else cell.target,
        "costs": cell.costs,
        "wrong": [[place, error] for place, error in enumerate(cases["error"]) if error],
        "ties": [place for place, truth in enumerate(cases["truth"]) if truth == TIE],
        **{name: line.figures[name] for name in HEALTH},
    }
    kept = {
        "id": line.id,
        "table": cell.table,
        "options": _told(cell.options),
        "run": {name: value for name, value in asdict(cell.run).items() if value is not None},
        "seed": cell.seed,
        "queries": "".join(DIGITS[number] for number in asked),
        "stated": _packed(cases["stated"]),
        **{name: value for name, value in told.items() if value},
        "seconds": round(line.times["seconds"], 1),
    }
    return json.dumps(kept, separators=(",", ":"))


def line_of_kept(text: str, subjects: Mapping[str, Subject]) -> Line:
    """The line that `kept_text` made short; what was not kept stands as unknown."""
    kept = json.loads(text)
    subject = subjects[kept["table"]]
    asked = [DIGITS.index(digit) for digit in kept["queries"]]
    wrong, ties = dict(kept.get("wrong", [])), set(kept.get("ties", []))
    places = range(len(asked))
    cell = {
        "table": kept["table"],
        "digest": subject.digest,
        "options": {"ablate": [], "settings": None, **kept["options"]},
        "target": kept.get("target", "consensus"),
        "run": kept["run"],
        "seed": kept["seed"],
        "costs": kept.get("costs"),
    }
    cases = {
        "rows": rows_of(RunPlan(**kept["run"]), subject.cases),
        "asked": [[SOMEBODY] * number for number in asked],
        "error": [wrong.get(place, 0.0) for place in places],
        "stated": _unpacked(kept["stated"]),
        "truth": [TIE if place in ties else DECIDED for place in places],
    }
    figures = {name: kept.get(name, 0) for name in HEALTH}
    figures["max_error"] = kept["options"]["max_error"]
    whole = {"id": kept["id"], "cell": cell, "figures": figures, "times": {"seconds": kept["seconds"]}, "cases": cases}
    return line_of(json.dumps(whole))


def _told(options: Options) -> dict[str, Any]:
    """What options say beyond the defaults; the method and the error allowed in any case."""
    plain, told = Options(), asdict(options)
    changed = {
        own.name: told[own.name]
        for own in fields(Options)
        if own.name in ("method", "max_error") or getattr(options, own.name) != getattr(plain, own.name)
    }
    if options.settings is not None:
        usual = asdict(type(options.settings)())
        different = {name: value for name, value in changed["settings"].items() if value != usual[name]}
        changed["settings"] = different or changed["settings"]
    return changed


def _packed(stated: Sequence[float]) -> str:
    """Stated errors in a byte each; 0 stays 0.

    >>> [round(error, 4) for error in _unpacked(_packed([0.0, 0.01, 1.0]))]
    [0.0, 0.0098, 1.0]
    """
    values = np.asarray(stated, dtype=np.float64)
    steps = np.rint((np.log10(np.clip(values, 10.0**-POWERS, 1.0)) / POWERS + 1) * STEPS)
    return base64.b64encode(np.where(values > 0, 1 + steps, 0).astype(np.uint8).tobytes()).decode()


def _unpacked(text: str) -> list[float]:
    steps = np.frombuffer(base64.b64decode(text), dtype=np.uint8).astype(np.float64)
    values = np.where(steps > 0, 10.0 ** (POWERS * ((steps - 1) / STEPS - 1)), 0.0)
    return [float(f"{value:.4g}") for value in values]


def tables_text(subjects: Iterable[Subject], *, quick: bool) -> str:
    """The data sets behind some lines, as JSON: name, digest, size, and how often each agent is right."""
    told = {one.name: {name: part for name, part in asdict(one).items() if name != "name"} for one in subjects}
    return json.dumps({"quick": quick, "tables": told}, indent=1) + "\n"


def read_tables(path: Path) -> tuple[dict[str, Subject], bool]:
    """The data sets that `tables_text` told, and whether they were cut for quick runs."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        subjects = {
            name: Subject(
                name,
                one["digest"],
                one["cases"],
                {part: _accuracy(found) for part, found in one["accuracies"].items()},
            )
            for name, one in told["tables"].items()
        }
        return subjects, bool(told["quick"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not the tables of a run of `quorate paper` ({error}); name its folder") from None


def _accuracy(found: Mapping[str, Any]) -> Accuracy:
    counts = {name: tuple(tuple(row) for row in found[name]) for name in ("seen", "right")}
    return Accuracy(tuple(found["agents"]), tuple(found["classes"]), ties=found["ties"], **counts)


def read_kept(folder: Path) -> tuple[dict[str, Subject], dict[str, Line]]:
    """The data sets and the lines of a folder of kept runs, by name and by id."""
    subjects, _ = read_tables(folder / TABLES)
    lines: dict[str, Line] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                line = line_of_kept(text, subjects)
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(f"{path}, line {number}: not a kept run ({error})") from None
            lines[line.id] = line
    return subjects, lines


def keep(folder: Path, subjects: Mapping[str, Subject], lines: Iterable[Line]) -> int:
    """Add runs to a folder that keeps them, a file a data set, unless they are there; gives how many were new."""
    there = read_kept(folder)[1] if (folder / TABLES).exists() else {}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / TABLES).write_text(tables_text(subjects.values(), quick=False), encoding="utf-8")
    digests = {subject.digest for subject in subjects.values()}
    new = [line for line in lines if line.id not in there and line.cell.digest in digests]
    for name in dict.fromkeys(line.cell.table for line in new):
        with (folder / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(kept_text(line) + "\n" for line in new if line.cell.table == name)
    return len(new)
