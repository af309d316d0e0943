"""Where quorate keeps what it can make or fetch again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_root() -> Path:
    """The user's cache folder: $QUORATE_CACHE_DIR, else $XDG_CACHE_HOME/quorate, else ~/.cache/quorate."""
    own = os.environ.get("QUORATE_CACHE_DIR")
    if own:
        return Path(own)
    shared = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111  # never raises
    return Path(shared) / "quorate"
