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
from collections.abc import Callable, Iterator
from dataclasses import asdict

from rich.console import Console
from rich.table import Table as Grid

import quorate
from benchmarks.decisions import decisions
from benchmarks.evidence import evidence, histories, large
from benchmarks.figures import Figure, timed
from benchmarks.growth import growth
from benchmarks.panels import panels
from benchmarks.replays import replays
from benchmarks.sampler import gibbs_speed, large_panel, nuts_speed
from benchmarks.service import service


def import_time() -> Iterator[Figure]:
    """Seconds that a new interpreter takes, and one that imports quorate."""
    for what, code in (("an empty interpreter", ""), ("import quorate", "import quorate")):
        words = [sys.executable, "-c", code]
        best = min(timed(subprocess.run, words, check=True)[0] for _ in range(5))
        yield Figure("start", what, platform.python_version(), best, "s")


def parts(*, quick: bool) -> dict[str, Callable[[], Iterator[Figure]]]:
    """Everything that can be measured, by name."""
    cases, sizes, reach = (60, (20,), (100,)) if quick else (250, (20, 100, 250), (100, 250, 500, 1000, 2000))
    found = panels(max(cases, *sizes))
    return {
        "start": import_time,
        "sampler": lambda: gibbs_speed(found, sizes),
        "numpyro": lambda: nuts_speed(found, sizes),
        "large": large_panel,
        "decisions": decisions,
        "replays": lambda: replays(found, cases),
        "growth": lambda: growth(found, reach),
        "evidence": lambda: evidence(found, cases),
        "panels": lambda: large(quick=quick),
        "histories": lambda: histories(quick=quick),
        "service": lambda: service(quick=quick),
    }


def main() -> None:
    """Measure what was asked for, or everything, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help="what to measure (default: everything)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--quick", action="store_true", help="60 cases and small fits")
    options = parser.parse_args()
    known = parts(quick=options.quick)
    for name in options.parts:
        if name not in known:
            parser.error(f"no part {name!r}; expected {', '.join(known)}")
    grid = Grid("part", "what", "on", "value", "unit", title=f"quorate {quorate.__version__}, {os.cpu_count()} cores")
    for name in options.parts or known:
        for figure in known[name]():
            if options.json:
                print(json.dumps(asdict(figure)), flush=True)
            else:
                grid.add_row(figure.part, figure.what, figure.on, f"{figure.value:.3g}", figure.unit)
    if not options.json:
        Console().print(grid)


if __name__ == "__main__":
    main()
