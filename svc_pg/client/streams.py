"""Answers that come part by part: rows of an export, events of the server, the bytes of a file."""

from collections.abc import AsyncGenerator, Generator, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Generic, Protocol, Self, TypeVar

from svc_pg.client.answers import read_json
from svc_pg.client.errors import UnexpectedAnswerError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_JSON: Final[Any] = object
"""Any JSON value."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """An event of a stream: its name, such as ``changed``, and its data, which is JSON."""

    name: str
    data: Any


class Reader(Protocol[T_co]):
    """Makes items of the parts of an answer."""

    def feed(self, part: bytes) -> Iterable[T_co]:
        """The items that are whole with this part."""

    def end(self) -> Iterable[T_co]:
        """Those that the end makes whole."""


class Parts:
    """The parts as they are."""

    def feed(self, part: bytes) -> Iterable[bytes]:
        """This part."""
        return (part,)

    def end(self) -> Iterable[bytes]:
        """Nothing."""
        return ()


class _TextLines:
    """Lines of at most so many bytes, without what ends them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rest = bytearray()

    def feed(self, part: bytes) -> Iterator[bytes]:
        start = 0
        while (end := part.find(b"\n", start)) >= 0:  # a split would make a list of millions of empty lines
            self._add(part[start:end])
            yield self._line()
            start = end + 1
        self._add(part[start:])

    def end(self) -> Iterator[bytes]:
        if self._rest:
            yield self._line()

    def _add(self, piece: bytes) -> None:
        self._rest += piece
        if len(self._rest) > self._most:
            message = f"a line of the stream has more than {self._most:,} bytes"
            raise UnexpectedAnswerError(message, hint="Give the client a higher max_bytes.")

    def _line(self) -> bytes:
        line = bytes(self._rest)
        self._rest.clear()
        return line.removesuffix(b"\r")


class Lines(Generic[T]):
    """A JSON value of each line (NDJSON), as an object of a type."""

    def __init__(self, kind: type[T], most: int) -> None:
        self._kind = kind
        self._lines = _TextLines(most)

    def feed(self, part: bytes) -> Iterator[T]:
        """The objects of the lines that are whole with this part."""
        for line in self._lines.feed(part):
            if line:
                yield read_json(self._kind, line)

    def end(self) -> Iterator[T]:
        """The object of a last line without an end."""
        for line in self._lines.end():
            yield read_json(self._kind, line)


class ServerEvents:
    """The events of a stream: https://html.spec.whatwg.org/multipage/server-sent-events.html."""

    def __init__(self, most: int) -> None:
        self._lines = _TextLines(most)
        self._name = b""
        self._data: list[bytes] = []
        self._left = self._most = most

    def feed(self, part: bytes) -> Iterator[ServerEvent]:
        """The events that are whole with this part."""
        for line in self._lines.feed(part):
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if not line:
                if self._data:
                    data = read_json(_JSON, b"\n".join(self._data))
                    yield ServerEvent((self._name or b"message").decode(errors="replace"), data)
                self._name, self._data, self._left = b"", [], self._most
            elif name == b"event":
                self._name = value
            elif name == b"data":
                self._left -= len(value) + 1
                if self._left < 0:
                    raise UnexpectedAnswerError(f"an event of the stream has more than {self._most:,} bytes")
                self._data.append(value)

    def end(self) -> Iterable[ServerEvent]:
        """Nothing: an event that is not whole is none."""
        return ()


class Stream(Generic[T]):
    """Items of an answer that is still coming. The call is made when the first is asked for.

    Use it in a ``with`` statement, or iterate to its end: else the connection is kept until the stream is collected.
    """

    def __init__(self, items: Generator[T, None, None]) -> None:
        self._items = items

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        return next(self._items)

    def close(self) -> None:
        """End the call; what has not come yet is not read."""
        self._items.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self.close()


class AsyncStream(Generic[T]):
    """As ``Stream``, for ``async with`` and ``async for``."""

    def __init__(self, items: AsyncGenerator[T, None]) -> None:
        self._items = items

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        return await anext(self._items)

    async def close(self) -> None:
        """End the call; what has not come yet is not read."""
        await self._items.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        await self.close()
