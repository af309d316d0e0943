"""A study as a person fills it in: texts in, a study's settings out, or what is wrong with each field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pydantic import ValidationError

from quorate.errors import InputError, TargetError
from quorate.service.forms import StudyIn

DEFAULTS: Final[Mapping[str, str]] = {
    "classifiers": "classifier",
    "max_error": "1",
    "target": "consensus",
    "min_votes": "1",
    "audit_share": "5",
    "lease_hours": "8",
    "max_open": "5",
    "in_flight": "1",
}
RESERVED: Final = ("new",)
"""Names that addresses of pages have taken."""
GUARDS: Final = 2
"""Rows of guards on the form."""
EXPECTED: Final[Mapping[str, str]] = {
    "name": "expected 1 to 64 letters A to Z, digits, dots, dashes or lines",
    "about": "expected at most 10,000 characters",
    "classes": "expected 2 to 20 names of at most 64 characters, without slashes",
    "experts": "expected 1 to 50 names of at most 64 characters, without slashes, and costs of at least 0",
    "classifiers": "expected 1 to 10 names of at most 64 characters, without slashes",
    "max_error": "expected a percentage from 0 to 100",
    "target": "expected at most 2,000 characters",
    "min_votes": "expected a whole number from 0 to 100",
    "audit_share": "expected a percentage from 0 to 100",
    "lease_hours": "expected a time from a second to three years",
    "max_open": "expected a whole number from 1 to 1,000",
    "in_flight": "expected a whole number from 1 to 50",
    "budget": "expected a number of at least 0",
    "guards": "expected at most 100 votes, a class and a percentage from 0 to 100",
}
"""What each field takes, in words for people."""
WHOLE: Final = "expected a whole number, such as {example}"
NUMBER: Final = "expected a number, such as {example}"


@dataclass
class StudyForm:
    """What was filled in, and what is wrong with it by field."""

    given: dict[str, str]
    errors: dict[str, str] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """A field without the space around it."""
        return self.given.get(name, "").strip()

    def lines(self, name: str) -> list[str]:
        """The lines of a field that hold anything."""
        return [line.strip() for line in self.given.get(name, "").splitlines() if line.strip()]

    def number(self, name: str, *, example: str) -> float | None:
        """A field as a number; None where it is empty or none."""
        text = self.text(name).replace(",", ".").removesuffix("%").strip()
        try:
            return float(text) if text else None
        except ValueError:
            self.errors[name] = f"{self.text(name)!r} is no number; " + NUMBER.format(example=example)
            return None

    def whole(self, name: str, *, example: str) -> int | None:
        """A field as a whole number; None where it is empty or none."""
        text = self.text(name)
        if text and not (text.isascii() and text.isdigit()):
            self.errors[name] = f"{text!r} is no whole number; " + WHOLE.format(example=example)
            return None
        return int(text[:12]) if text else None

    def read(self) -> StudyIn | None:
        """The study that was described; None where something is wrong, which `errors` then tells."""
        experts, costs = self._experts()
        values: dict[str, object] = {
            "name": self.text("name"),
            "about": self.given.get("about", "").strip(),
            "classes": self.lines("classes"),
            "experts": experts,
            "costs": costs or None,
            "classifiers": self.lines("classifiers") or ["classifier"],
            "max_error": _share(self.number("max_error", example="1")),
            "target": self._target(),
            "min_votes": self.whole("min_votes", example="1"),
            "no_human_accepted": self.text("no_human_accepted") == "yes",
            "audit_share": _share(self.number("audit_share", example="5")),
            "lease_seconds": _seconds(self.number("lease_hours", example="8")),
            "max_open": self.whole("max_open", example="5"),
            "in_flight": self.whole("in_flight", example="1"),
            "budget": self.number("budget", example="1000"),
            "guards": self._guards(),
        }
        if values["name"] in RESERVED:
            self.errors["name"] = f"{values['name']!r} is taken by a page; choose another name"
        self._check_counts(values)
        if self.errors:
            return None
        try:
            body = StudyIn.model_validate({name: value for name, value in values.items() if value is not None})
            body.config()
        except ValidationError as error:
            for problem in error.errors():
                self._blame(str(problem["loc"][0]), None)
        except InputError as error:
            self._blame(_field_of(error), str(error))
        else:
            return body
        return None

    def _check_counts(self, values: Mapping[str, object]) -> None:
        """Lists that are too short, in plainer words than those of a program."""
        if not values["name"]:
            self.errors["name"] = "give the study a name"
        if len(self.lines("classes")) < 2:
            self.errors["classes"] = "expected at least two classes, one a line"
        if not self.lines("experts"):
            self.errors["experts"] = "expected at least one expert, one a line"
        if values["min_votes"] == 0 and not values["no_human_accepted"]:
            self.errors["min_votes"] = "with 0, cases may settle that no person has seen: tick the box if that is meant"
        if values["budget"] is not None and not values["no_human_accepted"]:
            self.errors["budget"] = (
                "once it is spent, cases settle that no person has seen: tick the box under Oversight if that is meant"
            )

    def _blame(self, name: str, message: str | None) -> None:
        shown = {"lease_seconds": "lease_hours", "costs": "experts", "no_human_accepted": "min_votes"}.get(name, name)
        self.errors.setdefault(shown, message or EXPECTED.get(shown, "this cannot be used"))

    def _experts(self) -> tuple[list[str], dict[str, float]]:
        """Experts one a line, each with a cost after a comma if it is not 1."""
        names, costs = [], {}
        for number, line in enumerate(self.lines("experts"), start=1):
            name, comma, text = line.rpartition(",")
            if not comma:
                names.append(line)
                continue
            try:
                costs[name.strip()] = float(text)
            except ValueError:
                self.errors["experts"] = (
                    f"line {number}: {text.strip()!r} is no cost; expected a name, or a name, a comma and a number"
                )
            names.append(name.strip())
        return names, costs

    def _target(self) -> str:
        kind = self.text("target")
        if kind == "worst":
            return f"consensus:worst={self.text('worst_class')}"
        if kind in ("any", "all"):
            return f"{kind}:{self.text(f'{kind}_class')}"
        if kind == "atleast":
            return f"atleast:{self.text('atleast_number')}:{self.text('atleast_class')}"
        if kind == "weighted":
            return f"weighted:{self.text('weights')}"
        return kind or "consensus"

    def _guards(self) -> list[dict[str, object]]:
        found: list[dict[str, object]] = []
        for row in range(1, GUARDS + 1):
            names = [f"guard_{part}_{row}" for part in ("votes", "class", "above")]
            texts = [self.text(name) for name in names]
            if not any(texts):
                continue
            if not all(texts):
                self.errors["guards"] = (
                    "a guard needs all three: how many votes, for which class, above which probability"
                )
                continue
            votes, above = self.whole(names[0], example="2"), self.number(names[2], example="30")
            for name in (names[0], names[2]):
                if name in self.errors:
                    self.errors["guards"] = self.errors.pop(name)
            found.append({"votes": votes, "class": texts[1], "above": _share(above)})
        return found


def _share(percent: float | None) -> float | None:
    return None if percent is None else percent / 100


def _seconds(hours: float | None) -> float | None:
    return None if hours is None else hours * 3600


def _field_of(error: InputError) -> str:
    """The field that an error of quorate's own is about, by the words it begins with."""
    if isinstance(error, TargetError):
        return "target"
    said = str(error)
    begun = {
        "class": "classes",
        "expert": "experts",
        "cost": "experts",
        "every expert": "experts",
        "classifier": "classifiers",
        "min_votes": "min_votes",
        "guard": "guards",
        "budget": "budget",
        "in_flight": "in_flight",
        "max_error": "max_error",
        "no class": "target",
        "no expert": "target",
    }
    found = sorted((begin for begin in begun if said.startswith(begin)), key=len)
    return begun[found[-1]] if found else "form"
