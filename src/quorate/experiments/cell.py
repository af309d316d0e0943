"""One cell of a sweep: a method on one run of one table, and the one line that it leaves."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from quorate.assembly import Options
from quorate.assurance.runs import TIE, Run
from quorate.core.rules import NO_RULES, Rules
from quorate.core.settings import settings_from
from quorate.data.table import Table
from quorate.errors import InputError
from quorate.experiments.protocol import RunPlan
from quorate.experiments.replay import choose_rows, replay
from quorate.reporting.replay import figures
from quorate.study.seeds import generator

FORMAT = 2
TIMES = ("seconds", "seconds_fitting", "seconds_deciding", "decision_p95_ms")


@dataclass(frozen=True)
class Cell:
    """What is run: everything that the answer depends on, and nothing else."""

    table: str  # its name in results
    digest: str  # of its content
    options: Options
    target: str
    run: RunPlan
    seed: int
    costs: tuple[float, ...] | None = None  # (H,) where they steer who is asked

    @property
    def id(self) -> str:
        """A hash of the cell: the same work has the same id on every machine."""
        told = {"format": FORMAT, **asdict(self), "table": None}
        options, run = told["options"], told["run"]
        options["rules"] = self.options.rules != NO_RULES and options["rules"]
        if options["rules"] and not options["rules"]["guards"]:
            del options["rules"]["guards"]
        options["in_flight"] = options["in_flight"] > 1 and options["in_flight"]
        later = ((told, "costs"), *((options, name) for name in ("cost_blind", "rules", "loss", "in_flight")))
        for part, name in later:
            if not part[name]:  # cells are named as they were when nobody could speak of these
                del part[name]
        if run["halves"] is None:  # the same, of runs that shift
            del run["halves"]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:20]


@dataclass(frozen=True)
class Line:
    """What a finished cell leaves: figures and numbers a case, no votes."""

    id: str
    cell: Cell
    figures: Mapping[str, Any]  # as `quorate replay --json` gives them, without the times
    times: Mapping[str, float]
    cases: Mapping[str, Any]  # rows, asked (expert indices in order), error, stated, truth

    def to_json(self) -> str:
        """One line of text."""
        return json.dumps(asdict(self), separators=(",", ":"))


def line_of(text: str) -> Line:
    """The line that `to_json` wrote."""
    found = json.loads(text)
    cell = found["cell"]
    options = cell["options"]
    settings = options["settings"] and settings_from(options["settings"])
    rules = Rules(**options.get("rules", {}))
    rebuilt = Options(**{**options, "ablate": tuple(options["ablate"]), "settings": settings, "rules": rules})
    costs = cell.get("costs") and tuple(cell["costs"])
    cell = Cell(**{**cell, "options": rebuilt, "run": RunPlan(**cell["run"]), "costs": costs})
    if cell.id != found["id"]:
        raise InputError(
            f"result {found['id']} does not belong to the cell it names; it was edited or is of another format"
        )
    return Line(found["id"], cell, found["figures"], found["times"], found["cases"])


def rows_of(plan: RunPlan, cases: int) -> list[int]:
    """The rows of a table of so many cases that a run walks, in order.

    >>> rows_of(RunPlan(1, 4), 9)
    [1, 2, 3, 4]
    >>> walked = rows_of(RunPlan(1, 4, halves=3), 9)
    >>> sorted(walked[:2]), sorted(walked[2:])
    ([1, 2], [3, 4])
    """
    rows = choose_rows(cases, limit=plan.limit, offset=plan.offset, shuffle=plan.shuffle)
    if plan.halves is None:
        return rows
    rng, middle = generator(plan.halves, "halves", plan.offset), len(rows) // 2
    order = [*rng.permutation(middle), *(middle + rng.permutation(len(rows) - middle))]
    return [rows[place] for place in order]


def run_cell(cell: Cell, table: Table) -> str:
    """Run one cell; returns its line. Runs in any process that has quorate."""
    plan, table = cell.run, table.priced(cell.costs)
    rows = rows_of(plan, len(table))
    within = plan.halves is not None  # an order that a replay does not know by itself
    report = replay(
        table.select(rows) if within else table,
        options=cell.options,
        target=cell.target,
        limit=None if within else plan.limit,
        offset=0 if within else plan.offset,
        shuffle=plan.shuffle,
        seed=cell.seed,
        portrayed=False,
    )
    found = figures(report)
    cases = {
        "rows": rows,
        "asked": [[table.panel.expert(name) for name in case.asked] for case in report.scored],
        "error": [round(case.error, 9) for case in report.scored],
        "stated": [float(f"{case.stated_error:.6g}") for case in report.scored],
        "truth": [TIE if case.tied else report.outcomes.index(case.truth[0]) for case in report.scored],
    }
    figures_kept = {name: value for name, value in found.items() if name not in TIMES}
    times = {name: float(str(found[name])) for name in TIMES}
    return Line(cell.id, cell, figures_kept, times, cases).to_json()


def run_of_line(line: Line, costs: Mapping[int, float] | None = None) -> Run:
    """A line's numbers as arrays; `costs` prices experts by index (default: 1 a vote)."""
    price = costs or {}
    asked, stated = line.cases["asked"], np.array(line.cases["stated"], dtype=np.float64)
    return Run(
        rows=np.array(line.cases["rows"], dtype=np.int64),
        queries=np.array([len(experts) for experts in asked], dtype=np.int64),
        cost=np.array([sum(price.get(expert, 1.0) for expert in experts) for experts in asked], dtype=np.float64),
        error=np.array(line.cases["error"], dtype=np.float64),
        probability=1.0 - stated,
        stated=stated,
        truth=np.array(line.cases["truth"], dtype=np.int64),
    )
