"""Long lists come in pages: how one is asked for, and where the next one begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from fastapi import Query

from quorate.storage.listing import LONGEST_PAGE

LARGEST_NUMBER = 2**31 - 1

After = Annotated[int, Query(ge=0, le=LARGEST_NUMBER, description="The `next` of the page before; 0 for the first")]
Limit = Annotated[int, Query(ge=1, le=LONGEST_PAGE, description="Most items of the page")]
Item = TypeVar("Item")


def following(found: Sequence[Item], limit: int, number: Callable[[Item], int]) -> int | None:
    """The `after` of the next page: the number of the last item of a full one; None after the last page.

    >>> following([3, 7], 2, lambda item: item), following([9], 2, lambda item: item)
    (7, None)
    """
    return number(found[-1]) if len(found) == limit else None
