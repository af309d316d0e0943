"""Work that is cheaper together: whoever comes while others are being served is served with the next."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from fastapi.concurrency import run_in_threadpool

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Waiting = deque[tuple[Item, asyncio.Future[Answer]]]


@dataclass
class Together(Generic[Item, Answer]):
    """Serves items by their groups: those of a group one after the other, all that wait at once, up to `most`.

    `work` runs in a thread and gives an answer or an error for each; what it raises is told to all of a turn. Groups
    take turns, as they would only wait for the same processor; where a turn lasts longer than `patience` seconds,
    others go on beside it: fewer than `at_once` groups that are held up hold up no other.
    """

    work: Callable[[str, Sequence[Item]], Sequence[Answer | Exception]]
    most: int
    at_once: int
    patience: float
    _waiting: dict[str, Waiting[Item, Answer]] = field(default_factory=dict, init=False)
    _serving: set[asyncio.Task[None]] = field(default_factory=set, init=False)
    _room: asyncio.Semaphore = field(init=False)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    def __post_init__(self) -> None:
        self._room = asyncio.Semaphore(self.at_once)

    async def __call__(self, group: str, item: Item) -> Answer:
        """Wait until an item was served; its error is raised."""
        done: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.get(group)
        if waiting is None:
            waiting = self._waiting[group] = deque()
            task = asyncio.create_task(self._serve(group, waiting))
            self._serving.add(task)  # or nobody might hold it
            task.add_done_callback(self._serving.discard)
        waiting.append((item, done))
        return await done

    async def _serve(self, group: str, waiting: Waiting[Item, Answer]) -> None:
        """Serve a group until nobody waits."""
        turn: Waiting[Item, Answer] = deque()
        try:
            while waiting:
                async with self._room:
                    try:
                        async with self._turn:
                            turn = self._next(waiting)
                            served = run_in_threadpool(self.work, group, [item for item, _ in turn])
                            work = asyncio.create_task(served)
                            await asyncio.wait({work}, timeout=self.patience)
                        answers = await work
                    except Exception as error:  # noqa: BLE001  # all who wait for it are told
                        answers = [error] * len(turn)
                for (_, done), answer in zip(turn, answers, strict=True):
                    if done.cancelled():  # whoever waited has left
                        continue
                    if isinstance(answer, Exception):
                        done.set_exception(answer)
                    else:
                        done.set_result(answer)
        finally:
            del self._waiting[group]
            for _, done in (*turn, *waiting):  # nobody, unless this was cancelled
                done.cancel()

    def _next(self, waiting: Waiting[Item, Answer]) -> Waiting[Item, Answer]:
        """Those whose turn it is, without those who have left."""
        turn: Waiting[Item, Answer] = deque()
        while waiting and len(turn) < self.most:
            item, done = waiting.popleft()
            if not done.cancelled():
                turn.append((item, done))
        return turn
