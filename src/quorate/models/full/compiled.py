"""The decorator that compiles a kernel, with a cache on disk that sees every edit.

Numba's own cache looks only at the file that holds the compiled function, not at the helpers it calls in another one.
Here the cache folder is named by all kernels' sources, so that an edit of any of them compiles afresh.
"""

from __future__ import annotations

import fcntl
import hashlib
import inspect
import platform
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

from quorate.places import cache_root

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def source_hash() -> str:
    """Hash of every source of `quorate.models` that speaks of kernels, and of the compiler's version."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256(f"numba {numba.__version__} python {platform.python_version()}".encode())
    for path in sorted(root.rglob("*.py")):
        source = path.read_bytes()
        if b"kernel" in source:  # the others cannot change what is compiled
            digest.update(str(path.relative_to(root)).encode() + source)
    return digest.hexdigest()[:16]


def writable(folder: Path) -> bool:
    """Whether files can be made in a folder, which is made if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@cache
def cache_folder() -> Path | None:
    """The folder of this process's compiled kernels, or None where nothing can be kept."""
    folder = cache_root() / f"kernels-{source_hash()}"
    return folder if writable(folder) else None


def is_compiled() -> bool:
    """Whether an earlier process has left the compiled sampler and forecasts, so that nobody waits for a compiler."""
    folder = cache_folder()
    return folder is not None and all(any(folder.rglob(f"{name}-*.nbc")) for name in ("sweep.run", "tables.fill"))


def kernel(function: Kernel) -> Kernel:
    """Compile a function to machine code that runs without the interpreter's lock.

    >>> @kernel
    ... def double(x: float) -> float:
    ...     return 2.0 * x
    >>> double(4.0)
    8.0
    """
    here = Path(inspect.getfile(function)).is_file()  # what is typed at a prompt has no file and is not kept
    folder = cache_folder() if here else None
    config = cast(Any, numba.config)  # its settings are made as it is imported
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder or before)
    try:
        # A division by zero gives an infinity, as in numpy, and not an exception from inside a run.
        compiled = numba.njit(nogil=True, error_model="numpy", cache=folder is not None)(function)
    finally:
        config.CACHE_DIR = before
    if folder is not None:
        _save_one_at_a_time(cast(Any, compiled), folder)
    return cast(Kernel, compiled)


def _save_one_at_a_time(compiled: Any, folder: Path) -> None:
    """Let one process at a time add to the cache.

    Numba picks the next free file name without a lock: two processes that compile at once could write two
    specialisations to one file, and a later process would run the wrong one.
    """
    save = compiled._cache.save_overload

    def locked(signature: object, data: object) -> None:
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            save(signature, data)

    compiled._cache.save_overload = locked
