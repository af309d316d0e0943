"""Who can be asked about what: classes, experts and classifiers by name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

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


@dataclass(frozen=True)
class Panel:
    """Classes, experts and classifiers (paper section 3), each by its own name.

    >>> panel = Panel(classes=["normal", "abnormal"], experts=["ann", "ben", "cho"])
    >>> panel.expert("ben"), panel.class_("abnormal"), panel.classifiers
    (1, 1, ('classifier',))
    """

    classes: tuple[str, ...]
    experts: tuple[str, ...]
    classifiers: tuple[str, ...] = ("classifier",)

    def __init__(
        self, classes: Iterable[str], experts: Iterable[str], classifiers: Iterable[str] = ("classifier",)
    ) -> None:
        object.__setattr__(self, "classes", _names("class", "classes", classes, 2))
        object.__setattr__(self, "experts", _names("expert", "experts", experts, 1))
        object.__setattr__(self, "classifiers", _names("classifier", "classifiers", classifiers, 1))

    def expert(self, name: str) -> int:
        """Index of an expert by name."""
        return self._index("expert", name, self.experts)

    def class_(self, name: str) -> int:
        """Index of a class by name."""
        return self._index("class", name, self.classes)

    def classifier(self, name: str) -> int:
        """Index of a classifier by name."""
        return self._index("classifier", name, self.classifiers)

    def with_expert(self, name: str) -> Panel:
        """The panel with one more expert, who comes last so that every index keeps its meaning."""
        return replace(self, experts=(*self.experts, name))

    def with_classifier(self, name: str) -> Panel:
        """The panel with one more classifier, which comes last so that every index keeps its meaning."""
        return replace(self, classifiers=(*self.classifiers, name))

    @staticmethod
    def _index(kind: str, name: str, names: tuple[str, ...]) -> int:
        if name not in names:
            raise PanelError(f"no {kind} {name!r}; the panel has {', '.join(names)}")
        return names.index(name)
