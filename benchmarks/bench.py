"""The benchmark table: `make bench`, or with --json one object a line.

Panels are simulated unless QUORATE_DATA names a folder of recorded ones. Nothing else should run beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ParamSpec

import numpy as np
from rich.console import Console
from rich.table import Table as Grid

import quorate
from quorate.core.case import open_case
from quorate.core.health import Health
from quorate.core.panel import Panel
from quorate.core.settings import Settings
from quorate.core.target import parse_target
from quorate.data.table import Table
from quorate.models.full import gibbs
from quorate.models.full.normal import prior_draws
from quorate.models.full.predictor import FullPredictor
from quorate.models.full.simplex import log_ratios
from quorate.models.health import free_parameters, mixing

Call = ParamSpec("Call")

SHAPES = ((5, 2), (3, 4), (5, 5), (10, 4), (15, 2))
PAPER_SETS = ("chestxray", "chaoyang", "imagenet16h", "cifar10h")


@dataclass(frozen=True)
class Figure:
    """One measured number."""

    what: str
    on: str
    value: float
    unit: str


def import_time() -> Iterator[Figure]:
    """Seconds that a new interpreter takes, and one that imports quorate."""
    for what, code in (("an empty interpreter", ""), ("import quorate", "import quorate")):
        yield Figure(what, platform.python_version(), min(timed(run_python, code) for _ in range(5)), "s")


def run_python(code: str) -> None:
    """A new interpreter, run to its end."""
    subprocess.run([sys.executable, "-c", code], check=True)


def timed(act: Callable[Call, object], *args: Call.args, **options: Call.kwargs) -> float:
    """Seconds that a call takes."""
    began = time.perf_counter()
    act(*args, **options)
    return time.perf_counter() - began


def tables(cases: int) -> dict[str, Table]:
    """The paper's panels where they are there, else simulated ones of the same shapes."""
    folder = os.environ.get("QUORATE_DATA")
    if folder:
        found = {name: Path(folder) / f"{name}.csv" for name in PAPER_SETS}
        return {name: quorate.read_table(path) for name, path in found.items()}
    shapes = {"simulated H=5 K=2": (5, 2), "simulated H=3 K=4": (3, 4)}
    return {
        name: quorate.simulate(np.random.default_rng(0), experts=experts, classes=classes, cases=cases)
        for name, (experts, classes) in shapes.items()
    }


def sampler(found: dict[str, Table], sizes: tuple[int, ...]) -> Iterator[Figure]:
    """Smallest effective sample size a second over all parameters, half the votes masked, on all cores."""
    settings = Settings(extensions=0)
    for name, table in found.items():
        for n in sizes:
            mask = np.random.default_rng(n).random((n, len(table.panel.experts))) < 0.5
            votes = np.where(mask, -1, table.votes[:n])
            ratios = log_ratios(table.probabilities[:n], clip=settings.clip)
            classes = len(table.panel.classes)
            rng = np.random.default_rng(1)
            gibbs.sample(rng, ratios, votes, classes=classes, settings=Settings(warmup=1, draws=4))  # compiled before
            began = time.perf_counter()
            draws = gibbs.sample(rng, ratios, votes, classes=classes, settings=settings)
            seconds = time.perf_counter() - began
            _, bulk, tail = mixing(free_parameters(draws, settings)[1])
            yield Figure("smallest ESS a second", f"{name} n={n}", float(min(bulk.min(), tail.min())) / seconds, "1/s")


def decisions() -> Iterator[Figure]:
    """Milliseconds of a first forecast with every candidate's joint, and of one more after a vote."""
    for experts, classes in SHAPES:
        names = [f"c{k}" for k in range(classes)]
        panel = Panel(names, [f"e{h}" for h in range(experts)], ["m"])
        draws = prior_draws(
            np.random.default_rng(0),
            classes=classes,
            classifiers=1,
            experts=experts,
            settings=Settings(),
            chains=4,
            count=500,
        )
        predictor = FullPredictor(panel, Settings(), draws, Health())
        target = parse_target("consensus", panel)
        case = open_case(panel, "case", {"m": [1 / classes] * classes})
        predictor.forecast(np.random.default_rng(0), case, target)
        shape = f"H={experts} K={classes}"
        first = [timed(predictor.forecast, np.random.default_rng(s), case, target) for s in range(9)]
        after = [timed(predictor.forecast, np.random.default_rng(8), case.with_vote(0, 0), target) for _ in range(9)]
        for what, seconds in (("first forecast of a case", first), ("forecast after a vote", after)):
            yield Figure(what, shape, 1000 * float(np.median(seconds)), "ms")


def replays(found: dict[str, Table], cases: int) -> Iterator[Figure]:
    """Whole replays with preset paper at a stated error of 1 %."""
    for name, table in found.items():
        report = quorate.replay(table, limit=cases, options=quorate.Options(max_error=0.01))
        on = f"{name}, {report.summary.cases} cases"
        assert report.timing is not None  # noqa: S101  # replay always fills it
        yield Figure("replay", on, report.timing.seconds, "s")
        yield Figure("queries a case", on, report.summary.mean_queries, "")
        yield Figure("queries a case, until determined", on, counted(table, cases), "")
        yield Figure("error", on, 100 * report.summary.error_rate, "%")
        yield Figure("mean stated error", on, 100 * report.summary.stated_error, "%")
        yield Figure("unhealthy fits", on, report.sampler.unhealthy_fits, f"of {report.sampler.fits}")
        yield Figure("decision, 95th percentile", on, report.timing.decision_p95_ms, "ms")


def counted(table: Table, cases: int) -> float:
    """Queries a case of asking at random until the votes decide."""
    return quorate.replay(table, limit=cases, options=quorate.Options(method="until-determined")).summary.mean_queries


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--quick", action="store_true", help="60 cases and small fits")
    options = parser.parse_args()
    cases, sizes = (60, (20,)) if options.quick else (250, (20, 100, 250))
    found = tables(max(cases, max(sizes)))
    grid = Grid("what", "on", "value", "unit", title=f"quorate {quorate.__version__}, {os.cpu_count()} cores")
    for part in (import_time(), sampler(found, sizes), decisions(), replays(found, cases)):
        for figure in part:
            if options.json:
                print(json.dumps(asdict(figure)), flush=True)
            else:
                grid.add_row(figure.what, figure.on, f"{figure.value:.3g}", figure.unit)
    if not options.json:
        Console().print(grid)


if __name__ == "__main__":
    main()
