"""What a study, an expert and a case may be called, so that each is one part of an address of the service."""

from __future__ import annotations

import re
from collections.abc import Iterable

from quorate.errors import InputError

PRINTABLE = r"^[^\x00-\x1f\x7f/]+$"
PART = r"^([^\x00-\x1f\x7f/.]|\.[^\x00-\x1f\x7f/.]|\.\.[^\x00-\x1f\x7f/])[^\x00-\x1f\x7f/]*$"
"""The same but for `.` and `..`, which browsers do not send."""
STUDY = r"^([A-Za-z0-9_-]|\.[A-Za-z0-9_-]|\.\.[A-Za-z0-9._-])[A-Za-z0-9._-]*$"
RESERVED = frozenset({"new", ".", ".."})
"""Names of studies that addresses of pages have taken, or that browsers do not send."""
LONGEST_KEY = 200
LONGEST_NAME = 64


def is_key(text: str) -> bool:
    """Whether a case may have this key.

    >>> is_key("scan 7"), is_key("2024/scan 7"), is_key("..")
    (True, False, False)
    """
    return _is_part(text, LONGEST_KEY)


def check_key(key: str) -> None:
    """Refuse a key that no case may have."""
    if not is_key(key):
        raise InputError(f"a case cannot have the key {_short(key)}; {_expected(LONGEST_KEY)}")


def check_expert(name: str) -> None:
    """Refuse a name that no expert may have."""
    if not _is_part(name, LONGEST_NAME):
        raise InputError(f"an expert cannot be named {_short(name)}; {_expected(LONGEST_NAME)}")


def check_study(name: str) -> None:
    """Refuse a name that no study may have."""
    if name in RESERVED:
        raise InputError(f"a study cannot be named {name!r}: that is an address of its own; choose another name")
    if len(name) > LONGEST_NAME or re.fullmatch(STUDY[1:-1], name) is None:
        raise InputError(
            f"a study's name is 1 to {LONGEST_NAME} letters A-Z or a-z, digits, dots, dashes or lines, "
            f"got {_short(name)}"
        )


def check_names(study: str, experts: Iterable[str]) -> None:
    """Refuse names that a new study and its experts may not have."""
    check_study(study)
    for expert in experts:
        check_expert(expert)


def _is_part(text: object, longest: int) -> bool:
    return isinstance(text, str) and len(text) <= longest and re.fullmatch(PART[1:-1], text) is not None


def _expected(longest: int) -> str:
    return f"expected 1 to {longest} characters without '/' and line breaks, and not '.' or '..'"


def _short(text: object) -> str:
    shown = repr(text)
    return shown if len(shown) <= 80 else f"{shown[:80]}..."
