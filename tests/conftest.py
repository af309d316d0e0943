"""What every test may use: the program as a user runs it, and the shared panels where they are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import postgres

Program = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("QUORATE_DATA"):
        return
    absent = [item for item in items if item.get_closest_marker("panels")]
    if absent:
        config.hook.pytest_deselected(items=absent)
        items[:] = [item for item in items if item not in absent]


@pytest.fixture
def panels() -> Path:
    """The folder of the shared panels; only for tests marked `panels`."""
    return Path(os.environ["QUORATE_DATA"])


@pytest.fixture
def quorate(tmp_path: Path) -> Program:
    """The program `quorate` in an empty folder: call it with arguments."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "quorate.cli.main", *map(str, arguments)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    return run


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    """A real PostgreSQL server with fsync on, started once; a missing one is an error that names its package."""
    with postgres.serving() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: postgres.Server) -> Iterator[str]:
    """The URL of an empty PostgreSQL database."""
    with postgres_server.database() as url:
        yield url
