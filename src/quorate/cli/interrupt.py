"""An interrupt that cannot get lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def kept_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end if one came meanwhile, even where a library has passed it over.

    A callback of the interpreter or of a library may drop it; workers have ended by then, and their runs would look as
    if they had failed.
    """
    came = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        came.set()
        signal.default_int_handler(number, frame)

    if threading.current_thread() is not threading.main_thread():  # which alone hears signals
        yield
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came.is_set():
        raise KeyboardInterrupt
