"""Server-sent events: everyone is told of what concerns them, of nothing else, and from any thread."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from quorate.service import stream
from quorate.service.stream import Hub, Listener
from tests.service.conftest import Service

HELLO = "retry: 2000\n\n"
CHANGED = "event: changed\ndata: 1\n\n"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "PAUSE", 0.02)


def run(test: Callable[[Hub], Awaitable[None]]) -> None:
    async def limited() -> None:
        await asyncio.wait_for(test(Hub()), 30)

    asyncio.run(limited())


async def hear(messages: AsyncIterator[str], seconds: float = 10.0) -> str:
    return await asyncio.wait_for(anext(messages), seconds)


async def silent(messages: AsyncIterator[str]) -> bool:
    """Whether nothing comes for a while; the stream is of no use afterwards."""
    with contextlib.suppress(TimeoutError):
        await hear(messages, 0.2)
        return False
    return True


def test_a_listener_hears_of_its_study_and_of_no_other() -> None:
    async def test(hub: Hub) -> None:
        messages = hub.listen("heart")
        assert await hear(messages) == HELLO
        hub.changed("heart", frozenset())
        assert await hear(messages) == CHANGED
        hub.changed("lung", frozenset({"ann"}))
        assert await silent(messages)

    run(test)


def test_an_expert_hears_of_the_own_desk_alone() -> None:
    async def test(hub: Hub) -> None:
        messages = hub.listen("heart", "ann")
        assert await hear(messages) == HELLO
        hub.changed("heart", frozenset({"ann", "ben"}))
        assert await hear(messages) == CHANGED
        hub.changed("heart", frozenset({"ben"}))
        hub.changed("heart", frozenset())
        assert await silent(messages)

    run(test)


def test_many_changes_are_told_as_one() -> None:
    async def test(hub: Hub) -> None:
        messages = hub.listen("heart")
        await hear(messages)
        for _ in range(100):
            hub.changed("heart", frozenset())
        assert await hear(messages) == CHANGED
        assert await silent(messages)

    run(test)


def test_a_change_between_two_messages_is_not_lost() -> None:
    async def test(hub: Hub) -> None:
        messages = hub.listen("heart")
        await hear(messages)
        hub.changed("heart", frozenset())
        assert await hear(messages) == CHANGED
        hub.changed("heart", frozenset())
        await asyncio.sleep(0)
        assert await hear(messages) == CHANGED

    run(test)


def test_it_is_told_from_other_threads() -> None:
    async def test(hub: Hub) -> None:
        messages = hub.listen("heart")
        await hear(messages)
        threading.Thread(target=hub.changed, args=("heart", frozenset())).start()
        assert await hear(messages) == CHANGED

    run(test)


def test_silence_is_broken_so_that_the_connection_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "BEAT", 0.01)

    async def test(hub: Hub) -> None:
        messages = hub.listen("heart")
        await hear(messages)
        assert await hear(messages) == ": alive\n\n"
        hub.changed("heart", frozenset())
        assert CHANGED in [await hear(messages), await hear(messages)]

    run(test)


def test_closing_ends_every_stream_and_those_to_come() -> None:
    async def test(hub: Hub) -> None:
        messages = hub.listen("heart")
        await hear(messages)
        assert len(hub) == 1
        hub.close()
        assert [one async for one in messages] == []
        assert len(hub) == 0
        assert [one async for one in hub.listen("heart")] == [HELLO]

    run(test)


def test_a_listener_who_leaves_is_forgotten() -> None:
    async def test(hub: Hub) -> None:
        messages = hub.listen("heart")
        await hear(messages)
        await messages.aclose()  # type: ignore[attr-defined]
        assert len(hub) == 0
        hub.changed("heart", frozenset())

    run(test)


def test_a_listener_whose_loop_has_ended_harms_nobody() -> None:
    async def begun() -> Listener:
        return Listener("heart", None, asyncio.get_running_loop())

    listener = asyncio.run(begun())
    hub = Hub()
    hub._listeners.add(listener)
    hub.changed("heart", frozenset())


def test_an_inbox_is_told_of_questions_and_not_of_the_votes_of_others(service: Service) -> None:
    live = service.create(min_votes=3, in_flight=3)
    service.join("anna", seats=(("heart", "ann"),))
    told: list[str] = []

    def listen() -> None:
        headers = {"Authorization": f"Bearer {service.tokens['anna']}"}
        path = "/api/studies/heart/experts/ann/events"
        with service.client.stream("GET", path, headers=headers) as response:  # the test client answers once it ends
            told.append(response.headers["content-type"])
            told.append("".join(response.iter_text()))

    thread = threading.Thread(target=listen)
    thread.start()
    end = time.monotonic() + 20
    while len(service.hall.hub) == 0:
        assert time.monotonic() < end
        time.sleep(0.01)
    service.open("c1")
    time.sleep(0.3)
    live.vote("c1", "ben", "abnormal")
    live.vote("c1", "cho", "abnormal")
    time.sleep(0.3)
    service.hall.hub.close()
    thread.join(20)
    assert told == ["text/event-stream; charset=utf-8", HELLO + CHANGED]


@pytest.mark.parametrize("path", ["/api/studies/nope/events", "/api/studies/heart/experts/nobody/events"])
def test_there_is_no_stream_of_what_is_not_there(service: Service, path: str) -> None:
    service.create()
    assert service.ask("GET", path).status_code == 404
