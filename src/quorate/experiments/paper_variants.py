"""The paper's method with parts taken away, and with other priors."""

from __future__ import annotations

from dataclasses import replace

from quorate.assembly import Options
from quorate.assurance import bootstrap
from quorate.core.settings import Settings
from quorate.experiments.estimates import part
from quorate.experiments.finished import Finished
from quorate.experiments.series import Series, Work
from quorate.reporting.paper import Dots, Number, Output
from quorate.reporting.paper_facts import EARLY, PANELS, THEIRS

ABLATIONS = {
    "no correlations": Options(THEIRS, ablate=("correlations",)),
    "no temperature": Options(THEIRS, ablate=("temperature",)),
    "random querying": Options(THEIRS, chooser="random"),
}
ABLATED_AT = (0.01, 0.05)
PRIORS = {
    "sigma_mu = 0.3": Settings(sigma_mu=0.3),
    "sigma_mu = 1": Settings(sigma_mu=1.0),
    "sigma_sigma = 2": Settings(sigma_sigma=2.0),
    "sigma_sigma = 4": Settings(sigma_sigma=4.0),
    "eta = 2": Settings(eta=2.0),
    "eta = 5": Settings(eta=5.0),
}
"""Other values than the paper's .1, 1 and .75; section 4 says of larger ones, and of eta above 1, what they lead to."""
PRIORS_AT = 0.01
EARLY_CASES = 50
FOLLOWED = 100
"""Cases of a run that are enough to see what is asked early on, and whether that goes on."""


def ablation_series(work: Work) -> list[Series]:
    """The series of the ablations, those of the whole method among them."""
    told = [replace(options, max_error=e) for e in _levels(work) for options in ABLATIONS.values()]
    whole = [Series.of(table, THEIRS, e) for e in _levels(work) for table in _tables(work)]
    return whole + [Series(table, options) for options in told for table in _tables(work)]


def _tables(work: Work) -> list[str]:
    """In quick runs the first data set alone."""
    found = work.have([*PANELS])
    return found[:1] if work.quick else found


def _levels(work: Work) -> tuple[float, ...]:
    return ABLATED_AT[:1] if work.quick else ABLATED_AT


def ablations(finished: Finished) -> Output:
    """What each part of the method is worth."""
    numbers = []
    for e in _levels(finished.work):
        for row, options in {"whole method": Options(THEIRS), **ABLATIONS}.items():
            for table in _tables(finished.work):
                whole = finished.work.runs_of(Series.of(table, THEIRS, e))
                series = Series(table, replace(options, max_error=e))
                runs, point = finished.work.runs_of(series), finished.point(series)
                if point is None or not whole:
                    continue
                name, panel = f"{row}, allowed {e:g}", PANELS[table]
                numbers.append(Number(f"{name}: queries", panel, "", point.queries, "queries"))
                if row in ABLATIONS:
                    more = finished.estimators[table].difference(bootstrap.mean_queries, runs, whole)
                    numbers.append(Number(f"{name}: more queries than whole", panel, "", more, "queries"))
                made = f"{point.wrong} of {point.cases}, stated {100 * point.stated:.2g} %"
                numbers.append(Number(f"{name}: error", panel, "", point.error, "percent", None, made))
    return Output(
        "ablations",
        "ablations",
        "What each part is worth",
        "The paper's method without correlations, without a temperature, and with experts asked at random. The paper "
        "gives no numbers for these; its program has the switches.",
        tuple(numbers),
        Dots("queries a case", ": queries"),
        (),
        finished.work.missing(ablation_series(finished.work)),
    )


def sensitivity_series(work: Work) -> list[Series]:
    """The series of the priors, those of the paper's among them."""
    tables = _tables(work)
    whole = [Series.of(table, THEIRS, PRIORS_AT) for table in tables]
    return whole + [_other(table, settings) for settings in _priors(work).values() for table in tables]


def _priors(work: Work) -> dict[str, Settings]:
    """In quick runs the farther value of each alone."""
    return dict(list(PRIORS.items())[1::2]) if work.quick else PRIORS


def _other(table: str, settings: Settings) -> Series:
    return Series(table, Options(THEIRS, PRIORS_AT, settings=settings), length=FOLLOWED)


def sensitivity(finished: Finished) -> Output:
    """What other priors change, early on and later."""
    numbers = []
    for name, settings in _priors(finished.work).items():
        for when in ("early", "later"):
            for table in _tables(finished.work):
                whole = finished.work.runs_of(Series.of(table, THEIRS, PRIORS_AT))
                runs = finished.work.runs_of(_other(table, settings))
                if not whole or not runs:
                    continue
                middle, end = min(EARLY_CASES, len(runs[0]) // 2), len(runs[0])
                start, stop = (0, middle) if when == "early" else (middle, end)
                stretch = f"cases {start + 1} to {stop}"
                some, usual = ([part(run, start, stop) for run in own] for own in (runs, whole))
                more = finished.estimators[table].difference(bootstrap.mean_queries, some, usual)
                claim = EARLY if when == "early" else None
                numbers.append(Number(f"{name}, {stretch}", PANELS[table], "", more, "queries", claim))
    return Output(
        "sensitivity",
        "sensitivity",
        "Other priors",
        "Queries a case more than with the paper's priors (sigma_mu = 0.1, sigma_sigma = 1, eta = 0.75) at 1 % error "
        "allowed, on the same cases: early on, and after that.",
        tuple(numbers),
        Dots("queries a case more than with the paper's priors"),
        (),
        finished.work.missing(sensitivity_series(finished.work)),
    )
