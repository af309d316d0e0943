"""Who is told when something changes: listeners of server-sent events, fed from any thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

PAUSE = 0.25
"""Seconds between two messages to one listener: changes that come faster are told as one."""
BEAT = 15.0
"""Seconds of silence after which a listener is told that the connection lives."""


@dataclass(eq=False)
class Listener:
    """One open connection: whether anything changed since it was last told."""

    study: str
    expert: str | None  # None: everything in the study
    loop: asyncio.AbstractEventLoop
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self) -> None:
        """Wake the listener; may be called from any thread."""
        try:
            self.loop.call_soon_threadsafe(self.changed.set)
        except RuntimeError:  # its loop has ended
            return


@dataclass
class Hub:
    """All listeners."""

    _listeners: set[Listener] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _closed: bool = False

    def changed(self, study: str, experts: frozenset[str]) -> None:
        """Tell those who listen to a study, or to one of the experts."""
        with self._lock:
            found = [one for one in self._listeners if one.study == study and (not one.expert or one.expert in experts)]
        for one in found:
            one.tell()

    def __len__(self) -> int:
        return len(self._listeners)

    def close(self) -> None:
        """End every stream."""
        self._closed = True
        with self._lock:
            found = list(self._listeners)
        for one in found:
            one.tell()

    async def listen(self, study: str, expert: str | None = None) -> AsyncIterator[str]:
        """Messages of the event stream: `changed` whenever there is something new, and a comment to keep it open."""
        listener = Listener(study, expert, asyncio.get_running_loop())
        with self._lock:
            self._listeners.add(listener)
        try:
            yield "retry: 2000\n\n"
            while not self._closed:
                try:
                    await asyncio.wait_for(listener.changed.wait(), BEAT)
                except TimeoutError:
                    yield ": alive\n\n"
                    continue
                listener.changed.clear()
                if not self._closed:
                    yield "event: changed\ndata: 1\n\n"
                    await asyncio.sleep(PAUSE)
        finally:
            with self._lock:
                self._listeners.discard(listener)
