"""The console's API, called in the same process for the person who looks at a page."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast, get_origin
from urllib.parse import quote, urlencode

from starlette.datastructures import Headers, QueryParams

from svc_pg.console.core import Core
from svc_pg.console.http.products import Method
from svc_pg.console.http.requests import ConsoleRequest
from svc_pg.console.http.tokens import Session
from svc_pg.formats.json_writer import encode

Shape = TypeVar("Shape")
Query = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, slots=True)
class Api:
    """Calls the routes that programs call too: with their permissions, limits and problems, without HTTP between.

    A question that parts of one page repeat is asked once, unless something was sent since.
    """

    core: Core
    request: ConsoleRequest
    session: Session | None = None
    _answers: dict[tuple[str, ...], object] = field(default_factory=dict, init=False)

    async def get(self, shape: type[Shape], *segments: str, query: Query | None = None) -> Shape:
        """The value that ``GET`` answers with, which is a ``shape``. Each segment of the path is quoted.

        Raises Problem, as every call does.
        """
        asked = (*segments, urlencode(dict(query or {}), doseq=True))
        if asked not in self._answers:
            self._answers[asked] = await self.call("GET", *segments, query=query)
        return _checked(shape, self._answers[asked], segments)

    async def tagged(self, shape: type[Shape], *segments: str) -> tuple[Shape, str]:
        """As ``get``, with the ETag of the answer."""
        answer = await self.core.call(self._request("GET", segments, None, None, None), self.session)
        return _checked(shape, answer.body, segments), answer.headers["ETag"]

    async def post(
        self, shape: type[Shape], *segments: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Shape:
        """Send a body, in the API's camelCase, and return the value of the answer, which is a ``shape``."""
        return _checked(shape, await self.call("POST", *segments, body=body, headers=headers), segments)

    async def call(
        self,
        method: Method,
        *segments: str,
        body: object = None,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> object:
        """Call a route, and return the value of its answer, which may be an iterator of bytes."""
        if method != "GET":
            self._answers.clear()
        return (await self.core.call(self._request(method, segments, body, query, headers), self.session)).body

    def second(self) -> AbstractContextManager[bool]:
        """Enter to ask two questions at once; False if the session may have no second connection now."""
        if self.session is None:
            return nullcontext(enter_result=False)
        return self.core.turns.second(self.session.session_id)

    def _request(
        self,
        method: Method,
        segments: Sequence[str],
        body: object,
        query: Query | None,
        headers: Mapping[str, str] | None,
    ) -> ConsoleRequest:
        own = {name: value for name, value in self.request.headers.items() if name in _PASSED_ON}
        return replace(
            self.request,
            method=method,
            path="/" + "/".join(quote(segment, safe="") for segment in segments),
            headers=Headers(own | {name: _in_ascii(value) for name, value in (headers or {}).items()}),
            query=QueryParams(urlencode(dict(query or {}), doseq=True)),
            content=b"" if body is None else encode(body),
            body=None,
        )


def _in_ascii(value: str) -> str:
    """The value of a header, which a form or a cookie may have made: a text outside ASCII matches nothing."""
    return value.encode("ascii", errors="replace").decode()


def _checked(shape: type[Shape], found: object, segments: Sequence[str]) -> Shape:
    if not isinstance(found, get_origin(shape) or shape):
        raise TypeError(f"{'/'.join(segments)} answered with {type(found).__name__}, not {shape}")
    return cast(Shape, found)


_PASSED_ON = frozenset({"host", "origin", "sec-fetch-site", "user-agent", "x-forwarded-for", "forwarded", "x-real-ip"})
