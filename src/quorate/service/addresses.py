"""What a study, an expert and a case may be called, so that each is one part of an address."""

from __future__ import annotations

import re

PRINTABLE = r"^[^\x00-\x1f\x7f/]+$"
PART = r"^([^\x00-\x1f\x7f/.]|\.[^\x00-\x1f\x7f/.]|\.\.[^\x00-\x1f\x7f/])[^\x00-\x1f\x7f/]*$"
"""The same but for `.` and `..`, which browsers do not send."""
STUDY = r"^([A-Za-z0-9_-]|\.[A-Za-z0-9_-]|\.\.[A-Za-z0-9._-])[A-Za-z0-9._-]*$"
LONGEST_KEY = 200
LONGEST_NAME = 64


def is_key(text: str) -> bool:
    """Whether a case may have this key.

    >>> is_key("scan 7"), is_key("2024/scan 7"), is_key("..")
    (True, False, False)
    """
    return len(text) <= LONGEST_KEY and re.fullmatch(PART[1:-1], text) is not None
