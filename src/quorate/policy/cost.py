"""What a vote is worth for what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def per_cost(worth: Mapping[str, float], costs: Mapping[str, float] | None) -> dict[str, float]:
    """What each vote is worth per cost; those that cost nothing come first, by their worth.

    Nothing can be divided by a cost of 0: such a vote counts its whole worth, and 1 more than the best of the others.

    >>> per_cost({"ann": 0.5, "ben": 0.2}, {"ann": 5.0, "ben": 1.0})
    {'ann': 0.1, 'ben': 0.2}
    >>> per_cost({"ann": 0.5, "ben": 0.2}, {"ann": 5.0, "ben": 0.0})
    {'ann': 0.1, 'ben': 1.3}
    >>> per_cost({"ann": 0.5, "ben": 0.2}, None)
    {'ann': 0.5, 'ben': 0.2}
    """
    if costs is None:
        return dict(worth)
    paid = {expert: value / costs[expert] for expert, value in worth.items() if costs[expert] > 0}
    first = 1.0 + max(paid.values(), default=0.0)
    return {expert: paid[expert] if expert in paid else first + value for expert, value in worth.items()}


def per_batch_cost(
    worth: Sequence[float], batches: Sequence[tuple[str, ...]], costs: Mapping[str, float] | None
) -> list[float]:
    """What the votes of each batch are worth together per cost; batches that cost nothing come first.

    >>> per_batch_cost([0.75, 0.25], [("ann", "ben"), ("cho",)], {"ann": 2.0, "ben": 1.0, "cho": 0.0})
    [0.25, 1.5]
    """
    named = {str(place): value for place, value in enumerate(worth)}
    prices = {str(place): sum(costs[one] for one in batch) for place, batch in enumerate(batches)} if costs else None
    return list(per_cost(named, prices).values())


def measured(measure: str, *, weighed: bool) -> str:
    """A measure in words, per cost where costs are weighed.

    >>> measured("nats of information", weighed=True)
    'nats of information per cost'
    """
    return f"{measure} per cost" if weighed else measure
