"""Who can be asked about what, and for what: classes, experts and classifiers by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from quorate.core.numbers import at_least_0
from quorate.errors import PanelError


def _names(kind: str, plural: str, given: Iterable[str], least: int) -> tuple[str, ...]:
    if isinstance(given, str):
        raise PanelError(f"{plural} must be a list of names, not the single text {given!r}")
    names = tuple(given)
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise PanelError(f"{kind} {name!r} is not a name; expected a text that is not empty")
    if len(names) < least:
        raise PanelError(f"a panel needs at least {least} {plural}, got {len(names)}")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise PanelError(f"{kind} {twice!r} is named twice; each name must be its own")
    return names


def _costs(experts: tuple[str, ...], given: Mapping[str, float] | Sequence[float] | None) -> tuple[float, ...]:
    named = given if isinstance(given, Mapping) or given is None else dict(zip(experts, given, strict=False))
    if given is not None and not isinstance(given, Mapping) and len(given) != len(experts):
        raise PanelError(f"{len(given)} costs for {len(experts)} experts; expected one an expert")
    found = dict.fromkeys(experts, 1.0)
    for name, cost in (named or {}).items():
        if name not in found:
            raise PanelError(f"no expert {name!r} to have a cost; the panel has {', '.join(experts)}")
        found[name] = at_least_0("cost", f"expert {name!r}", cost, PanelError)
    if not any(found.values()):
        raise PanelError("every expert costs 0, so there is nothing to save; expected at least one cost above 0")
    return tuple(found.values())


@dataclass(frozen=True)
class Panel:
    """Classes, experts and classifiers (paper section 3), each by its own name; a vote costs 1 unless it is told.

    >>> panel = Panel(classes=["normal", "abnormal"], experts=["ann", "ben", "cho"], costs={"ann": 3.0})
    >>> panel.expert("ben"), panel.class_("abnormal"), panel.classifiers, panel.costs
    (1, 1, ('classifier',), (3.0, 1.0, 1.0))
    """

    classes: tuple[str, ...]
    experts: tuple[str, ...]
    classifiers: tuple[str, ...] = ("classifier",)
    costs: tuple[float, ...] = ()  # (H,) what a vote of each expert costs

    def __init__(
        self,
        classes: Iterable[str],
        experts: Iterable[str],
        classifiers: Iterable[str] = ("classifier",),
        costs: Mapping[str, float] | Sequence[float] | None = None,
    ) -> None:
        object.__setattr__(self, "classes", _names("class", "classes", classes, 2))
        object.__setattr__(self, "experts", _names("expert", "experts", experts, 1))
        object.__setattr__(self, "classifiers", _names("classifier", "classifiers", classifiers, 1))
        object.__setattr__(self, "costs", _costs(self.experts, costs))

    @property
    def prices(self) -> dict[str, float] | None:
        """What a vote of each expert costs by name; None where all cost the same, so that there is nothing to weigh.

        >>> Panel(["no", "yes"], ["ann", "ben"], costs={"ann": 3.0}).prices
        {'ann': 3.0, 'ben': 1.0}
        """
        return dict(zip(self.experts, self.costs, strict=True)) if len(set(self.costs)) > 1 else None

    def priced(self, costs: Mapping[str, float] | Sequence[float] | None) -> Panel:
        """The panel with other costs.

        >>> Panel(["no", "yes"], ["ann", "ben"]).priced({"ben": 0.5}).costs
        (1.0, 0.5)
        """
        return Panel(self.classes, self.experts, self.classifiers, costs)

    def expert(self, name: str) -> int:
        """Index of an expert by name."""
        return self._index("expert", name, self.experts)

    def class_(self, name: str) -> int:
        """Index of a class by name."""
        return self._index("class", name, self.classes)

    def classifier(self, name: str) -> int:
        """Index of a classifier by name."""
        return self._index("classifier", name, self.classifiers)

    def with_expert(self, name: str, cost: float = 1.0) -> Panel:
        """The panel with one more expert, who comes last so that every index keeps its meaning."""
        return replace(self, experts=(*self.experts, name), costs=(*self.costs, cost))

    def with_classifier(self, name: str) -> Panel:
        """The panel with one more classifier, which comes last so that every index keeps its meaning."""
        return replace(self, classifiers=(*self.classifiers, name))

    @staticmethod
    def _index(kind: str, name: str, names: tuple[str, ...]) -> int:
        if name not in names:
            raise PanelError(f"no {kind} {name!r}; the panel has {', '.join(names)}")
        return names.index(name)
