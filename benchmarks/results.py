"""The paper's results that the project keeps: short lines under docs/results, and the page that is made from them.

python -m benchmarks.results keep FOLDER...   adds the finished runs of `quorate paper --out FOLDER`
python -m benchmarks.results write            makes docs/results.md and its drawings again, without any vote
python -m benchmarks.results cost DATA OUT    runs a few of each kind again and tells how long all of them take

Each output's text stands in docs/results/reading/NAME.md, why promises were broken in promise.md, what the runs
cost in cost.md, and what was found out about differences in differences.md there; they are put into the page as they
are.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from quorate.errors import InputError
from quorate.experiments.cell import Cell, Line
from quorate.experiments.kept import TABLES, keep, read_kept, read_tables
from quorate.experiments.paper import MAKERS, can_be_made, made, wanted
from quorate.experiments.paper import read_tables as read_tables_of
from quorate.experiments.series import Work
from quorate.experiments.sweep import open_executor, read_results, sweep
from quorate.reporting.paper import Number, Output, Promise, Results
from quorate.reporting.paper_page import CALIBRATION_ROOM, FOLDED, MEASURED, grid_of, number_of
from quorate.reporting.paper_plots import draw
from quorate.reporting.paper_wording import against, interval, label, said
from quorate.reporting.style import to_png

DOCS = Path(__file__).parents[1] / "docs"
SAMPLE = 2
"""Runs of each kind that are run again to tell what all cost."""
OPENING = """# Results

What `quorate paper` found on the paper's data sets, beside the numbers that the paper states. The page is made by
`python -m benchmarks.results write` from the finished runs kept in `docs/results`: a short line each, without a vote.
[The paper in the code](paper.md) says how to run it again.
"""


def kept_from(folders: Sequence[Path], docs: Path) -> int:
    """Add the runs of some folders of `quorate paper` to those that are kept; gives how many were new."""
    added = 0
    for folder in folders:
        subjects, quick = read_tables(folder / TABLES)
        if quick:
            raise InputError(f"{folder}: quick runs are not kept; name a folder of whole ones")
        there = read_kept(docs / "results")[0] if (docs / "results" / TABLES).exists() else {}
        for name, subject in subjects.items():
            if name in there and there[name].digest != subject.digest:
                raise InputError(
                    f"{folder}: {name} is another table than the one that is kept; runs of both do not mix"
                )
        lines = read_results(folder / "results.jsonl").values()
        added += keep(docs / "results", {**there, **subjects}, lines)
    return added


def write(docs: Path) -> bool:
    """Make the page and its drawings from what is kept; False, and no page, where nothing is."""
    if not (docs / "results" / TABLES).exists():
        return False
    subjects, lines = read_kept(docs / "results")
    if not lines:
        return False
    makers, _ = can_be_made(MAKERS, subjects)
    results = made(makers, Work(subjects, lines=lines))
    for output in results.outputs:
        if output.numbers:
            (docs / "results" / f"{output.stem}.png").write_bytes(to_png(draw(output, quick=False), dpi=110))
    (docs / "results.md").write_text(page(results, docs), encoding="utf-8")
    return True


def page(results: Results, docs: Path) -> str:
    """The page as Markdown."""
    parts = [OPENING, *(f"{text}\n" for text in MEASURED), *_promises(results.promises, docs), *_calibrated(results)]
    parts += [f"{text}\n" for text in (_reading(docs, "cost"),) if text]
    parts += [_section(output, docs) for output in results.outputs if output.numbers]
    unfinished = [output for output in results.outputs if not output.numbers]
    if unfinished:
        named = ", ".join(f"{number_of(output)} ({output.title.lower()})" for output in unfinished)
        parts.append(f"## Not run yet\n\n{named}.\n")
    differences = _reading(docs, "differences")
    if differences:
        parts.append(f"## Where the two differ, and why\n\n{differences}\n")
    parts.append(
        f"Summed as they were timed when they were made, beside other work, all runs took {results.seconds / 3600:.1f} "
        "hours of one core.\n"
    )
    return "\n".join(parts)


def _promises(promises: Sequence[Promise], docs: Path) -> list[str]:
    if not promises:
        return []
    broken = [one for one in promises if not one.kept]
    said_of = [
        f"**Is the promise kept?** Both presets were tried on {len(promises)} combinations of preset, data set and "
        f"allowed error. By a one-sided 95 % bound over resampled rows the error was above what is allowed on "
        f"{len(broken) or 'none'} of them.\n"
    ]
    if broken:
        said_of += ["| data set | method | allowed | error | at least |", "|---|---|---|---|---|"]
        said_of += [
            f"| {one.panel} | {label(one.method)} | {one.max_error:g} | {one.error:.3%} | {one.at_least:.3%} |"
            for one in broken
        ]
        said_of.append("")
        said_of.append(f"{_reading(docs, 'promise')}\n")
    return said_of


def _calibrated(results: Results) -> list[str]:
    found = [one for output in results.outputs for one in output.numbers if one.unit == "calibration"]
    compared = [one for one in found if one.difference is not None]
    if not compared:
        return []
    above = [one for one in compared if (one.difference or 0.0) > CALIBRATION_ROOM]
    named = "; ".join(f"{label(one.method)} on {one.column}, {one.row}" for one in above)
    return [
        f"**Is it calibrated?** Of {len(compared)} calibration errors, {len(compared) - len(above)} are within the "
        f"paper's own + {CALIBRATION_ROOM}{': not so ' + named if above else ''}.\n"
    ]


def _section(output: Output, docs: Path) -> str:
    parts = [
        f"## {number_of(output)}. {output.title}\n",
        f"![{output.title}](results/{output.stem}.png)\n",
        f"{output.about}\n",
    ]
    if output.missing:
        parts.append(f"*{output.missing} runs of it are not finished; what they belong to is left out.*\n")
    reading = _reading(docs, output.name)
    if reading:
        parts.append(f"{reading}\n")
    parts.append(table(output))
    parts += [f"{note}\n" for note in output.notes]
    return "\n".join(parts)


def _reading(docs: Path, name: str) -> str:
    path = docs / "results" / "reading" / f"{name}.md"
    return path.read_text(encoding="utf-8").strip() if path.exists() else ""


def table(output: Output) -> str:
    """The numbers of an output in Markdown, each beside the paper's; a long table is folded away."""
    columns, rows, found = grid_of(output)
    methods = any(method for _, method in rows)
    lines = [
        "| | " + ("method | " if methods else "") + " | ".join(map(label, columns)) + " |",
        "|---|" + ("---|" if methods else "") + "---|" * len(columns),
    ]
    for row, method in rows:
        cells = [_cell(found.get((row, method, column))) for column in columns]
        lines.append(f"| {row} | " + (f"{label(method)} | " if methods else "") + " | ".join(cells) + " |")
    text = "\n".join(lines) + "\n"
    if len(rows) <= FOLDED:
        return text
    return f"<details><summary>The numbers</summary>\n\n{text}\n</details>\n"


def _cell(one: Number | None) -> str:
    if one is None:
        return ""
    if one.ours is None:
        return "; ".join(filter(None, ["never", against(one)]))
    around = interval(one)
    value = said(one.ours.value, one.unit) + (f" ({around})" if around else "")
    return "; ".join(filter(None, [value, against(one), one.note]))


def cost(docs: Path, data: Path, out: Path, jobs: int) -> str:
    """How long all runs take, by a few of each kind that are run again, so many at a time; on an idle machine."""
    subjects, lines = read_kept(docs / "results")
    tables, fresh = read_tables_of(data, MAKERS, quick=False)
    if any(subjects[name].digest != one.digest for name, one in fresh.items()):
        raise InputError(f"{data}: its tables are not those of the runs that are kept")
    work, kinds = Work(subjects, lines=lines), dict[str, dict[str, Cell]]()
    for series in wanted(MAKERS, work):
        for cell in work.cells(series):
            kinds.setdefault(repr((cell.table, replace(cell.options, max_error=0.0), cell.target)), {})[cell.id] = cell
    rng = np.random.default_rng(0)
    sample = {kind: [*rng.permutation(sorted(cells))[:SAMPLE]] for kind, cells in kinds.items()}
    chosen = [kinds[kind][name] for kind, names in sample.items() for name in names]
    by_digest = {table.digest: table for table in tables.values()}
    out.mkdir(parents=True, exist_ok=True)
    with open_executor(jobs=jobs) as executor:
        done = sweep(chosen, by_digest, results=out / "results.jsonl", executor=executor)
    again = {line.id: line for line in done.lines}
    other = sum(_asked(line) != _asked(lines[name]) for name, line in again.items() if name in lines)
    total = 0.0
    for kind, names in sample.items():
        cells = kinds[kind]
        once = next(iter(cells.values())).options.method.startswith("hindsight")  # one fit serves all runs of a table
        taken = [lines[name] for name in cells if name in lines] if once else [again[name] for name in names]
        total += len(cells) * float(np.mean([line.times["seconds"] for line in taken]))
    number = sum(map(len, kinds.values()))
    return (
        f"{number} runs take {total / 3600:.1f} h, by {len(chosen)} runs of {len(kinds)} kinds; {jobs} at a time "
        f"{total / jobs / 3600:.1f} h. Of the runs that are kept, {other} came out otherwise."
    )


def _asked(line: Line) -> list[int]:
    """How many were asked about each case."""
    return [len(experts) for experts in line.cases["asked"]]


def main() -> None:
    """Keep runs, make the page, or tell what the runs cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("act", choices=["keep", "write", "cost"])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--docs", type=Path, default=DOCS, help="the folder of the documents")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time, to tell what they cost")
    given = parser.parse_args()
    if given.act == "keep":
        print(f"{kept_from(given.folders, given.docs)} runs were new")
    elif given.act == "cost":
        print(cost(given.docs, given.folders[0], given.folders[1], given.jobs))
    elif not write(given.docs):
        sys.exit("nothing is kept yet: run `quorate paper`, then `python -m benchmarks.results keep FOLDER`")


if __name__ == "__main__":
    main()
