"""Make the calls of operations by httpx, for sync and async callers."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from contextlib import aclosing, closing
from dataclasses import replace
from typing import Any, Final, TypeVar

import anyio
import httpx

from svc_pg.client.answers import Page, read
from svc_pg.client.attempts import Attempt, Received, attempts
from svc_pg.client.connection import Connection, refuse_html, refuse_unknown_encoding, sending, whole
from svc_pg.client.errors import UnexpectedAnswerError
from svc_pg.client.operations import Arguments, Call, Operation, call_of, first_page
from svc_pg.client.streams import AsyncStream, Reader, Stream
from svc_pg.database.effects import arun, run

T = TypeVar("T")

_NOTHING: Final = Arguments()


class Api(Connection[httpx.Client]):
    """Makes calls."""

    def answer(self, operation: Operation[T], given: Arguments = _NOTHING) -> T:
        """The answer of an operation. Raises ClientError."""
        received = self._received(call_of(operation, given), is_stream=False)
        return read(operation.answer, received.body, received.headers)

    def iterate(self, operation: Operation[Page[T]], given: Arguments, page_size: int | None) -> Iterator[T]:
        """The rows of all pages; a page is asked for with its first row. Raises ClientError."""
        return self._rows(operation, first_page(operation, given, page_size))

    def _rows(self, operation: Operation[Page[T]], given: Arguments) -> Iterator[T]:
        next_one: Arguments | None = given
        while next_one is not None:
            page = self.answer(operation, next_one)
            yield from page.data
            next_one = _after(page, next_one)

    def stream(
        self, operation: Operation[Any], reader: Callable[[int], Reader[T]], given: Arguments = _NOTHING
    ) -> Stream[T]:
        """The items that a reader makes of an answer as it comes."""
        return Stream(self._items(call_of(operation, given), reader(self.bounds.max_bytes)))

    def _items(self, call: Call, reader: Reader[T]) -> Generator[T, None, None]:
        response: httpx.Response = self._received(call, is_stream=True).response
        with closing(response), whole(call):
            self.begin_stream(response)
            for part in response.iter_bytes():
                yield from reader.feed(part)
            yield from reader.end()

    def _received(self, call: Call, *, is_stream: bool) -> Received:
        def perform(attempt: Attempt) -> Received:
            request, auth = self.request(attempt), self.auth_of(attempt)
            with sending():
                response = self.http.send(request, stream=True, auth=auth, follow_redirects=False)
            is_open = False
            try:
                received, is_open = _begun(response, is_stream=is_stream)
                body = bytearray()
                if not is_open:
                    for part in response.iter_bytes():
                        self.gather(body, part, attempt)
                return replace(received, body=bytes(body))
            finally:
                if not is_open:
                    response.close()

        return run(attempts(call, self.bounds, self.pace), perform)


class AsyncApi(Connection[httpx.AsyncClient]):
    """Makes calls for callers in asyncio."""

    async def answer(self, operation: Operation[T], given: Arguments = _NOTHING) -> T:
        """The answer of an operation. Raises ClientError."""
        received = await self._received(call_of(operation, given), is_stream=False)
        return read(operation.answer, received.body, received.headers)

    def iterate(self, operation: Operation[Page[T]], given: Arguments, page_size: int | None) -> AsyncIterator[T]:
        """The rows of all pages; a page is asked for with its first row. Raises ClientError."""
        return self._rows(operation, first_page(operation, given, page_size))

    async def _rows(self, operation: Operation[Page[T]], given: Arguments) -> AsyncIterator[T]:
        next_one: Arguments | None = given
        while next_one is not None:
            page = await self.answer(operation, next_one)
            for row in page.data:
                yield row
            next_one = _after(page, next_one)

    def stream(
        self, operation: Operation[Any], reader: Callable[[int], Reader[T]], given: Arguments = _NOTHING
    ) -> AsyncStream[T]:
        """The items that a reader makes of an answer as it comes."""
        return AsyncStream(self._items(call_of(operation, given), reader(self.bounds.max_bytes)))

    async def _items(self, call: Call, reader: Reader[T]) -> AsyncGenerator[T, None]:
        response: httpx.Response = (await self._received(call, is_stream=True)).response
        async with aclosing(response):
            with whole(call):
                self.begin_stream(response)
                async for part in response.aiter_bytes():
                    for item in reader.feed(part):
                        yield item
                for item in reader.end():
                    yield item

    async def _received(self, call: Call, *, is_stream: bool) -> Received:
        async def perform(attempt: Attempt) -> Received:
            with anyio.fail_after(self.seconds_left(attempt)):  # the one whose cancellations httpx understands
                return await begun(attempt)

        async def begun(attempt: Attempt) -> Received:
            request, auth = self.request(attempt), self.auth_of(attempt)
            with sending():
                response = await self.http.send(request, stream=True, auth=auth, follow_redirects=False)
            is_open = False
            try:
                received, is_open = _begun(response, is_stream=is_stream)
                body = bytearray()
                if not is_open:
                    async for part in response.aiter_bytes():
                        self.gather(body, part, attempt)
                return replace(received, body=bytes(body))
            finally:
                if not is_open:
                    await response.aclose()

        return await arun(attempts(call, self.bounds, self.pace), perform)


def _begun(response: httpx.Response, *, is_stream: bool) -> tuple[Received, bool]:
    """The answer without its body, and true if that stays open, to be read as a stream."""
    refuse_unknown_encoding(response)
    is_open = is_stream and response.is_success
    if is_open:
        refuse_html(response)
    return Received(response.status_code, response.headers, response=response if is_open else None), is_open


def _after(page: Page[Any], given: Arguments) -> Arguments | None:
    """The arguments of the next page; None after the last. Raises UnexpectedAnswerError if it is this one again."""
    if page.next_cursor is None:
        return None
    if page.next_cursor == given.query.get("cursor"):
        raise UnexpectedAnswerError("the page after this one has the same cursor, so that the list would never end")
    return given.with_query(cursor=page.next_cursor)
