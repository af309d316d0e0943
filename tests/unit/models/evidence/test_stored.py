"""Particles as bytes: they go on to the bit, and other bytes are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from quorate.assembly import Options, create_study
from quorate.core.case import open_case
from quorate.core.decision import Query
from quorate.core.history import History
from quorate.core.panel import Panel
from quorate.core.settings import EvidenceSettings
from quorate.core.target import parse_target
from quorate.errors import InputError
from quorate.models import stored
from quorate.models.evidence.learner import EvidenceLearner
from quorate.models.evidence.predictor import EvidencePredictor
from quorate.models.evidence.stored import FORMAT, predictor_from_npz, predictor_to_npz
from quorate.models.packed import pack, unpack
from quorate.study.journal import MemoryJournal
from quorate.study.study import Study

PANEL = Panel(["no", "yes"], ["ann", "ben", "cho"], ["net", "web"])
SETTINGS = EvidenceSettings(particles=64)
LEARNER = EvidenceLearner(SETTINGS)


def history(count: int) -> History:
    """Cases of which some have no second classifier."""
    cases = []
    for number in range(count):
        p = (number % 7 + 0.5) / 7
        given = {"net": [1 - p, p]} | ({"web": [0.4, 0.6]} if number % 3 else {})
        case = open_case(PANEL, f"case-{number}", given)
        cases.append(case.with_vote(number % 3, int(p > 0.5)).with_vote((number + 1) % 3, int(p > 0.3)))
    return History(PANEL, tuple(cases))


def learned(count: int) -> EvidencePredictor:
    found = None
    for n in (0, count - 1, count):
        found = LEARNER.update(np.random.default_rng(n), history(n), found)
    assert isinstance(found, EvidencePredictor)
    return found


def test_particles_go_on_to_the_bit() -> None:
    whole = learned(9)
    content = predictor_to_npz(whole)
    resumed = predictor_from_npz(content, PANEL)
    assert predictor_to_npz(resumed) == content
    assert (resumed.panel, resumed.health, resumed.rung) == (whole.panel, whole.health, whole.rung)
    assert resumed.particles.settings == SETTINGS
    assert resumed.particles.regimes == whole.particles.regimes == (2,)
    case, target = open_case(PANEL, "new", {"web": [0.2, 0.8]}), parse_target("consensus", PANEL)
    answers, later = [], []
    for predictor in (whole, resumed):
        answers.append(predictor.forecast(np.random.default_rng(0), case, target).values)
        after = LEARNER.update(np.random.default_rng(4), history(11), predictor)
        assert isinstance(after, EvidencePredictor)
        later.append(predictor_to_npz(after))
    assert answers[0] == answers[1]
    assert later[0] == later[1]


def test_a_refined_predictor_and_one_of_the_prior_are_kept_too() -> None:
    finer = learned(4).refined()
    nothing = LEARNER.update(np.random.default_rng(0), history(0), None)
    assert finer is not None
    assert isinstance(nothing, EvidencePredictor)
    assert predictor_from_npz(predictor_to_npz(finer), PANEL).rung == 1
    assert len(predictor_from_npz(predictor_to_npz(nothing), PANEL).particles.cases) == 0


def walked(study: Study, first: int, last: int) -> None:
    for number in range(first, last):
        p = (number % 5 + 0.5) / 5
        study.open(f"case-{number}", {"net": [1 - p, p]})
        while isinstance(step := study.ask(f"case-{number}"), Query):
            study.tell(f"case-{number}", step.expert, "yes" if p > 0.5 else "no")
        study.settle(f"case-{number}")
        job = study.due()
        assert job is not None
        study.adopt(job, job.run())


def test_a_study_goes_on_from_its_journal_and_what_was_kept() -> None:
    options = Options(preset="quorate", settings=SETTINGS)
    whole = create_study(PANEL, options=options, max_error=0.05)
    walked(whole, 0, 3)
    content, journal = stored.predictor_to_npz(whole.predictor), MemoryJournal(list(whole.journal))
    walked(whole, 3, 5)
    kept = stored.predictor_from_npz(content, PANEL)
    resumed = create_study(PANEL, options=options, max_error=0.05, journal=journal, learned=kept)
    walked(resumed, 3, 5)
    assert list(resumed.journal) == list(whole.journal)
    assert stored.predictor_to_npz(resumed.predictor) == stored.predictor_to_npz(whole.predictor)


def test_a_panel_that_has_grown_gets_the_predictor_of_the_panel_that_it_was() -> None:
    content = predictor_to_npz(learned(3))
    grown = Panel(PANEL.classes, (*PANEL.experts, "dee"), (*PANEL.classifiers, "new"))
    assert predictor_from_npz(content, grown).panel == PANEL
    with pytest.raises(InputError, match=r"are of 2 classes, 2 classifiers and 3 experts; the panel has 2, 2 and 2"):
        predictor_from_npz(content, Panel(PANEL.classes, ["ann", "ben"], PANEL.classifiers))
    with pytest.raises(InputError, match="the panel has 3, 2 and 3"):
        predictor_from_npz(content, Panel(["a", "b", "c"], PANEL.experts, PANEL.classifiers))


def test_other_bytes_are_refused() -> None:
    content = predictor_to_npz(learned(3))
    damaged = [b"", b"PK", content[:-40], content[:300] + b"x" * 60 + content[360:], pack({"format": FORMAT}, {})]
    for other in damaged:
        with pytest.raises(InputError, match="nothing that quorate has learned"):
            predictor_from_npz(other, PANEL)
        with pytest.raises(InputError, match="nothing that quorate has learned"):
            stored.predictor_from_npz(other, PANEL)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("theta", np.zeros((48, 3)), "theta is float64 of shape"),
        ("log_weight", np.zeros(7), "log_weight is"),
        ("missing", np.zeros(1), "missing is float64"),
        ("votes", np.full((3, 3), 2), "votes are not all -1 to 1"),
        ("missing", np.full(3, 1), "in a way that the particles do not know"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name: str, value: np.ndarray, message: str) -> None:
    about, arrays = unpack(predictor_to_npz(learned(3)), FORMAT)
    with pytest.raises(InputError, match=message):
        predictor_from_npz(pack(about, {**arrays, name: value}), PANEL)


@pytest.mark.parametrize("fact", [{"format": 99}, {"settings": {"depth": 3}}, {"settings": {"lapse": 2.0}}])
def test_facts_that_cannot_be_are_refused(fact: dict[str, object]) -> None:
    about, arrays = unpack(predictor_to_npz(learned(3)), FORMAT)
    with pytest.raises(InputError):
        predictor_from_npz(pack({**about, **fact}, arrays), PANEL)


def test_a_predictor_without_a_model_cannot_be_kept() -> None:
    study = create_study(PANEL, options=Options(method="until-determined"))
    with pytest.raises(InputError, match="VotesSoFar is not of a model that can be stored"):
        stored.predictor_to_npz(study.predictor)


def test_pickled_objects_are_never_read() -> None:
    about, arrays = unpack(predictor_to_npz(learned(3)), FORMAT)
    with pytest.raises(InputError, match="nothing that quorate has learned"):
        predictor_from_npz(pack(about, {**arrays, "missing": np.array([print], dtype=object)}), PANEL)


def test_what_is_kept_does_not_depend_on_what_was_asked() -> None:
    predictor = learned(3)
    before = predictor_to_npz(predictor)
    case = replace(history(1).cases[0], votes=())
    predictor.forecast(np.random.default_rng(0), case, parse_target("consensus", PANEL))
    assert predictor_to_npz(predictor) == before
