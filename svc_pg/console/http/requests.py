"""Requests, responses and problem documents (RFC 9457) of the core handler."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote, unquote
from uuid import UUID

from pydantic import JsonValue
from pydantic.alias_generators import to_camel
from starlette.datastructures import Headers, MutableHeaders, QueryParams

from svc_pg.console.http import quotas
from svc_pg.console.http.once import Once
from svc_pg.console.http.phrases import phrase_of
from svc_pg.console.http.tokens import Session
from svc_pg.errors import SvcError


@dataclass(frozen=True, kw_only=True)
class ConsoleRequest:
    """A request below ``/.well-known/svc``. ``path`` is without that prefix and still percent-encoded."""

    method: str
    path: str
    headers: Headers
    query: QueryParams
    request_id: str
    client: str | None = None
    """The address of the client, if the server knows it."""
    peer: str | None = None
    """The address at the other end of the connection, which may be a proxy's."""
    scope: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The ASGI scope, for ``starlette.requests.Request(request.scope)`` in a ``session_of``."""
    base_path: str = ""
    """The part of the request's target before ``path``, such as ``/.well-known/svc``; percent-encoded."""
    content: bytes = b""
    """The body as it arrived; ``body`` does not keep the spelling of numbers."""
    body: JsonValue = None
    once: Once | None = field(default=None, repr=False)
    """The transaction of a form of the console's own pages; None for all other requests."""

    @property
    def cookies(self) -> Mapping[str, str]:
        """The cookies; of several with one name, the first."""
        pairs = [pair.strip().partition("=") for pair in ";".join(self.headers.getlist("cookie")).split(";")]
        return {name: value.strip('"') for name, _, value in reversed(pairs)}

    @property
    def segments(self) -> tuple[str, ...]:
        """The decoded segments of the path. One that came as ``a%2Fb`` is ``a/b``."""
        return tuple(unquote(segment) for segment in self.path.removeprefix("/").split("/"))

    def audit_context(self, session_id: str) -> Mapping[str, str | None]:
        """The context of the entries that it writes: the session, the request, and the address it came from."""
        return {"session_id": session_id, "request_id": self.request_id, "ip": self.client}

    def authenticated(self, session: Session, params: Mapping[str, str]) -> "AuthenticatedRequest":
        """This request with the additional fields that a product's handler gets."""
        return AuthenticatedRequest(**vars(self), session=session, params=params)


@dataclass(frozen=True, kw_only=True)
class AuthenticatedRequest(ConsoleRequest):
    """A request to a product: with the session of its token and the values of the path's ``:param`` segments."""

    session: Session
    params: Mapping[str, str]

    def uuid(self, *, unknown: "Problem") -> UUID:
        """The path's ``:id``. Raises ``unknown`` if it is no UUID, because nothing has such an id."""
        try:
            return UUID(self.params["id"])
        except ValueError as error:
            raise unknown from error


@dataclass(frozen=True)
class ConsoleResponse:
    """The answer of a handler. ``body`` is encoded as JSON (see ``json_writer``); None sends no body.

    An async iterator of bytes is sent as it comes, with the Content-Type of ``headers``. It must hold no connection
    while it waits to be asked for more: the client decides how long that is.
    """

    status: int = 200
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)


Compression = Literal["never", "own", "always"]
"""Of an answer: never if it may show a secret, if only the client's own page can have asked for it, or always."""


def created(request: ConsoleRequest, resource_id: str, body: object) -> ConsoleResponse:
    """A 201 with the Location of the new resource, which is ``resource_id`` under the path of the request."""
    location = f"{request.base_path}{request.path}/{quote(resource_id, safe='')}"
    return ConsoleResponse(201, body, {"Location": location})


@dataclass(frozen=True, slots=True)
class EncodedResponse:
    """A response as it goes out."""

    status: int
    content: bytes | AsyncIterator[bytes]
    headers: MutableHeaders
    compression: Compression = "never"


class Problem(Exception):
    """Raised to answer with a problem document. ``members`` are further fields of it, in camelCase on the wire.

    The header Retry-After, in seconds, is also its member ``retryAfter``.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        **members: object,
    ) -> None:
        super().__init__(code)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = headers or {}
        self.members = members

    def response(self, request_id: str) -> ConsoleResponse:
        """The document as a response."""
        document: dict[str, object] = {"title": phrase_of(self.status), "status": self.status}
        if self.detail is not None:
            document["detail"] = self.detail
        document |= {"code": self.code, "requestId": request_id}
        if "Retry-After" in self.headers:
            document["retryAfter"] = int(self.headers["Retry-After"])
        document |= {to_camel(name): value for name, value in self.members.items()}
        return ConsoleResponse(self.status, document, {**self.headers, "Content-Type": "application/problem+json"})


def explained(error: SvcError) -> str:
    """The message and the hint of an error as sentences, for the detail of a problem."""
    return f"{error.message}. {error.hint or ''}".strip()


def sentences(error: SvcError) -> str:
    """As ``explained``, with a capital at the beginning."""
    text = explained(error)
    return text[:1].upper() + text[1:]


def rate_limited(retry_after: int, limit: quotas.Limit, code: str = "rate_limited") -> Problem:
    """The problem of too many requests; the next one is allowed after ``retry_after`` s, as the answer then tells."""
    quotas.note(limit, limit.most, retry_after)
    headers = {"Retry-After": str(retry_after)}
    return Problem(429, code, f"Too many requests; try again in {retry_after} s.", headers=headers)


def read_only() -> Problem:
    """The problem of a change that a console which only reads is asked for."""
    return Problem(403, "read_only", "This console only reads. Make the change in a console of the primary.")


def unavailable(code: str, detail: str) -> Problem:
    """The problem of a database that cannot answer now."""
    return Problem(503, code, detail, headers={"Retry-After": "5"})
