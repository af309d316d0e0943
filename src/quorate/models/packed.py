"""Arrays and facts about them as the bytes of an .npz file; nothing in such bytes is ever run."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from quorate.core.health import Health
from quorate.core.panel import Panel
from quorate.errors import InputError

ABOUT = "about"
UNLEARNED = "these bytes are nothing that quorate has learned"
BROKEN = (KeyError, TypeError, ValueError, OSError, EOFError, NotImplementedError, BadZipFile, zlib.error)
"""What reading bytes that are damaged, or are something else, can raise."""


def pack(about: Mapping[str, object], arrays: Mapping[str, Any]) -> bytes:
    """Facts that JSON can hold, and arrays by name, as bytes.

    >>> unpack(pack({"format": 1}, {"x": np.arange(3)}), 1)[1]["x"].tolist()
    [0, 1, 2]
    """
    out = io.BytesIO()
    everything: dict[str, Any] = {ABOUT: as_array(json.dumps(about).encode()), **arrays}
    np.savez(out, **everything)  # random numbers hardly get smaller, and trying takes longer than all the rest
    return out.getvalue()


def unpack(content: bytes, version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The facts and the arrays that `pack` wrote, of a format of this version."""
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored}
    about: dict[str, Any] = json.loads(arrays.pop(ABOUT).tobytes())
    if about["format"] != version:
        raise InputError(f"format {about['format']}, this version of quorate reads {version}")
    return about, arrays


def facts_of(content: bytes) -> dict[str, Any]:
    """The facts alone, of any version."""
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        about: dict[str, Any] = json.loads(stored[ABOUT].tobytes())
    return about


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Bytes are being read: whatever is wrong with them is one InputError, which says what they are."""
    try:
        yield
    except BROKEN as error:
        raise InputError(f"{what}: {error}") from None


def as_array(content: bytes) -> NDArray[np.uint8]:
    """Bytes as an array that can be packed with others; `.tobytes()` gives them back."""
    return np.frombuffer(content, dtype=np.uint8)


def health_of(facts: Mapping[str, Any]) -> Health:
    """The health that `asdict` laid open and JSON has kept."""
    return Health(**{**facts, "reasons": tuple(facts["reasons"])})


def panel_of(panel: Panel, classes: int, classifiers: int, experts: int) -> Panel:
    """The panel as it was when it had so many classifiers and experts: others are only ever added at the end.

    >>> panel_of(Panel(["no", "yes"], ["ann", "ben", "cho"]), 2, 1, 2).experts
    ('ann', 'ben')
    """
    size = (len(panel.classes), len(panel.classifiers), len(panel.experts))
    if size[0] != classes or size[1] < classifiers or size[2] < experts:
        raise InputError(
            f"these bytes are of {classes} classes, {classifiers} classifiers and {experts} experts; "
            "the panel has {}, {} and {}".format(*size)
        )
    return Panel(panel.classes, panel.experts[:experts], panel.classifiers[:classifiers], panel.costs[:experts])
