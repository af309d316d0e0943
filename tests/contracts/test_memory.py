"""The journal's contract in memory."""

from __future__ import annotations

import pytest

from quorate.study.events import Voted
from quorate.study.journal import Journal, MemoryJournal
from tests.contracts.journals import JournalContract


class TestMemoryJournal(JournalContract):
    @pytest.fixture
    def journal(self) -> Journal:
        return MemoryJournal()

    def test_it_can_start_with_events(self) -> None:
        assert list(MemoryJournal([Voted("a", 0, 1)])) == [Voted("a", 0, 1)]
