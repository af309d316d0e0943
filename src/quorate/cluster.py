"""A Dask cluster as an executor: the same interface as that of local processes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from quorate.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from distributed import Client


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """The executor of a cluster by the address of its scheduler."""
    with _reached(address) as client:
        executor: Executor = client.get_executor()
        yield executor


class LastingCluster:
    """A cluster that is looked for again when its scheduler was gone, while nobody waits for it."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._client = _reached(address)
        self._search = threading.Thread()

    def executor(self) -> Executor:
        """The cluster's executor; where the scheduler is gone, that is said at once and it is looked for."""
        if self._client.status != "running":
            if not self._search.is_alive():
                self._search = threading.Thread(target=self._reach_again, daemon=True)
                self._search.start()
            raise InputError(f"the Dask scheduler at {self._address!r} is gone; learning goes on when it is back")
        executor: Executor = self._client.get_executor()
        return executor

    def _reach_again(self) -> None:
        try:
            self._client = _reached(self._address)
        except InputError:  # the next who asks for it looks again
            return

    def close(self) -> None:
        """Leave the cluster."""
        self._client.close()


def _reached(address: str) -> Client:
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtraError("a cluster", "cluster") from None
    try:
        return Client(address, timeout=5)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address!r} ({error}); expected tcp://host:port") from None
