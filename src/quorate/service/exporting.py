"""A study's cases as CSV or JSON Lines, a few in memory at a time."""

from __future__ import annotations

import copy
import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence

from quorate.reporting.files import cell, joined
from quorate.service.views import CaseLine, case_line, is_known
from quorate.storage import listing
from quorate.storage.studies import StoredStudy
from quorate.study.events import Audited

AT_A_TIME = 200
Row = dict[str, object]


def export_row(line: CaseLine, *, would_be: Audited | None = None) -> Row:
    """A case as an export holds it, with what it would have settled as where it was audited."""
    decision = line.decision
    low, high = (None, None) if decision is None or decision.interval is None else decision.interval
    voted = [one for one in line.answers if one.vote is not None]
    return {
        "case": line.key,
        "state": line.state,
        "outcome": decision and decision.outcome,
        "probability": decision and decision.probability,
        "low": low,
        "high": high,
        "stated_error": decision and decision.stated_error,
        "human_votes": decision and decision.human_votes,
        "no_human": decision and decision.no_human,
        "stopped": decision and decision.reason,
        "kept": decision and decision.kept,
        "audit": line.audit,
        "would_be_outcome": would_be and would_be.outcome,
        "would_be_probability": would_be and would_be.probability,
        "would_be_stated_error": would_be and would_be.stated_error,
        "would_be_human_votes": would_be and would_be.human_votes,
        "contradicted": line.contradicted,
        "asked": joined(one.expert for one in line.answers),
        "voted": joined(one.expert for one in voted),
        "votes": joined(one.vote or "" for one in voted),
        "opened_at": line.opened_at,
        "settled_at": line.settled_at,
    }


COLUMNS: Sequence[str] = tuple(
    export_row(CaseLine(0, "", "", "", None, None, (), audit=False, contradicted=False)),
)


def rows(stored: StoredStudy) -> Iterator[Row]:
    """A row a case, in the order they came."""
    study = copy.copy(stored.study)  # a state that nothing changes any more
    for record in listing.stream(stored.db, stored.id):
        if is_known(record, study):
            yield export_row(case_line(record, study), would_be=record.would_be)


def csv_lines(found: Iterator[Row]) -> Iterator[str]:
    """Rows as lines of CSV, with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    for number, row in enumerate(found, start=1):
        writer.writerow({name: cell(value) if isinstance(value, str) else value for name, value in row.items()})
        if number % AT_A_TIME == 0:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()


def json_lines(found: Iterator[Row]) -> Iterator[str]:
    """Rows as JSON, one a line."""
    lines: list[str] = []
    for row in found:
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
        if len(lines) == AT_A_TIME:
            yield "".join(lines)
            lines.clear()
    yield "".join(lines)


FORMATS: dict[str, tuple[Callable[[Iterator[Row]], Iterator[str]], str]] = {
    "csv": (csv_lines, "text/csv; charset=utf-8"),
    "jsonl": (json_lines, "application/x-ndjson"),
}
"""How rows are written, and what such a file is called on the web."""
