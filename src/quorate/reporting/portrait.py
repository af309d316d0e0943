"""A panel's portrait in words, tables and plots, and as numbers by name."""

from __future__ import annotations

from itertools import combinations

from quorate.core.arrays import Floats
from quorate.models.portrait import Portrait
from quorate.reporting import portrait_plots as plots
from quorate.reporting.page import Markup, folded, gallery, paragraph, plot, table
from quorate.reporting.style import to_svg
from quorate.reporting.wording import counted, percent

WIDE = 8
"""Experts or classes whose map still fits beside another plot."""

BEYOND = {
    "evidence": "How alike what two experts say is once the evidence that all of them see is taken out",
    "full": "How alike two experts lean once the classifiers and everyone else are taken into account",
}
"""What siding is, by the model."""


def portrait_record(portrait: Portrait) -> dict[str, object]:
    """The figures of a portrait by name."""
    return {
        "cases": portrait.cases,
        "skill": {
            expert: {name: _three(portrait.skill[h, k]) for k, name in enumerate(portrait.classes)}
            for h, expert in enumerate(portrait.experts)
        },
        "siding": [
            {
                "experts": [portrait.experts[h], portrait.experts[g]],
                **_three(portrait.siding[h, g]),
                "probability_above_0": float(portrait.together[h, g]),
            }
            for h, g in combinations(range(len(portrait.experts)), 2)
        ],
        "classifiers": {
            "worth_in_votes": _three(portrait.worth.votes),
            "information": portrait.worth.classifiers,
            "information_of_votes": list(portrait.worth.by_votes),
        },
    }


def _three(values: Floats) -> dict[str, float]:
    return dict(zip(("value", "low", "high"), map(float, values), strict=True))


def worth_sentence(portrait: Portrait) -> str:
    """What the classifiers are worth in votes, in plain words."""
    value, low, high = portrait.worth.votes
    one, many = len(portrait.classifiers) == 1, len(portrait.classifiers)
    who = "The classifier alone tells" if one else f"{'Both' if many == 2 else f'All {many}'} classifiers together tell"
    votes = "1 vote of an expert" if f"{value:.1f}" == "1.0" else f"{value:.1f} votes of experts"
    return (
        f"{who} as much about the panel's decision as {votes} taken at random would without "
        f"{'it' if one else 'them'} (95 % interval {low:.1f} to {high:.1f})."
    )


def _information(portrait: Portrait) -> str:
    said = ", ".join(f"{told:.2f}" for told in portrait.worth.by_votes[1:])
    votes = len(portrait.worth.by_votes) - 1
    more = (
        f"; {'1 vote' if votes == 1 else f'1 to {votes} votes'} {'tells' if votes == 1 else 'tell'} {said}"
        if votes
        else ""
    )
    return (
        f"In nats of information about the decision: {portrait.worth.classifiers:.2f}{more}. Everything here is over "
        f"the scores of {counted(portrait.cases, 'case')} of the replay; the decision is that of the majority of all "
        "experts."
    )


def portrait_parts(portrait: Portrait, *, model: str) -> list[Markup]:
    """The parts of a page: a sentence, two plots and the tables behind them."""
    drawn = [_skills(portrait)]
    if len(portrait.experts) > 1:
        drawn.append(_siding(portrait, model))
    tables = [folded("Skill of each expert in numbers", _skill_table(portrait))]
    if len(portrait.experts) > 1:
        tables.append(folded("Who sides with whom in numbers", _siding_table(portrait)))
    return [paragraph(worth_sentence(portrait)), paragraph(_information(portrait), "note"), gallery(drawn), *tables]


def _skills(portrait: Portrait) -> Markup:
    said = "; ".join(
        f"{expert} " + ", ".join(f"{name} {_share(portrait.skill[h, k, 0])}" for k, name in enumerate(portrait.classes))
        for h, expert in enumerate(portrait.experts)
    )
    dots = len(portrait.classes) <= plots.FEW
    how = "Bars are 95 % intervals" if dots else "The table below has the 95 % intervals"
    return plot(
        "skills",
        "How good each expert is, class by class",
        to_svg(plots.skills(portrait), "skills"),
        f"How often each expert votes with the panel: {said}.",
        "Of the cases where the whole panel decides for a class, how often the expert votes for it. The panel itself "
        f"is the measure, and the expert a part of it. {how}; few votes of an expert make them wide.",
        wide=not dots,
    )


def _siding(portrait: Portrait, model: str) -> Markup:
    pairs = list(combinations(range(len(portrait.experts)), 2))
    h, g = max(pairs, key=lambda pair: portrait.siding[pair][0])
    clear = sum(plots.excludes_zero(portrait)[one][other] for one, other in pairs)
    which = "none of the pairs" if not clear else counted(clear, "pair")
    return plot(
        "siding",
        "Who sides with whom beyond the evidence",
        to_svg(plots.siding(portrait), "siding"),
        f"Siding of each pair; the largest is {portrait.siding[h, g, 0]:.2f}, of {portrait.experts[h]} and "
        f"{portrait.experts[g]}.",
        f"{BEYOND.get(model, BEYOND['full'])}: near 1 they vote as one, near 0 neither tells anything of the other, "
        f"below 0 they take opposite sides. Bold: the 95 % interval leaves 0 out, here of {which}.",
        wide=len(portrait.experts) > WIDE,
    )


def _share(value: float) -> str:
    return "never decided" if value != value else percent(value)


def _range(values: Floats) -> str:
    value, low, high = (float(x) for x in values)
    return _share(value) if value != value else f"{percent(value)} ({percent(low)} to {percent(high)})"


def _skill_table(portrait: Portrait) -> Markup:
    rows = [
        [expert, *(_range(portrait.skill[h, k]) for k in range(len(portrait.classes)))]
        for h, expert in enumerate(portrait.experts)
    ]
    headers = ["Expert", *portrait.classes]
    return table("Skill of each expert by class, with 95 % intervals", headers, rows, numbers=range(1, len(headers)))


def _siding_table(portrait: Portrait) -> Markup:
    def signed(value: float) -> str:
        return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "\N{MINUS SIGN}")

    rows = []
    for h, g in sorted(
        combinations(range(len(portrait.experts)), 2), key=lambda pair: -abs(float(portrait.siding[pair][0]))
    ):
        value, low, high = (signed(float(x)) for x in portrait.siding[h, g])
        rows.append(
            [
                f"{portrait.experts[h]} and {portrait.experts[g]}",
                value,
                f"{low} to {high}",
                percent(portrait.together[h, g]),
            ]
        )
    headers = ["Pair", "Siding", "95 % interval", "Probability above 0"]
    return table("Who sides with whom beyond the evidence", headers, rows, numbers=range(1, len(headers)))
