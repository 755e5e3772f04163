"""An answer that is encoded ahead goes out as any other, and leaves the loop free meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from svc_pg.console.http.concurrently import meanwhile
from svc_pg.console.http.requests import ConsoleResponse
from svc_pg.console.http.responses import Encoder, Prepared
from svc_pg.database.pagination import Page
from svc_pg.formats.json_errors import NotJsonError

HEADERS = {"Location": "/a"}


async def parts() -> AsyncIterator[bytes]:
    yield b"part"


@pytest.mark.parametrize("body", [None, {"a": "ä"}, [], Page((1, 2), next_cursor="next", prev_cursor=None)])
def test_a_prepared_response_goes_out_as_the_response_itself(body: object) -> None:
    async def run() -> None:
        encoder = Encoder()
        response = ConsoleResponse(201, body, HEADERS)
        prepared = await encoder.prepared(response)
        assert (prepared.status, prepared.body, prepared.headers) == (201, body, HEADERS)
        assert await encoder.encoded(prepared) == await encoder.encoded(response)

    asyncio.run(run())


def test_what_is_made_as_it_is_sent_is_not_prepared() -> None:
    response = ConsoleResponse(200, parts())
    assert asyncio.run(Encoder().prepared(response)) is response


def test_a_body_that_is_no_json_is_refused_when_it_is_prepared() -> None:
    with pytest.raises(NotJsonError):
        asyncio.run(Encoder().prepared(ConsoleResponse(200, object())))


def test_work_goes_on_while_the_block_waits() -> None:
    async def run() -> None:
        met = asyncio.Barrier(2)
        async with asyncio.timeout(10), meanwhile(met.wait()) as other:
            await met.wait()
        assert other.done()

    asyncio.run(run())


def test_work_ends_with_an_error_of_the_block_and_its_own_error_is_raised() -> None:
    async def run(work: Any, error: Exception | None) -> None:
        async with meanwhile(work):
            await asyncio.sleep(0)
            if error is not None:
                raise error

    async def failing() -> None:
        raise ValueError("of the work")

    with pytest.raises(KeyError, match="of the block"):
        asyncio.run(run(asyncio.Event().wait(), KeyError("of the block")))
    with pytest.raises(KeyError, match="of the block"):
        asyncio.run(run(failing(), KeyError("of the block")))
    with pytest.raises(ValueError, match="of the work"):
        asyncio.run(run(failing(), None))


def test_headers_that_come_later_are_kept() -> None:
    async def run() -> None:
        encoder = Encoder()
        prepared = replace(await encoder.prepared(ConsoleResponse(200, {"a": 1})), headers={"Link": "<b>"})
        assert isinstance(prepared, Prepared)
        encoded = await encoder.encoded(prepared)
        assert (encoded.content, encoded.headers["link"]) == (b'{"a":1}', "<b>")

    asyncio.run(run())
