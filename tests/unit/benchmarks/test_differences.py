"""Each variant changes what it says and nothing else."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks import altered, differences
from benchmarks.altered import EXACT, VARIANTS, Altered, Loose, Variant, floored, start_anywhere
from benchmarks.differences import Run, Sum, cheapest_clean, difference, summed, told, walked

from quorate.assembly import Options, read_target
from quorate.core.history import History
from quorate.core.settings import Settings
from quorate.data.synthetic import simulate
from quorate.data.table import Table, table_from_arrays
from quorate.experiments.hindsight import everything
from quorate.experiments.protocol import RunPlan
from quorate.experiments.replay import replay
from quorate.models.full.gibbs import advance
from quorate.models.full.population import Cases
from quorate.models.full.simplex import log_ratios


@pytest.fixture(scope="module")
def table() -> Table:
    return simulate(np.random.default_rng(0), experts=3, classes=3, cases=12)


def test_nothing_changed_is_the_preset_itself(table: Table) -> None:
    own = walked(table, EXACT, 0.05, RunPlan(0, 12), 0)
    report = replay(table, options=Options("bayes:paper", max_error=0.05), seed=0, portrayed=False)
    assert own.queries == [len(case.asked) for case in report.scored]
    assert own.errors == [case.error for case in report.scored]
    assert own.stated == pytest.approx([case.stated_error for case in report.scored], rel=1e-5)


def test_log_ratios_are_cut_off_below_only() -> None:
    tiny = 1e-14
    given = [[tiny, 1 - 2 * tiny, tiny], [0.5, 0.5 - tiny, tiny], [tiny, tiny, 1 - 2 * tiny]]
    found = log_ratios(floored(table_from_arrays([[0, 1]] * 3, given)).probabilities[:, 0], clip=300.0)
    far = -math.log(tiny)
    low = math.log(1e-9)
    assert found == pytest.approx(
        np.array([[0.0, far], [far - math.log(2), far - math.log(2)], [low, low]]), rel=1e-6, abs=1e-6
    )


def test_simulated_votes_forecast_as_the_model_does(table: Table) -> None:
    """With many latents both say the same; a low limit on the log-ratios of experts changes what is said."""
    history, case = everything(table.select(range(8))), everything(table).cases[9]
    case = replace(case, votes=case.votes[:1])
    target, settings = read_target("consensus", table.panel), Settings(latents=64_000)
    seen = {}
    for name, variant in {
        "model": Variant(gated=False),
        "simulated": Variant(simulated=True, gated=False),
        "cut": Variant(simulated=True, gated=False, limit=10.0),
        "low": Variant(simulated=True, gated=False, limit=-3.0),
    }.items():
        learned = Altered(variant, settings).update(np.random.default_rng(1), history, None)
        assert isinstance(learned, Loose)
        seen[name] = np.array(learned.forecast(np.random.default_rng(2), case, target).values)
    assert seen["simulated"] == pytest.approx(seen["model"], abs=0.04)
    assert seen["cut"] == pytest.approx(seen["simulated"], abs=0.01)
    assert np.abs(seen["low"] - seen["simulated"]).max() > 0.02


def test_the_free_row_teaches_and_is_not_paid(table: Table) -> None:
    free = everything(table).cases[:1]
    learner = Altered(Variant(free_row=True), Settings(), free)
    plain = Altered(Variant(), Settings())
    known, unknown = (one.update(np.random.default_rng(3), History(table.panel), None) for one in (learner, plain))
    target, case = read_target("consensus", table.panel), table.case(0)
    values = [np.array(one.forecast(np.random.default_rng(4), case, target).values) for one in (known, unknown)]
    assert values[0].max() > values[1].max()


@pytest.mark.parametrize("name", [name for name in VARIANTS if name != EXACT])
def test_every_variant_runs(table: Table, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(altered, "LATENTS", 600)
    own = walked(table, name, 0.1, RunPlan(2, 6), 1)
    assert own.rows == [2, 3, 4, 5, 6, 7]
    assert all(0 <= asked <= 3 for asked in own.queries)


def test_chains_that_start_anywhere_go_on(table: Table) -> None:
    cases = Cases.of(everything(table), Settings())
    chains = start_anywhere(np.random.default_rng(5), cases, Settings(chains=3))
    assert all(np.linalg.eigvalsh(chain.state.Sigma).min() > 0 for chain in chains.chains)
    _, draws = advance(chains, warmup=5, draws=5)
    assert draws.shape == (3, 5)
    assert np.isfinite(draws.mu).all()


def test_runs_are_kept_and_paired(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "recorded", lambda _: {"chaoyang": table})
    monkeypatch.setattr(differences, "paper_runs", lambda _: [RunPlan(0, 3), RunPlan(3, 3)])
    differences.run_missing(tmp_path, ["chains 2 + 5"], ["chaoyang"], [0.2], [0])
    kept = (tmp_path / "runs.jsonl").read_text()
    with (tmp_path / "runs.jsonl").open("a") as file:
        file.write('{"panel": "cha')  # cut short by a kill
    differences.run_missing(tmp_path, ["chains 2 + 5"], ["chaoyang"], [0.2], [0, 1])
    runs = differences.all_runs([tmp_path, tmp_path])
    assert (tmp_path / "runs.jsonl").read_text().startswith(kept)
    assert [one.run for one in runs] == ["None 0", "None 3"]


def test_figures_of_runs() -> None:
    one = Run("chaoyang", EXACT, 0.01, "a", [4, 2], [1, 2], [0.0, 1.0], [0.1, 0.2], [math.nan, 1.1])
    found = summed(one)
    assert (found.queries, found.errors, found.wrong, found.rhat) == (1.5, 1.0, (2,), 1.1)
    other = replace(found, variant="no gate", queries=1.25)
    assert str(difference({"a": other}, {"a": found})) == "-0.25"  # one run has no standard error
    more = [replace(found, run="b"), replace(other, run="b", queries=1.75)]
    gap = difference({"a": other, "b": more[1]}, {"a": found, "b": more[0]})
    assert gap is not None
    assert (gap.mean, gap.error) == pytest.approx((0.0, 0.25))
    lines = list(told([found, other, *more], "chaoyang", 0.01))
    assert len(lines) == 4
    assert "+0.00 ± 0.25" in lines[-1]
    short = list(differences.in_short([found, other, *more], [("chaoyang", 0.01), ("chestxray", 0.01)]))
    assert short[-1] == "| no gate | 1.50 (+0.00 ± 0.25); 1.50, 1.50; 2 of 4 wrong |  |"
    assert Sum(**asdict(found)) == found


def test_one_row_decides_what_no_error_costs() -> None:
    one = Sum("chaoyang", EXACT, 0.05, "a", 250, 1.5, 1.0, 0.1, 1.5, 1.5, None, (7,))
    other = replace(one, max_error=0.01, queries=2.0, errors=0.0, wrong=())
    shares = cheapest_clean([[other], [one, replace(one, run="b", wrong=())]], 750)
    assert shares == pytest.approx([1 - math.exp(-1), math.exp(-1), 0.0], abs=0.02)
    assert cheapest_clean([[one], [replace(one, queries=1.0, wrong=(7, 9))]], 750)[2] == pytest.approx(0.63, abs=0.02)
    lines = list(differences.rows_that_decide([one, other], "chaoyang"))
    assert lines[2].startswith("| 0.01 | 1 | 2.00 | 1 | 2.00 | 0 |")


def test_other_rows_give_other_queries_without_an_error() -> None:
    sure = Run("chaoyang", EXACT, 0.01, "a", [0, 1, 2, 3], [2, 2, 2, 2], [0.0] * 4, [0.0] * 4, [])
    bold = replace(sure, max_error=0.1, queries=[1, 1, 1, 1], errors=[0.0, 0.0, 0.0, 1.0])
    found = differences.resampled([[sure], [bold]], 4)
    assert set(found.tolist()) == {1.0, 2.0}
    assert (found == 1.0).mean() == pytest.approx(0.75**4, abs=0.02)
    assert np.isinf(differences.resampled([[bold]], 4)).any()


def test_how_much_hangs_on_rows_is_told_of_the_runs_that_are_kept() -> None:
    runs = [one for one in differences.unchanged() if one.panel == "chaoyang"]
    assert len(runs) == 120
    told = list(differences.on_rows([*runs, *(replace(one, panel="chestxray") for one in runs)]))
    assert told[1] == "chaoyang"
    assert sum(line.startswith("| 0") for line in told) == 20
    assert told[-1].startswith("queries without an error: least, 5, 50 and 95 % of tables: [")
