"""Two questions at the same time are answered, and fail, as if they were asked in turn."""

import asyncio
from typing import NoReturn

import pytest

from svc_pg.console.pages.at_once import both


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
