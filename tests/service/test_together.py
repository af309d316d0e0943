"""Votes that come at once: served together, each as if it came alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from fastapi import BackgroundTasks
from fastapi.concurrency import run_in_threadpool
from sqlalchemy import event, update

from quorate.errors import InputError, StorageError, StudyError
from quorate.service.forms import VoteIn
from quorate.service.live import Ballot
from quorate.service.problems import ApiError
from quorate.service.rights import Identity, Role
from quorate.service.together import Together
from quorate.service.voting import Heard, Incoming, take
from quorate.storage.database import Database
from quorate.storage.schema import CASES
from quorate.study.events import Voted
from tests.service.desks import Make, again

LONGEST = 20.0


def test_those_who_come_while_others_are_served_are_served_together() -> None:
    begun, go_on = threading.Event(), threading.Event()
    served: list[list[int]] = []

    def work(group: str, items: Sequence[int]) -> list[str]:
        served.append([*items])
        begun.set()
        assert go_on.wait(LONGEST)
        return [f"{group} {item}" for item in items]

    async def come() -> list[str]:
        together = Together[int, str](work, most=3, at_once=2, patience=0.01)
        first = asyncio.create_task(together("heart", 0))
        assert await asyncio.to_thread(begun.wait, LONGEST)
        others = [asyncio.create_task(together("heart", item)) for item in range(1, 6)]
        await asyncio.sleep(0)
        go_on.set()
        return await asyncio.gather(first, *others)

    assert asyncio.run(come()) == [f"heart {item}" for item in range(6)]
    assert served == [[0], [1, 2, 3], [4, 5]]


def test_a_group_that_is_held_up_holds_up_no_other() -> None:
    go_on = threading.Event()

    def work(group: str, items: Sequence[int]) -> list[str]:
        assert group == "lung" or go_on.wait(LONGEST)
        return [group for _ in items]

    async def come() -> tuple[str, bool]:
        together = Together[int, str](work, most=2, at_once=2, patience=0.01)
        held = [asyncio.create_task(together("heart", item)) for item in range(9)]
        await asyncio.sleep(0)
        async with asyncio.timeout(LONGEST):
            answer = await together("lung", 0)
        waited = not any(task.done() for task in held)
        go_on.set()
        await asyncio.gather(*held)
        return answer, waited

    assert asyncio.run(come()) == ("lung", True)


def test_what_fails_is_told_to_all_who_wait_for_it_and_others_are_served() -> None:
    def work(_: str, items: Sequence[int]) -> list[int | Exception]:
        if 3 in items:
            raise ZeroDivisionError("nobody thought of it")
        return [StudyError("refused") if item == 1 else item for item in items]

    async def come() -> list[int | BaseException]:
        together = Together[int, int](work, most=2, at_once=2, patience=0.01)
        return await asyncio.gather(*(together("heart", item) for item in range(6)), return_exceptions=True)

    zero, one, two, three, four, five = asyncio.run(come())
    assert [zero, four, five] == [0, 4, 5]
    assert isinstance(one, StudyError)
    assert isinstance(two, ZeroDivisionError)
    assert isinstance(three, ZeroDivisionError)


def test_nobody_waits_for_ever_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    in_thread, failing = run_in_threadpool, True

    async def fail(*given: Any) -> Any:
        nonlocal failing
        if failing:
            failing = False
            raise RuntimeError("can't start new thread")
        return await in_thread(*given)

    monkeypatch.setattr("quorate.service.together.run_in_threadpool", fail)

    async def come() -> list[int | BaseException]:
        together = Together[int, int](lambda _, items: [*items], most=2, at_once=2, patience=0.01)
        async with asyncio.timeout(LONGEST):
            return await asyncio.gather(*(together("heart", item) for item in range(4)), return_exceptions=True)

    first, second, *others = asyncio.run(come())
    assert isinstance(first, RuntimeError)
    assert isinstance(second, RuntimeError)
    assert others == [2, 3]


def test_who_waits_when_all_of_it_ends_is_told() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def work(_: str, items: Sequence[int]) -> list[int]:
        begun.set()
        assert go_on.wait(LONGEST)
        return [*items]

    async def come() -> list[int | BaseException]:
        together = Together[int, int](work, most=2, at_once=1, patience=0.01)
        waiting = [asyncio.create_task(together("heart", item)) for item in range(4)]
        assert await asyncio.to_thread(begun.wait, LONGEST)
        for task in together._serving:
            task.cancel()
        go_on.set()
        return await asyncio.gather(*waiting, return_exceptions=True)

    assert all(isinstance(answer, asyncio.CancelledError) for answer in asyncio.run(come()))


def test_whoever_leaves_spoils_it_for_nobody() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def work(_: str, items: Sequence[int]) -> list[int]:
        begun.set()
        assert go_on.wait(LONGEST)
        return [*items]

    async def come() -> list[int]:
        together = Together[int, int](work, most=8, at_once=1, patience=0.01)
        first = asyncio.create_task(together("heart", 0))
        assert await asyncio.to_thread(begun.wait, LONGEST)
        left, stays = (asyncio.create_task(together("heart", item)) for item in (1, 2))
        await asyncio.sleep(0)
        left.cancel()
        go_on.set()
        return [await first, await stays, await together("heart", 3)]

    assert asyncio.run(come()) == [0, 2, 3]


def test_votes_of_one_transaction_are_each_as_if_alone(make: Make, database: Database) -> None:
    table = make()
    table.open("c1", "c2", "c3", "c4", "c5", "c6")
    before = table.desks()
    answers = table.live.cast(
        [
            Ballot("c1", "ann", "yes"),
            Ballot("c2", "ben", "perhaps"),  # no such class
            Ballot("nowhere", "ann", "yes"),
            Ballot("c3", "cho", "no"),
        ]
    )
    assert [answer is None for answer in answers] == [True, False, False, True]
    assert "perhaps" in str(answers[1])
    assert "nowhere" in str(answers[2])
    assert table.desk("ben") == before["ben"] == ["c2"], "what was refused is still on the desk"
    assert [table.desk(expert) for expert in ("ann", "cho")] == [["c4"], ["c5"]]
    voted = [(event.key, event.expert, event.vote) for event in table.live.study.journal if isinstance(event, Voted)]
    assert voted == [("c1", 0, 1), ("c3", 2, 0)]
    assert database.verify() == []
    after = again(table, database)
    assert {who: [one.case for one in after.questions(who)] for who in before} == table.desks()
    table.live.follow()
    table.live.vote("c2", "ben", "yes")
    assert database.verify() == []


def incoming(case: str, expert: str, vote: str = "yes") -> Incoming:
    """A vote of somebody in the seat."""
    who = Identity(1, expert, Role.EXPERT, {"heart": frozenset({expert})}, "api", 1)
    return Incoming(case, VoteIn(expert=expert, vote=vote), who, BackgroundTasks())


def test_what_is_left_to_hand_out_is_left_to_a_vote_that_is_taken(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make()
    table.open("c1")
    live = table.live
    refused, taken = incoming("nowhere", "ann"), incoming("c1", "ann")
    cast = live.cast

    def leave_more(ballots: Sequence[Ballot]) -> list[Exception | None]:
        answers = cast(ballots)
        live.more = True
        return answers

    monkeypatch.setattr(live, "cast", leave_more)
    first, second = take(live, [refused, taken])
    assert isinstance(first, ApiError)
    assert isinstance(second, Heard)
    assert refused.later.tasks == [], "an error is answered without them"
    assert len(taken.later.tasks) == 1


def damage(database: Database, key: str, column: str) -> None:
    """Something else writes to the read table."""
    with database.writing() as connection:
        changed = connection.execute(update(CASES).where(CASES.c.key == key).values({column: "{not json"}))
        assert changed.rowcount == 1


def test_a_case_whose_record_is_damaged_keeps_no_other_vote_from_being_stored(make: Make, database: Database) -> None:
    table = make()
    table.open("c1", "c2", "c3")
    damage(database, "c1", "asked")
    live = again(table, database)
    answers = take(live, [incoming(key, expert) for key, expert in (("c1", "ann"), ("c2", "ben"), ("c3", "cho"))])
    assert isinstance(answers[0], InputError)
    assert [isinstance(answer, Heard) for answer in answers[1:]] == [True, True]
    assert [len(live.study.state.known(key).votes) for key in ("c1", "c2", "c3")] == [0, 1, 1]


def test_a_vote_that_is_stored_is_answered_whatever_comes_next(make: Make, database: Database) -> None:
    table = make(max_open=2)
    table.open(*(f"c{number}" for number in range(6)))
    live = again(table, database)
    first, second = (question.case for question in live.questions("ann"))
    damage(database, second, "show")
    (answer,) = take(live, [incoming(first, "ann")])
    assert isinstance(answer, Heard)
    assert answer.next is None
    assert live.study.state.known(first).votes == ((0, 1),)


def test_what_nobody_thought_of_is_the_trouble_of_one_vote_alone(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make()
    table.open("c1", "c2")
    advance, before = table.live._advance, table.desks()

    def fails(key: str) -> None:
        if key == "c1":
            raise ZeroDivisionError("nobody thought of it")
        advance(key)

    monkeypatch.setattr(table.live, "_advance", fails)
    one, two = take(table.live, [incoming("c1", "ann"), incoming("c2", "ben")])
    assert isinstance(one, ZeroDivisionError)
    assert isinstance(two, Heard)
    assert table.desk("ann") == before["ann"]
    assert table.live.study.state.known("c1").votes == ()


def test_nobody_s_vote_is_taken_where_the_database_fails(make: Make, database: Database) -> None:
    table = make()
    table.open("c1", "c2")
    events, tried = len(table.live.study.journal), 0

    def full(*_: object) -> None:
        nonlocal tried
        tried += 1
        raise StorageError("the disk is full")

    event.listen(database._engines.writer, "commit", full)
    with pytest.raises(StorageError):
        take(table.live, [incoming("c1", "ann"), incoming("c2", "ben")])
    event.remove(database._engines.writer, "commit", full)
    assert tried == 1, "each alone would fail too"
    assert len(table.live.study.journal) == events


def test_a_part_of_a_batch_needs_a_batch(make: Make) -> None:
    table = make()
    with pytest.raises(RuntimeError, match="needs a batch"), table.live.stored.part():
        pass


def test_what_is_written_already_cannot_be_dropped_alone(make: Make) -> None:
    table = make()
    table.open("c1")
    journal, events = table.live.stored.journal, len(table.live.study.journal)

    def fail() -> None:
        with table.live.stored.batch(), table.live.stored.part() as study:
            study.tell("c1", "ann", "yes")
            with journal.reading():
                raise StudyError("too late")

    with pytest.raises(RuntimeError, match="written already"):
        fail()
    assert len(journal) == events
    table.live.vote("c1", "ann", "yes")
