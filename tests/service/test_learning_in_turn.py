"""Learning beside the service: what is due is run and adopted, one fit a study at a time, with rests between."""

from __future__ import annotations

import time

from quorate.service.arrivals import Arrival
from quorate.service.worker import Worker
from quorate.storage import studies
from quorate.storage.database import Database
from tests.service.conftest import Inline
from tests.service.fits import LONG, Manual, end_rest, learn, study, until


def test_what_is_due_is_learned_and_adopted(database: Database) -> None:
    live, worker = study(database), Worker(Inline)
    live.wake = lambda: worker.look(live)
    worker.look(live)
    assert live.study.state.fits == 0, "there is nothing to learn from yet"
    learn(live)
    assert live.study.state.fits == 1
    assert live.study.state.learned == 3
    assert live.due() is None
    assert worker.problem("heart") is None
    assert not worker.busy("heart")
    again = studies.load(database, "heart")
    assert again.notes == ()
    assert again.study.predictor is not None
    assert again.study.state == live.study.state


def test_asking_goes_on_while_a_fit_runs_and_only_one_runs_for_a_study(database: Database) -> None:
    executor = Manual()
    live, worker = study(database), Worker(lambda: executor)
    live.wake = lambda: worker.look(live)
    learn(live)
    assert worker.busy("heart")
    live.open([Arrival("c1", {"net": (0.5, 0.5)})])
    (first,) = live.study.pending("c1")
    live.vote("c1", first, "yes")
    learn(live)
    assert len(executor.jobs) == 1
    future, run = executor.jobs[0]
    future.set_result(run())
    assert live.study.state.fits == 1
    assert len(executor.jobs) == 2, "what came meanwhile is learned next"
    assert worker.busy("heart")


def test_a_fit_that_comes_too_late_is_not_adopted(database: Database) -> None:
    executor = Manual()
    live, worker = study(database), Worker(lambda: executor)
    live.wake = lambda: worker.look(live)
    learn(live)
    other = studies.load(database, "heart")
    job = other.study.due()
    assert job is not None
    other.adopt(job, job.run())
    future, run = executor.jobs[0]
    future.set_result(run())
    assert "out of turn" in str(worker.problem("heart"))
    live.follow()
    assert live.study.state.fits == 1


def test_a_study_rests_between_two_fits(database: Database) -> None:
    live, worker = study(database), Worker(Inline, rest=LONG)
    live.wake = lambda: worker.look(live)
    learn(live)
    assert live.study.state.fits == 1
    learn(live)
    learn(live)
    assert live.study.state.fits == 1, "not before it has rested"
    end_rest(worker)
    assert live.study.state.fits == 2
    assert live.study.state.learned == 9, "and then of everything that came meanwhile"
    assert live.due() is None


def test_a_rest_ends_by_itself(database: Database) -> None:
    executor = Manual()
    live, worker = study(database), Worker(lambda: executor, rest=0.3)
    learn(live)
    worker._begun["heart"] = time.monotonic()
    worker.look(live)
    assert executor.jobs == []
    until(lambda: len(executor.jobs) == 1)


def test_fits_of_different_studies_keep_their_distance(database: Database) -> None:
    first, second, worker = study(database, "one"), study(database, "two"), Worker(Inline, gap=LONG)
    for live in (first, second):
        learn(live)
        worker.look(live)
    assert (first.study.state.fits, second.study.state.fits) == (1, 0)
    end_rest(worker, "two")
    assert second.study.state.fits == 1


def test_who_rests_does_not_wake_once_it_is_closed(database: Database) -> None:
    live, worker = study(database), Worker(Inline, rest=LONG)
    live.wake = lambda: worker.look(live)
    learn(live)
    learn(live)
    worker.close()
    assert worker._waiting["heart"].finished.is_set()
    end_rest(worker)  # it was about to
    assert live.study.state.fits == 1


def test_nothing_starts_once_it_is_closed(database: Database) -> None:
    executor = Manual()
    live, worker = study(database), Worker(lambda: executor)
    learn(live)
    worker.close()
    worker.look(live)
    assert executor.jobs == []


def test_a_study_that_is_gone_is_not_looked_for_after_its_rest(database: Database) -> None:
    live, worker = study(database), Worker(Inline, rest=LONG)
    live.wake = lambda: worker.look(live)
    learn(live)
    learn(live)
    timer = worker._waiting["heart"]
    worker.forget("heart")
    assert timer.finished.is_set()
    assert live.study.state.fits == 1
    learn(live)
    assert live.study.state.fits == 2, "another of its name does not rest"


def test_studies_learn_beside_each_other(database: Database) -> None:
    executor = Manual()
    first, second, worker = study(database, "one"), study(database, "two"), Worker(lambda: executor)
    for live in (first, second):
        learn(live)
        worker.look(live)
    assert worker.busy("one")
    assert worker.busy("two")
    assert len(executor.jobs) == 2
