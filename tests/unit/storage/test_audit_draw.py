"""Cases are drawn for the audit by whichever way a stored study is opened."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import quorate
from quorate.storage import studies
from quorate.storage.config import ServiceSettings
from quorate.storage.database import Database
from quorate.study.seeds import generator
from tests.contracts.happenings import COUNTING

KEYS = [f"case {n}" for n in range(200)]
P = {"net": [0.5, 0.5]}


def drawn(url: str, share: float) -> tuple[str, set[str]]:
    """When a study was created, and which of its cases Python has opened are audited."""
    with Database.open(url, create=True) as db:
        stored = studies.create(db, "cxr", replace(COUNTING, seed=3, service=ServiceSettings(audit_share=share)))
        study = quorate.open_study("cxr", storage=url)
        for key in KEYS:
            study.open(key, P)
        stored.refresh()
        return stored.created_at, {key for key in KEYS if stored.study.state.audit_due(key)}


def test_cases_opened_in_python_are_drawn_as_the_service_draws(tmp_path: Path) -> None:
    at, found = drawn(f"sqlite:///{tmp_path}/q.db", 0.3)
    assert found == {key for key in KEYS if generator(3, "audit", at, key).random() < 0.3}
    assert 30 <= len(found) <= 90


@pytest.mark.parametrize(("share", "expected"), [(0.0, set()), (1.0, set(KEYS))])
def test_none_and_all(tmp_path: Path, share: float, expected: set[str]) -> None:
    assert drawn(f"sqlite:///{tmp_path}/q.db", share)[1] == expected


def test_a_case_can_be_audited_that_is_not_drawn(tmp_path: Path) -> None:
    study = quorate.create_study(
        COUNTING.panel, name="cxr", storage=f"sqlite:///{tmp_path}/q.db", options=COUNTING.options
    )
    study.open("wanted", P, audit=True)
    study.open("not", P)
    assert (study.state.audit_due("wanted"), study.state.audit_due("not")) == (True, False)
