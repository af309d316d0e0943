"""Recorded votes as a live stream: what would quorate have asked, saved and got wrong?"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from quorate.assembly import Options, Plan, plan, read_target
from quorate.assurance.bootstrap import saved_interval
from quorate.assurance.scored import Scored, truth_of
from quorate.assurance.summary import summarise
from quorate.core.arrays import Floats
from quorate.core.case import Case
from quorate.core.decision import Query, Settle
from quorate.core.health import Health
from quorate.core.panel import Panel
from quorate.core.protocols import Predictor, Target
from quorate.core.target import Votes
from quorate.data.table import Table
from quorate.errors import HealthError, SettingsError
from quorate.experiments import hindsight
from quorate.models.collected import Portrayable
from quorate.models.portrait import Portrait, portrait
from quorate.reporting.replay import Correlation, ReplayReport, SamplerFigures, Timing
from quorate.study.seeds import generator
from quorate.study.study import Study

Progress = Callable[[int, int], None]
"""Called with the number of cases done and of all cases."""


def replay(
    table: Table,
    *,
    options: Options | None = None,
    target: str | Target | Callable[[Votes], Hashable] = "consensus",
    limit: int | None = 250,
    offset: int = 0,
    shuffle: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    portrayed: bool = True,
) -> ReplayReport:
    """Run a method over recorded votes, handing out each vote only when it is asked for.

    `limit` cases are taken from `offset` on (None: all), after a shuffle by that seed if one is given. `portrayed`
    adds what was learned about the panel, which takes a second or two. What votes cost is in the table's panel.
    """
    options = options or Options()
    rows = choose_rows(len(table), limit=limit, offset=offset, shuffle=shuffle)
    aim = read_target(target, table.panel)
    floor = hindsight.in_hindsight(options.method)
    started = time.perf_counter()
    chosen = hindsight.fitted(table, options, aim, seed=seed) if floor else plan(table.panel, options, aim)
    study = Study(table.panel, target=aim, method=chosen.method, seed=seed)
    clock = Clock(starting=time.perf_counter() - started)
    fits: list[Health] = [study.predictor.health] if floor else []
    scored = []
    for done, row in enumerate(rows, start=1):
        scored.append(_walk(study, table, row, clock))
        job = study.due() if done < len(rows) else None  # nothing would use a fit after the last case
        if job is not None:
            began = time.perf_counter()
            study.adopt(job, job.run())
            clock.updates.append(time.perf_counter() - began)
            fits.append(study.predictor.health)
        if progress is not None:
            progress(done, len(rows))
    timing = clock.timing(time.perf_counter() - started)
    settings = {
        **_names(chosen),
        "target": aim.name,
        "seed": seed,
        "limit": limit,
        "offset": offset,
        "shuffle": shuffle,
        "window": options.window,
        "costs": cost_text(table.panel),
        "cost_blind": options.cost_blind,
        "in_flight": options.in_flight,
        **_rules(options),
        "table": table.source,
        "table_cases": len(table),
        "data_sha256": table.digest,
    }
    return ReplayReport(
        title=f"{options.method} on {Path(table.source).name}",
        method=options.method,
        settings=settings,
        summary=summarise(scored, experts=table.panel.experts, outcomes=aim.outcomes),
        scored=tuple(scored),
        experts=table.panel.experts,
        classes=table.panel.classes,
        outcomes=aim.outcomes,
        max_error=chosen.max_error,
        sampler=_sampler(fits),
        timing=timing,
        correlation=posterior_correlation(study.predictor, table.panel),
        portrait=panel_portrait(study, seed) if portrayed else None,
        priced=cost_text(table.panel) is not None,
        loss=dict(options.loss) if options.loss else None,
        saved=saved_interval(
            generator(seed, "saved"),
            np.array([case.cost for case in scored]),
            np.array([case.panel_cost for case in scored]),
        ),
    )


def cost_text(panel: Panel) -> str | None:
    """What votes cost as `--costs` takes it; None where each costs 1.

    >>> cost_text(Panel(["no", "yes"], ["ann", "ben"], costs={"ann": 3.0}))
    'ann=3,ben=1'
    """
    if all(cost == 1 for cost in panel.costs):
        return None
    return ",".join(f"{name}={cost:g}" for name, cost in zip(panel.experts, panel.costs, strict=True))


def choose_rows(cases: int, *, limit: int | None, offset: int, shuffle: int | None) -> list[int]:
    """The rows of a table that a replay walks, in order.

    >>> choose_rows(10, limit=3, offset=2, shuffle=None)
    [2, 3, 4]
    """
    if limit is not None and limit < 1:
        raise SettingsError(f"limit {limit} is too small; expected a whole number of at least 1")
    if not 0 <= offset < cases:
        raise SettingsError(f"offset {offset} is out of range; the table has {cases} cases, expected 0 to {cases - 1}")
    order = np.arange(cases) if shuffle is None else generator(shuffle, "shuffle").permutation(cases)
    stop = None if limit is None else offset + limit
    return [int(row) for row in order[offset:stop]]


@dataclass
class Clock:
    """Where the time goes."""

    starting: float = 0.0
    updates: list[float] = field(default_factory=list)
    decisions: list[float] = field(default_factory=list)

    def timing(self, seconds: float) -> Timing:
        """The figures a report shows."""
        p95 = float(np.percentile(self.decisions, 95)) if self.decisions else 0.0
        fitting = self.starting + sum(self.updates)
        return Timing(seconds, fitting, sum(self.decisions), 1000 * p95, tuple(self.updates))


def _walk(study: Study, table: Table, row: int, clock: Clock) -> Scored:
    """Ask about one case until it settles, and hold it against all its recorded votes."""
    panel, case = table.panel, table.case(row)
    _open(study, case)
    forced_asks = rounds = 0
    while True:
        began = time.perf_counter()
        step = study.ask(case.key)
        clock.decisions.append(time.perf_counter() - began)
        if isinstance(step, Settle):
            break
        asked = step.batch if isinstance(step, Query) else step.pending
        for expert in asked:  # all of them vote before anyone else is asked
            study.tell(case.key, expert, panel.classes[table.votes[row, panel.expert(expert)]])
        rounds += 1
        forced_asks += len(asked) if step.reason == "unhealthy" else 0
    study.settle(case.key)
    return replace(_score(study, step, table, row), rounds=rounds, forced_asks=forced_asks)


def _open(study: Study, case: Case) -> None:
    names = study.panel
    study.open(
        case.key,
        dict(zip(names.classifiers, case.probabilities, strict=True)),
        available=[name for name, there in zip(names.experts, case.available, strict=True) if there],
    )


def _score(study: Study, step: Settle, table: Table, row: int) -> Scored:
    panel, target = study.panel, study.target
    shares = target.weights(table.votes[row])
    leaders = [target.outcomes.index(name) for name in step.forecast.leaders]
    votes = study.history.cases[-1].votes
    gravity = step.forecast.gravity
    return Scored(
        key=step.case,
        asked=tuple(panel.experts[expert] for expert, _ in votes),
        votes=tuple(panel.classes[vote] for _, vote in votes),
        outcome=step.outcome,
        probability=step.forecast.values[step.forecast.leader],
        stated_error=step.forecast.error,
        reason=step.reason,
        truth=truth_of(target.outcomes, shares),
        # A tie of the forecast is a coin toss between its leaders: its expected error, without a random number.
        error=float(1 - shares[leaders].mean()),
        panel=int((table.votes[row] >= 0).sum()),
        cost=float(sum(panel.costs[expert] for expert, _ in votes)),
        panel_cost=float(np.array(panel.costs)[table.votes[row] >= 0].sum()),
        kept=step.kept,
        stated_loss=None if gravity is None else step.forecast.loss,
        loss=None if gravity is None else lost(gravity, shares, leaders),
    )


def lost(gravity: Sequence[float], shares: Floats, settled: Sequence[int]) -> float:
    """How grave the outcomes are that a case missed, expected over ties of the panel and of the forecast.

    >>> lost((1.0, 5.0), np.array([0.0, 1.0]), [0]), lost((1.0, 5.0), np.array([0.5, 0.5]), [1])
    (5.0, 0.5)
    """
    stakes = np.array(gravity) * shares
    return float(np.mean([np.delete(stakes, outcome).sum() for outcome in settled]))


def _rules(options: Options) -> dict[str, object]:
    """The rules and the loss, each as its option takes it."""
    rules = options.rules
    return {
        "loss": ",".join(f"{name}={weight:g}" for name, weight in (options.loss or {}).items()) or None,
        "min_votes": rules.min_votes or None,
        "required": ",".join(rules.required) or None,
        "max_votes": rules.max_votes,
        "budget": rules.budget,
    }


def _names(chosen: Plan) -> dict[str, object]:
    return {
        "preset": chosen.preset,
        "model": chosen.model,
        "engine": chosen.engine,
        "chooser": chosen.chooser,
        "schedule": chosen.schedule,
        "hyper_parameters": asdict(chosen.settings) if chosen.settings else None,
    }


def _sampler(fits: list[Health]) -> SamplerFigures:
    rhats = [health.rhat for health in fits if health.rhat is not None]
    sizes = [health.ess for health in fits if health.ess is not None]
    return SamplerFigures(
        fits=len(fits),
        worst_rhat=max(rhats) if rhats else None,
        worst_ess=min(sizes) if sizes else None,
        unhealthy_fits=sum(not health.healthy for health in fits),
    )


def posterior_correlation(predictor: Predictor, panel: Panel) -> Correlation | None:
    """Posterior mean correlations where the predictor has them: classifiers first, then experts."""
    omega = getattr(getattr(predictor, "draws", None), "omega", None)
    if omega is None:
        return None
    return Correlation(panel.classifiers + panel.experts, panel.classes, np.asarray(omega).mean(axis=(0, 1)))


def panel_portrait(study: Study, seed: int) -> Portrait | None:
    """What a study has learned about its panel, where its predictor knows how all would vote together."""
    if not isinstance(study.predictor, Portrayable):
        return None
    try:
        return portrait(generator(seed, "portrait"), study.predictor, study.history)
    except HealthError:  # draws that nothing can be simulated from: their fit is marked as unhealthy
        return None
