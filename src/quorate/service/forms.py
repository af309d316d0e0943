"""What programs may send: every field with its limits, so that nothing odd gets further than the door."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, StringConstraints, Tag

from quorate.assembly import Options
from quorate.core.case import Show
from quorate.core.panel import Panel
from quorate.core.rules import Guard, Rules
from quorate.errors import InputError
from quorate.service.arrivals import Arrival
from quorate.service.problems import KINDS
from quorate.storage.addresses import LONGEST_KEY, LONGEST_NAME, PART, STUDY
from quorate.storage.config import ServiceSettings, StudyConfig

MOST_AT_ONCE = 1000
LONG = 10_000
RESERVED = frozenset({"new", ".", ".."})
"""Names that addresses of pages begin with."""

Key = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_KEY, pattern=PART)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME, pattern=PART)]
StudyName = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME, pattern=STUDY)]
Text = Annotated[str, StringConstraints(max_length=LONG, pattern=r"^[^\x00]*$")]
Address = Annotated[str, StringConstraints(max_length=2000, pattern=r"^(https?://|/)[^\x00-\x20\x7f]*$")]
Share = Annotated[float, Field(ge=0, le=1)]
Price = Annotated[float, Field(ge=0, le=1e9)]
Probability = Annotated[list[Share], Field(min_length=2, max_length=50)]


class Form(BaseModel):
    """A body whose fields are all known."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class ShowIn(Form):
    """What experts are shown of a case."""

    text: Text | None = None
    image: Address | None = None
    link: Address | None = None


class CaseIn(Form):
    """A case that arrives."""

    key: Key
    probabilities: dict[Name, Probability | None] = Field(default_factory=dict, max_length=20)
    available: list[Name] | None = Field(default=None, max_length=100)
    show: ShowIn | None = None

    def arrival(self) -> Arrival:
        """The case as the study takes it."""
        if self.key in (".", ".."):
            raise InputError(f"a case's key of {self.key!r} has no address; expected another one")
        show = None if self.show is None else Show(self.show.text, self.show.image, self.show.link)
        there = None if self.available is None else tuple(self.available)
        return Arrival(self.key, dict(self.probabilities), there, show)


class CasesIn(Form):
    """Cases that arrive together, all or none."""

    cases: Annotated[list[CaseIn], Field(min_length=1, max_length=MOST_AT_ONCE)]


def _kind(body: object) -> str:
    """Which of the two kinds of body was meant, so that what is wrong with it is said of that one alone."""
    several = "cases" in body if isinstance(body, dict) else isinstance(body, CasesIn)
    return KINDS[several]


Arriving = Annotated[
    Annotated[CaseIn, Tag(KINDS[False])] | Annotated[CasesIn, Tag(KINDS[True])],
    Discriminator(_kind),
]
"""One case, or several."""


class GuardIn(Form):
    """More votes where a classifier makes a case look grave."""

    name: Name = Field(alias="class")
    above: Share
    votes: Annotated[int, Field(ge=0, le=100)]


class StudyIn(Form):
    """A study to be created."""

    name: StudyName
    classes: Annotated[list[Name], Field(min_length=2, max_length=20)]
    experts: Annotated[list[Name], Field(min_length=1, max_length=50)]
    classifiers: Annotated[list[Name], Field(min_length=1, max_length=10)] = ["classifier"]
    costs: dict[Name, Price] | None = None
    about: Text = ""
    max_error: Share = 0.01
    target: Annotated[str, StringConstraints(max_length=2000, pattern=r"^[^\x00]*$")] = "consensus"
    preset: Literal["quorate", "paper"] = "quorate"
    min_votes: Annotated[int, Field(ge=0, le=100)] = 1
    no_human_accepted: bool = False
    max_votes: Annotated[int, Field(ge=0, le=100)] | None = None
    required: list[Name] = Field(default_factory=list, max_length=50)
    budget: Price | None = None
    guards: list[GuardIn] = Field(default_factory=list, max_length=20)
    loss: dict[Name, Annotated[float, Field(ge=0, le=1e6)]] | None = None
    in_flight: Annotated[int, Field(ge=1, le=50)] = 1
    window: Annotated[int, Field(ge=1, le=2000)] | None = None
    audit_share: Share = 0.05
    lease_seconds: Annotated[float, Field(ge=1, le=1e8)] = 8 * 3600.0
    max_open: Annotated[int, Field(ge=1, le=1000)] = 5
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0

    def config(self) -> StudyConfig:
        """The study's configuration; what does not fit together is refused."""
        if self.name in RESERVED:
            raise InputError(f"a study cannot be named {self.name!r}; that is an address of its own")
        if self.min_votes == 0 and not self.no_human_accepted:
            raise InputError(
                "min_votes is 0, so cases may settle that no person has seen; send no_human_accepted: true if that is "
                "meant, or a min_votes of at least 1"
            )
        if self.budget is not None and not self.no_human_accepted:
            raise InputError(
                "budget: once it is spent nobody can be asked, and cases settle that no person has seen; send "
                "no_human_accepted: true if that is meant, or no budget"
            )
        rules = Rules(
            min_votes=self.min_votes,
            required=self.required,
            max_votes=self.max_votes,
            budget=self.budget,
            guards=[Guard(guard.name, guard.above, guard.votes) for guard in self.guards],
        )
        options = Options(
            max_error=self.max_error,
            preset=self.preset,
            rules=rules,
            loss=self.loss,
            in_flight=self.in_flight,
            window=self.window,
        )
        service = ServiceSettings(self.lease_seconds, self.max_open, self.audit_share, self.about)
        panel = Panel(self.classes, self.experts, self.classifiers, self.costs)
        config = StudyConfig(panel, options, self.target, self.seed, service)
        config.plan()
        return config


class VoteIn(Form):
    """An expert's vote."""

    expert: Name
    vote: Name
    amend: bool = False


class ExpertOfCase(Form):
    """An expert who abstains, or whose question is taken back."""

    expert: Name


class ReopenIn(Form):
    """How a settled case is asked about again."""

    whole: bool = True


class AwayIn(Form):
    """Whether an expert can be asked."""

    away: bool


class ExpertIn(Form):
    """An expert who joins or returns."""

    name: Name
    cost: Price | None = None


class ReplaceIn(Form):
    """A classifier that gives way to another."""

    old: Name
    new: Name
