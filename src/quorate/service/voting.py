"""Votes as they come in: who may cast them, and those of a study that come at once are stored together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from fastapi import BackgroundTasks, Depends, Request

from quorate.errors import NotFoundError, QuorateError, StaleJournalError, StorageError
from quorate.service.access import Identity, may_change_vote, may_vote, refuse
from quorate.service.forms import VoteIn
from quorate.service.hall import Hall
from quorate.service.live import Ballot, LiveStudy
from quorate.service.problems import ApiError
from quorate.service.rights import Right, may
from quorate.service.together import Together
from quorate.service.views import QuestionView, inbox
from quorate.storage import listing
from quorate.study.study import Study

MOST = 16
"""Most votes that are stored together: whoever is first among them waits for the last."""
AT_ONCE = 4
"""Most studies whose votes are stored at once, where some are held up."""
PATIENCE = 0.25
"""Seconds after which a study that is held up lets others go on beside it."""


@dataclass(frozen=True)
class Heard:
    """An answer that is stored, and the next question on the same desk."""

    case: str
    expert: str
    vote: str | None
    next: QuestionView | None


class Incoming(NamedTuple):
    """A vote, who sends it, and what is to be done once it is answered."""

    case: str
    body: VoteIn
    who: Identity
    later: BackgroundTasks


Votes = Together[Incoming, Heard]


def votes_of(hall: Hall) -> Votes:
    """Where votes for the studies of a hall come in."""
    return Together(lambda study, votes: take(hall.study(study), votes), MOST, AT_ONCE, PATIENCE)


async def _votes(request: Request) -> Votes:
    votes: Votes = request.app.state.votes
    return votes


TheVotes = Annotated[Votes, Depends(_votes)]


def known_case(live: LiveStudy, case: str) -> None:
    """Refuse an address of a case that is not there."""
    if not live.read(lambda study: case in study.state.places):
        raise NotFoundError(f"no case {case!r} in study {live.name!r}")


def check_seat(who: Identity, live: LiveStudy, case: str, expert: str) -> None:
    """Refuse a vote of somebody who does not sit there, or was not asked; it tells strangers nothing of the case."""
    seated = who.sits(live.name, expert)
    refuse(f"vote as {expert!r}", unless=seated or may_vote(who, live.name, expert, asked=False))
    if may(who, Right.SEE_STUDIES):
        known_case(live, case)

    asked = live.read(lambda study: expert in study.state.waiting(case)) or was_asked(live, case, expert)
    refuse(
        f"vote on case {case!r} as {expert!r}, who was not asked",
        unless=may_vote(who, live.name, expert, asked=asked),
    )


def was_asked(live: LiveStudy, case: str, expert: str) -> bool:
    """Whether an expert was ever asked about a case, or voted on it; a case that is not there is one they were not."""
    known = live.read(lambda study: case in study.state.places)
    record = listing.find(live.stored.db, live.stored.id, case) if known else None
    return record is not None and live.study.panel.expert(expert) in {one.expert for one in record.asked}


def check_voice(who: Identity, study: str, expert: str) -> None:
    """Refuse somebody who has no say in an expert's votes, before anything is looked for."""
    says = may_change_vote(who, study, expert) or may_vote(who, study, expert, asked=True)
    refuse(f"vote as {expert!r}", unless=says)


def has_voted(live: LiveStudy, case: str, expert: str) -> bool:
    """Whether an expert's vote on a case is there, to be changed."""

    def look(study: Study) -> bool:
        places = study.state.places
        return case in places and study.state.known(case).voted(study.panel.expert(expert)) is not None

    return live.read(look)


def take(live: LiveStudy, votes: Sequence[Incoming]) -> list[Heard | Exception]:
    """Take votes of people who have a say, in one go; each has its answer, or why it was refused."""
    refused = [_refused(live, vote) for vote in votes]
    cast = iter(_cast(live, [_ballot(live, vote) for vote, why in zip(votes, refused, strict=True) if why is None]))
    failed = [next(cast) if why is None else why for why in refused]
    heard = next((vote for vote, why in zip(votes, failed, strict=True) if why is None), None)
    if live.more and heard is not None:  # an error is answered with nothing to be done later
        heard.later.add_task(live.refill)
    return [_heard(live, vote) if why is None else why for vote, why in zip(votes, failed, strict=True)]


def _refused(live: LiveStudy, vote: Incoming) -> Exception | None:
    """Why a vote cannot be taken at all, if it cannot."""
    case, body, who, _ = vote
    try:
        if may(who, Right.SEE_STUDIES):
            known_case(live, case)
        if not (body.amend and may_change_vote(who, live.name, body.expert) and has_voted(live, case, body.expert)):
            check_seat(who, live, case, body.expert)
    except (ApiError, QuorateError) as error:
        return error
    return None


def _cast(live: LiveStudy, ballots: Sequence[Ballot]) -> list[Exception | None]:
    """Cast votes in one go; where something about one of them keeps all from being stored, one by one."""
    try:
        return live.cast(ballots)
    except (StorageError, StaleJournalError, NotFoundError):  # the database fails, or the study is gone
        raise
    except QuorateError as error:
        return [error] if len(ballots) == 1 else [why for ballot in ballots for why in _cast(live, [ballot])]


def _ballot(live: LiveStudy, vote: Incoming) -> Ballot:
    case, body, who, _ = vote
    return Ballot(case, body.expert, body.vote, body.amend, who.instead_of(live.name, body.expert))


def _heard(live: LiveStudy, vote: Incoming) -> Heard:
    return Heard(vote.case, vote.body.expert, vote.body.vote, next_question(live, vote.body.expert))


def next_question(live: LiveStudy, expert: str) -> QuestionView | None:
    """The oldest question on an expert's desk, if it can be read: what is stored is answered whatever comes next."""
    try:
        return next(iter(inbox(live, expert, most=1).questions), None)
    except QuorateError:  # whoever looks at the desk is told
        return None
