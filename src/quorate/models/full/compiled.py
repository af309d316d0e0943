"""The decorator that compiles a kernel, with a cache on disk that sees every edit.

Numba's own cache looks only at the file that holds the compiled function, not at the helpers it calls in another one.
Here the cache folder is named by all kernels' sources, so that an edit of any of them compiles afresh.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import platform
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

import numba

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


def cache_root() -> Path:
    """Where compiled kernels are kept: $QUORATE_CACHE_DIR, else $XDG_CACHE_HOME/quorate, else ~/.cache/quorate."""
    own = os.environ.get("QUORATE_CACHE_DIR")
    if own:
        return Path(own)
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path(os.path.expanduser("~/.cache"))) / "quorate"  # noqa: PTH111  # never raises


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
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder or before)
    try:
        compiled: Kernel = numba.njit(nogil=True, error_model="numpy", cache=folder is not None)(function)
    finally:
        numba.config.CACHE_DIR = before
    return compiled
