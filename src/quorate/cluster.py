"""A Dask cluster as an executor: the same interface as that of local processes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from quorate.errors import InputError, MissingExtraError


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """The executor of a cluster by the address of its scheduler."""
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtraError("a cluster", "cluster") from None
    try:
        client = Client(address, timeout=5)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address!r} ({error}); expected tcp://host:port") from None
    with client:
        executor: Executor = client.get_executor()
        yield executor
