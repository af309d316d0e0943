"""The decorator that compiles a kernel, with a cache on disk that sees every edit.

Numba's own cache looks only at the file that holds the compiled function, not at the helpers it calls in another one.
Here the cache folder is named by the sources of all kernels of a model, so that an edit of any of them compiles afresh.
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


MODELS = Path(__file__).parent
STARTERS = {"full": ("sweep.run", "tables.fill"), "evidence": ("moves.move", "tables.fill")}
"""Kernels of each model that call nearly all others."""


def source_hash(model: str) -> str:
    """Hash of every source of one of the models that speaks of kernels, and of the compiler's version."""
    digest = hashlib.sha256(f"numba {numba.__version__} python {platform.python_version()}".encode())
    for path in sorted([*MODELS.glob("*.py"), *(MODELS / model).glob("*.py")]):
        source = path.read_bytes()
        if b"kernel" in source:  # the others cannot change what is compiled
            digest.update(str(path.relative_to(MODELS)).encode() + source)
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
def cache_folder(model: str) -> Path | None:
    """The folder of this process's compiled kernels of a model, or None where nothing can be kept."""
    folder = cache_root() / f"kernels-{model}-{source_hash(model)}"
    return folder if writable(folder) else None


def is_compiled(model: str) -> bool:
    """Whether an earlier process has left the compiled sampler and forecasts, so that nobody waits for a compiler."""
    folder = cache_folder(model)
    return folder is not None and all(any(folder.rglob(f"{name}-*.nbc")) for name in STARTERS[model])


def kernel(function: Kernel) -> Kernel:
    """Compile a function to machine code that runs without the interpreter's lock.

    >>> @kernel
    ... def double(x: float) -> float:
    ...     return 2.0 * x
    >>> double(4.0)
    8.0
    """
    return _compiled(function, fast=False)


def summing_kernel(function: Kernel) -> Kernel:
    """A kernel whose sums may be taken in any order, so that they run several terms at a time.

    >>> @summing_kernel
    ... def half(x: float) -> float:
    ...     return x / 2.0
    >>> half(4.0)
    2.0
    """
    return _compiled(function, fast=True)


REORDERED = {"reassoc", "contract", "arcp", "nsz"}
"""What sums may do: nothing here lets a value that is not a number pass unseen."""


def _compiled(function: Kernel, *, fast: bool) -> Kernel:
    path = Path(inspect.getfile(function))  # what is typed at a prompt, or in a test, is not kept
    folder = cache_folder(path.parent.name) if path.is_file() and path.parent.parent == MODELS else None
    config = cast(Any, numba.config)  # its settings are made as it is imported
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder or before)
    try:
        # A division by zero gives an infinity, as in numpy, and not an exception from inside a run.
        compiled = numba.njit(
            nogil=True, error_model="numpy", cache=folder is not None, fastmath=REORDERED if fast else False
        )(function)
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
