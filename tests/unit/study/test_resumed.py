"""A study that goes on in another process from its journal and what it had learned."""

from __future__ import annotations

import numpy as np
import pytest

from quorate.assembly import Options, create_study
from quorate.core.decision import Query
from quorate.core.panel import Panel
from quorate.core.settings import EvidenceSettings, Settings
from quorate.errors import InputError
from quorate.models.stored import predictor_from_npz, predictor_to_npz
from quorate.study.journal import MemoryJournal
from quorate.study.study import Study

PANEL = Panel(["no", "yes"], ["ann", "ben", "cho"], ["net"])
PRESETS = {
    "quorate": Options(settings=EvidenceSettings(particles=64)),
    "paper": Options(preset="paper", schedule="every", settings=Settings(population=8, latents=1000)),
}
each_preset = pytest.mark.parametrize("options", PRESETS.values(), ids=PRESETS)


def walked(study: Study, first: int, last: int) -> None:
    for number in range(first, last):
        rng = np.random.default_rng(number)
        p = float(rng.uniform(0.05, 0.95))
        study.open(f"case-{number}", {"net": [1 - p, p]})
        step = study.ask(f"case-{number}")
        while isinstance(step, Query):
            study.tell(f"case-{number}", step.expert, "yes" if rng.random() < p else "no")
            step = study.ask(f"case-{number}")
        study.settle(f"case-{number}")
        job = study.due()
        assert job is not None
        study.adopt(job, job.run())


def kept(study: Study) -> bytes:
    return predictor_to_npz(study.predictor)


@each_preset
def test_it_goes_on_to_the_bit(options: Options) -> None:
    whole = create_study(PANEL, options=options)
    walked(whole, 0, 4)
    content, journal = kept(whole), MemoryJournal(list(whole.journal))
    walked(whole, 4, 6)
    resumed = create_study(PANEL, options=options, journal=journal, learned=predictor_from_npz(content, PANEL))
    assert kept(resumed) == content
    walked(resumed, 4, 6)
    assert list(resumed.journal) == list(whole.journal)
    assert kept(resumed) == kept(whole)


@each_preset
def test_costs_go_on_too(options: Options) -> None:
    panel = PANEL.priced({"ben": 4.0})
    study = create_study(panel, options=options)
    walked(study, 0, 3)
    learned = predictor_from_npz(kept(study), panel)
    study.open("one more", {"net": [0.5, 0.5]})
    one = study.ask("one more")
    again = create_study(panel, options=options, journal=study.journal, learned=learned)
    two = again.ask("one more")
    assert isinstance(one, Query)
    assert one == two
    assert "cost" in one.measure
    assert one.expert != "ben"


@each_preset
def test_bytes_of_another_panel_or_of_nothing_are_refused(options: Options) -> None:
    study = create_study(PANEL, options=options)
    with pytest.raises(InputError, match=r"are of 2 classes, 1 classifiers and 3 experts; the panel has 2, 1 and 2"):
        predictor_from_npz(kept(study), Panel(["no", "yes"], ["ann", "ben"], ["net"]))
    with pytest.raises(InputError, match="nothing that quorate has learned"):
        predictor_from_npz(b"PK", PANEL)
