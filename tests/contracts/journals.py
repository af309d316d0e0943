"""What every journal must do, wherever it keeps its events."""

from __future__ import annotations

import pytest

from quorate.assembly import create_study
from quorate.study.journal import Journal
from tests.contracts.happenings import COUNTING, EVERY_KIND, PANEL, lived


class JournalContract:
    """Subclass it with a fixture `journal`: an empty journal of a study of the panel."""

    @pytest.fixture
    def journal(self) -> Journal:
        raise NotImplementedError

    def test_it_starts_empty(self, journal: Journal) -> None:
        assert len(journal) == 0
        assert list(journal) == []

    def test_events_of_every_kind_come_back_in_order(self, journal: Journal) -> None:
        for number, event in enumerate(EVERY_KIND, start=1):
            journal.append(event)
            assert len(journal) == number
        assert list(journal) == list(EVERY_KIND)
        assert list(journal) == list(EVERY_KIND)  # again: nothing was used up

    def test_an_iteration_does_not_see_what_is_appended_meanwhile_as_something_else(self, journal: Journal) -> None:
        for event in EVERY_KIND[:4]:
            journal.append(event)
        running = iter(journal)
        first = next(running)
        journal.append(EVERY_KIND[4])
        assert [first, *running][:4] == list(EVERY_KIND[:4])
        assert list(journal) == list(EVERY_KIND[:5])

    def test_a_study_goes_on_from_it(self, journal: Journal) -> None:
        study = create_study(PANEL, options=COUNTING.options, journal=journal)
        beside = create_study(PANEL, options=COUNTING.options)
        lived(study)
        lived(beside)
        assert list(journal) == list(beside.journal)
        again = create_study(PANEL, options=COUNTING.options, journal=journal)
        assert again.state == study.state
        for key in ("doubtful", "again", "new"):
            assert again.ask(key) == beside.ask(key)

    def test_what_is_refused_by_the_study_is_not_appended(self, journal: Journal) -> None:
        study = create_study(PANEL, options=COUNTING.options, journal=journal)
        with pytest.raises(ValueError, match="no expert 'zed'"):
            study.open("one", {"net": [0.2, 0.8]}, available=["zed"])
        assert len(journal) == 0
