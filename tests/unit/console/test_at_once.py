"""Two questions at the same time are answered, and fail, as if they were asked in turn."""

import asyncio
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any, Final, NoReturn, TypeVar, cast

import pytest

from svc_pg.console.pages.at_once import both as both_of
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.transport.concurrency_limit import Turns

First = TypeVar("First")
Second = TypeVar("Second")

TURNS: Final = Turns(4)


def page_of(turns: Turns, session_id: str = "ann") -> PageRequest:
    return cast(PageRequest, SimpleNamespace(api=SimpleNamespace(second=lambda: turns.second(session_id))))


async def both(
    first: Coroutine[Any, Any, First], second: Coroutine[Any, Any, Second], turns: Turns = TURNS
) -> tuple[First, Second]:
    return await both_of(page_of(turns), first, second)


def in_a_session_with_one_turn(
    first: Coroutine[Any, Any, First], second: Coroutine[Any, Any, Second]
) -> tuple[First, Second]:
    return asyncio.run(both(first, second, Turns(1)))


async def answer(value: str) -> str:
    await asyncio.sleep(0)
    return value


async def fail(reason: str) -> NoReturn:
    await asyncio.sleep(0)
    raise ValueError(reason)


def test_both_are_under_way_at_the_same_time() -> None:
    async def run() -> None:
        met = asyncio.Barrier(2)
        async with asyncio.timeout(10):
            await both(met.wait(), met.wait())

    asyncio.run(run())


def test_answers_come_in_order() -> None:
    assert asyncio.run(both(answer("a"), answer("b"))) == ("a", "b")


def test_the_error_of_the_first_comes_before_that_of_the_second() -> None:
    with pytest.raises(ValueError, match="first"):
        asyncio.run(both(fail("first"), fail("second")))
    with pytest.raises(ValueError, match="second"):
        asyncio.run(both(answer("a"), fail("second")))


def test_the_second_ends_before_the_error_of_the_first_is_told() -> None:
    ended: list[str] = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("second")

    with pytest.raises(ValueError, match="first"):
        asyncio.run(both(fail("first"), endless()))
    assert ended == ["second"]


def test_a_page_that_is_given_up_ends_both() -> None:
    ended: list[str] = []

    async def endless(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    async def run() -> None:
        page = asyncio.create_task(both(endless("first"), endless("second")))
        for _ in range(3):
            await asyncio.sleep(0)
        page.cancel()
        with pytest.raises(asyncio.CancelledError):
            await page

    asyncio.run(run())
    assert sorted(ended) == ["first", "second"]


def test_a_session_with_one_turn_asks_one_after_another() -> None:
    under_way: list[str] = []

    async def alone(name: str) -> str:
        assert under_way == []
        under_way.append(name)
        await asyncio.sleep(0)
        under_way.remove(name)
        return name

    assert in_a_session_with_one_turn(alone("a"), alone("b")) == ("a", "b")


@pytest.mark.filterwarnings("error")
def test_the_second_is_not_asked_after_an_error_of_the_first() -> None:
    asked: list[str] = []

    async def ask() -> None:
        asked.append("second")

    with pytest.raises(ValueError, match="first"):
        in_a_session_with_one_turn(fail("first"), ask())
    with pytest.raises(ValueError, match="second"):
        in_a_session_with_one_turn(answer("a"), fail("second"))
    assert asked == []


def test_half_as_many_calls_of_a_session_as_have_turns_ask_two_questions_at_once() -> None:
    turns = Turns(5)
    with turns.second("ann") as one, turns.second("ann") as two, turns.second("ann") as three:
        assert (one, two, three) == (True, True, False)
        with turns.second("bob") as others:
            assert others
    with turns.second("ann") as again:
        assert again
