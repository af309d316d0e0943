"""Whole replays with preset paper at a stated error of 1 %."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import quorate
from benchmarks.figures import Figure
from quorate.data.table import Table
from quorate.reporting.replay import ReplayReport


def replays(found: dict[str, Table], cases: int) -> Iterator[Figure]:
    """An update after every case, and the paper's schedule."""
    for name, table in found.items():
        counted = quorate.replay(table, limit=cases, options=quorate.Options(method="until-determined"))
        yield Figure("replays", "queries a case, until determined", name, counted.summary.mean_queries, "")
        for schedule in ("every", "paper"):
            report = quorate.replay(table, limit=cases, options=quorate.Options(preset="paper", schedule=schedule))
            yield from told(report, "replays", f"{name}, {report.summary.cases} cases, schedule {schedule}")


def told(report: ReplayReport, part: str, on: str) -> Iterator[Figure]:
    """What a replay took and gave."""
    summary, sampler, timing = report.summary, report.sampler, report.timing
    assert timing is not None  # noqa: S101  # replay always fills it
    updates = np.array(timing.updates)
    for what, value, unit in (
        ("replay", timing.seconds, "s"),
        ("of it deciding", timing.seconds_deciding, "s"),
        ("decision, 95th percentile", timing.decision_p95_ms, "ms"),
        ("update, 95th percentile", 1000 * float(np.percentile(updates, 95)), "ms"),
        ("longest update", 1000 * float(updates.max()), "ms"),
        ("queries a case", summary.mean_queries, ""),
        ("error", 100 * summary.error_rate, "%"),
        ("mean stated error", 100 * summary.stated_error, "%"),
        ("fits", sampler.fits, ""),
        ("unhealthy fits", sampler.unhealthy_fits, ""),
        ("forced asks", summary.forced_asks, ""),
        ("largest R-hat", sampler.worst_rhat or 1.0, ""),
        ("smallest ESS", sampler.worst_ess or 0.0, ""),
    ):
        yield Figure(part, what, on, value, unit)
