"""The server is killed at random moments while people vote: what was acknowledged is there, and the study goes on."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.faults import truth
from tests.faults.load import CLASSES, EXPERTS, STUDIES, Attempt, Fate, Load
from tests.faults.served import Service, eventually, path, runs

KILLS = int(os.environ.get("QUORATE_KILLS", "2"))
"""How often each database's server is killed; `make faults` says more."""
LONGEST = 2.5
"""Seconds until a kill, at most."""


def killed_often(service: Service, load: Load, rng: random.Random) -> None:
    """Kill and start a service under load; after each start, all that it had acknowledged is there."""
    for number in range(KILLS):
        load.up.set()
        before = load.acknowledged
        eventually("votes are acknowledged", lambda seen=before: load.acknowledged > seen)  # type: ignore[misc]
        time.sleep(rng.uniform(0, LONGEST))  # the moment of the kill, not a wait for anything
        children = service.children()
        load.up.clear()
        service.kill()
        eventually("learning ends with its service", lambda left=children: not any(map(runs, left)))  # type: ignore[misc]
        if rng.random() < 0.2:  # once more while it starts
            service.begin()
            time.sleep(rng.uniform(0, LONGEST / 2))
            service.kill()
        service.start()
        found = truth.problems(service.url, load) + load.surprises
        assert not found, (f"after kill {number + 1}", found[:5])


def goes_on(service: Service, load: Load) -> None:
    """People vote, and what they vote is learned from."""
    with service.client(load.admin) as admin:
        fits = {study: admin("GET", path(study, "report")).body["learning"]["fits"] for study in STUDIES}
        before = load.acknowledged
        load.up.set()
        eventually("votes are acknowledged", lambda: load.acknowledged > before + 5)
        for study, fit in fits.items():
            eventually(
                f"a fit of {study} is adopted",
                lambda study=study, fit=fit: admin("GET", path(study, "report")).body["learning"]["fits"] > fit,  # type: ignore[misc]
                every=0.2,
            )


def agrees_with_its_journal(service: Service, load: Load) -> None:
    """What the service shows is what its journal comes to."""
    with service.client(load.admin) as admin:
        kept = truth.standing(service.url)
        for study in STUDIES:
            assert truth.exported(admin("GET", path(study, "export")).body) == kept[study]

            def inboxes(study: str = study) -> dict[str, list[str]]:
                shown = {name: admin("GET", path(study, "experts", name, "inbox")).body for name in EXPERTS}
                return {name: sorted(one["case"] for one in body["questions"]) for name, body in shown.items()}

            eventually(
                f"the inboxes of {study} are those of its journal",
                lambda study=study, inboxes=inboxes: inboxes() == truth.desks(service.url, study),  # type: ignore[misc]
                every=0.5,
            )


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_nothing_acknowledged_is_lost(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = f"sqlite:///{tmp_path / 'quorate.db'}" if database == "sqlite" else request.getfixturevalue("postgres_url")
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")  # noqa: T201  # pytest shows it where the test fails
    with Service(url, tmp_path) as service:
        service.start()
        load = Load(service, seed)
        load.prepare()
        load.begin()
        try:
            killed_often(service, load, random.Random(seed))  # noqa: S311  # moments, no secrets
            goes_on(service, load)
        finally:
            load.end()
        assert not load.surprises
        agrees_with_its_journal(service, load)
        service.stop()
        assert "Finished server process" in service.tail()
    assert not truth.problems(url, load)
    command = [sys.executable, "-m", "quorate.cli.main", "db", "verify", "--db", url]
    verified = subprocess.run(command, capture_output=True, text=True, check=False)
    assert verified.returncode == 0, verified.stdout + verified.stderr


NORMAL, ABNORMAL = CLASSES


@pytest.mark.parametrize(
    ("stored", "tried", "wrong"),
    [
        ([], [("vote", NORMAL, Fate.DONE)], "vote normal was acknowledged and is not stored"),
        ([], [("vote", NORMAL, Fate.UNKNOWN)], None),
        ([("vote", NORMAL)], [("vote", NORMAL, Fate.UNKNOWN), ("vote", NORMAL, Fate.DONE)], None),
        ([("vote", NORMAL)] * 2, [("vote", NORMAL, Fate.UNKNOWN), ("vote", NORMAL, Fate.DONE)], "not asked for"),
        ([("vote", NORMAL)], [("vote", NORMAL, Fate.REFUSED)], "vote was refused and is stored"),
        (
            [("vote", NORMAL), ("amend", ABNORMAL), ("withdraw", None), ("vote", NORMAL)],
            [
                ("vote", NORMAL, Fate.DONE),
                ("amend", ABNORMAL, Fate.DONE),
                ("withdraw", None, Fate.UNKNOWN),
                ("withdraw", None, Fate.REFUSED),
                ("vote", NORMAL, Fate.DONE),
            ],
            None,
        ),
        (
            [("vote", NORMAL)],
            [("vote", NORMAL, Fate.DONE), ("withdraw", None, Fate.DONE)],
            "withdraw  was acknowledged",
        ),
        (
            [("vote", NORMAL), ("withdraw", None)],
            [("vote", NORMAL, Fate.DONE), ("withdraw", None, Fate.UNKNOWN), ("withdraw", None, Fate.DONE)],
            None,
        ),
        ([("abstain", None)], [("abstain", None, Fate.DONE), ("abstain", None, Fate.DONE)], None),
    ],
)
def test_the_check_finds_what_is_lost_and_what_is_doubled(
    stored: list[truth.Deed], tried: list[tuple[str, str | None, Fate]], wrong: str | None
) -> None:
    found = truth.mismatch(stored, [Attempt(*one) for one in tried])
    assert (found is None) if wrong is None else (found is not None and wrong in found)
