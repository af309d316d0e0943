"""Learning on a real Dask cluster: what a study is due is run over there and adopted here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from quorate.cluster import LastingCluster, dask_executor
from quorate.errors import InputError
from quorate.service.worker import Worker
from quorate.storage import studies
from quorate.storage.database import Database
from tests.service.fits import learn, study, until

ROOT = str(Path(__file__).parents[2])
ALONE = ("--host", "127.0.0.1", "--no-dashboard")


@pytest.fixture
def cluster() -> Iterator[str]:
    """A real scheduler and one worker on loopback."""
    words = [sys.executable, "-m", "distributed.cli.dask_scheduler", *ALONE, "--port", "0", "--no-show"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as scheduler:
        try:
            assert scheduler.stderr is not None
            address = next(line.split()[-1] for line in scheduler.stderr if "Scheduler at:" in line)
            words = [sys.executable, "-m", "distributed.cli.dask_worker", address, *ALONE, "--nthreads", "1"]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join([ROOT, os.environ.get("PYTHONPATH", "")])}
            with subprocess.Popen([*words, "--no-nanny"], stderr=subprocess.DEVNULL, env=environment) as worker:
                yield address
                worker.terminate()
        finally:
            scheduler.terminate()


def test_a_fit_of_a_cluster_is_adopted(cluster: str, database: Database) -> None:
    with dask_executor(cluster) as executor:
        live, worker = study(database), Worker(lambda: executor)
        live.wake = lambda: worker.look(live)
        for fits in (1, 2):  # the second goes on from the first
            learn(live)
            until(lambda: worker.problem("heart") is not None or not worker.busy("heart"))
            assert worker.problem("heart") is None
            assert live.study.state.fits == fits
        worker.close()
    assert live.study.state.learned == 6
    assert live.due() is None
    again = studies.load(database, "heart")
    assert again.notes == ()
    assert again.study.state == live.study.state


def test_a_cluster_that_was_gone_is_found_again(cluster: str) -> None:
    with closing(LastingCluster(cluster)) as found:
        assert found.executor().submit(abs, -1).result(60) == 1
        found.close()  # as when its scheduler is gone
        with pytest.raises(InputError, match="is gone; learning goes on when it is back"):
            found.executor()
        until(lambda: found._client.status == "running")
        assert found.executor().submit(abs, -2).result(60) == 2
