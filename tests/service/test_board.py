"""A study at a glance: savings, the error stated and audited, and experts, counted on a small study by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from quorate.assembly import Options
from quorate.core.panel import Panel
from quorate.core.rules import Rules
from quorate.service.arrivals import Arrival
from quorate.service.board import board
from quorate.service.changing import Watcher
from quorate.service.live import LiveStudy
from quorate.storage import studies
from quorate.storage.config import ServiceSettings, StudyConfig
from quorate.storage.database import Database

PANEL = Panel(["no", "yes"], ["ann", "ben", "cho"], ["net"], costs={"ann": 2.0})


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with Database.open(f"sqlite:///{tmp_path}/q.db", create=True) as opened:
        yield opened


def live_study(db: Database, audit_share: float, method: str = "majority:1") -> LiveStudy:
    options = Options(method=method, chooser="panel", rules=Rules(min_votes=1))
    config = StudyConfig(PANEL, options, service=ServiceSettings(audit_share=audit_share, max_open=9))
    live = LiveStudy(studies.create(db, "small", config), Watcher(lambda _study, _experts: None))
    live.start()
    return live


def answer_all(live: LiveStudy, votes: dict[str, str]) -> None:
    while waiting := [(name, one.case) for name in votes for one in live.questions(name)]:
        for name, case in waiting:
            live.vote(case, name, votes[name])


def test_savings_count_votes_and_money(db: Database) -> None:
    live = live_study(db, audit_share=0.0)
    live.open([Arrival(f"c{n}", {"net": [0.5, 0.5]}) for n in range(4)])
    answer_all(live, {"ann": "yes", "ben": "no", "cho": "no"})
    found = board(live)
    assert found.counts == {"open": 0, "settled": 4, "imported": 0}
    assert (found.savings.votes, found.savings.panel_votes) == (4, 12)
    assert (found.savings.cost, found.savings.panel_cost) == (8.0, 16.0)
    assert found.savings.share == 0.5
    assert found.queries == (1, 1, 1, 1)
    assert [(one.name, one.votes, one.open) for one in found.experts] == [("ann", 4, 0), ("ben", 0, 0), ("cho", 0, 0)]
    assert found.audit.cases == 0
    assert found.no_human == 0


def test_audits_find_what_the_whole_panel_contradicts(db: Database) -> None:
    live = live_study(db, audit_share=1.0)
    live.open([Arrival("c1", {"net": [0.5, 0.5]}), Arrival("c2", {"net": [0.5, 0.5]})])
    assert board(live).under_audit == 0, "which are drawn is not told"
    live.vote("c1", "ann", "yes")
    assert board(live).under_audit == 1
    answer_all(live, {"ann": "yes", "ben": "no", "cho": "no"})
    found = board(live)
    assert (found.audit.cases, found.audit.errors, found.under_audit) == (2, 2.0, 0)
    assert found.savings.share == 0.0  # an audit asks everyone
    would_be = live.study.state.audits["c1"]
    assert would_be is not None
    assert found.stated_error == would_be.stated_error  # what was stated before everyone was asked


def test_cases_that_no_expert_saw_are_counted(db: Database) -> None:
    options = Options(method="majority:0", chooser="panel")
    live = LiveStudy(studies.create(db, "blind", StudyConfig(PANEL, options)), Watcher(lambda _study, _experts: None))
    live.open([Arrival("c1", {"net": [0.9, 0.1]})])
    assert board(live).no_human == 1


def test_only_cases_that_everyone_let_pass_need_a_person(db: Database) -> None:
    live = live_study(db, audit_share=0.0)
    seen = []
    live.watcher = Watcher(lambda _study, _experts: seen.append(board(live).needs_person))
    live.open([Arrival(f"c{n}", {"net": [0.5, 0.5]}) for n in range(3)])
    live.vote("c0", "ann", "yes")
    assert set(seen) == {0}, "neither those that have just come nor one that settles"
    while now := live.study.pending("c1"):
        live.expire("c1", now[0])
    assert board(live).needs_person == 1
    live.reopen("c1", whole=True)
    assert board(live).needs_person == 0
