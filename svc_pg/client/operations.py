"""An operation of the API as data, and a call of it as a request, without I/O."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final, Generic, Literal, TypeVar, get_args, get_type_hints, is_typeddict
from uuid import uuid4

from pydantic.alias_generators import to_camel

from svc_pg.client.addresses import path_of, query_of, text_of
from svc_pg.client.errors import CallError
from svc_pg.formats.json_errors import NotJsonError
from svc_pg.formats.json_writer import write

T = TypeVar("T")

MAX_KEY_BYTES: Final = 1024
"""The most of an ``Idempotency-Key``, as the server has it."""

PAGING: Final = ("limit", "cursor", "before", "around", "after")
"""The parameters of a page: its size and its position."""

_SECOND: Final = timedelta(seconds=1)
_HEADER: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """An operation: its method, its path below the prefix, and the type of its answer.

    ``query`` and ``body`` are TypedDicts of what it takes. One ``with_key`` makes something, and takes a key by which
    the server makes it once. ``signed_by`` is the token that it needs.
    """

    method: str
    path: str
    answer: type[T]
    query: type[Any] | None = None
    body: type[Any] | None = None
    with_commas: tuple[str, ...] = ()
    with_key: bool = False
    signed_by: Literal["session", "device", "none"] = "session"


@dataclass(frozen=True, slots=True)
class Call:
    """A request of the API that can be sent, and be sent again. ``is_repeatable`` if two of it do as much as one."""

    method: str
    target: str
    body: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    token: str | None = field(default=None, repr=False)
    is_signed: bool = True
    is_repeatable: bool = False


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a caller gives to an operation. ``if_match`` is an ``etag``, or a star for whatever state there is."""

    path: Sequence[str] = ()
    query: Mapping[str, object] = field(default_factory=dict)
    body: Mapping[str, object] | None = field(default=None, repr=False)
    idempotency_key: str | None = None
    if_match: str | None = "*"
    device_token: str | None = field(default=None, repr=False)

    def with_query(self, **more: object) -> "Arguments":
        """The same, with other parameters too."""
        return replace(self, query={**self.query, **more})


def first_page(operation: Operation[Any], given: Arguments, page_size: int | None) -> Arguments:
    """The arguments of the first page, checked here, so that a wrong one raises before a row is asked for.

    Raises TypeError for a parameter that turns pages, and the errors of ``call_of``.
    """
    if taken := [name for name in given.query if name in PAGING]:
        raise TypeError(f"unexpected argument {taken[0]!r}: all pages are gone through, each of page_size rows")
    first = given.with_query(limit=page_size)
    call_of(operation, first)
    return first


def call_of(operation: Operation[Any], given: Arguments) -> Call:
    """The call of an operation. Raises CallError, or TypeError for a name that it does not take."""
    target = path_of(operation.path, given.path)
    _check_names(operation.query, given.query)
    if query := query_of(given.query, with_commas=operation.with_commas):
        target += f"?{query}"
    headers: dict[str, str] = {}
    if operation.with_key:
        headers["Idempotency-Key"] = _key(str(uuid4()) if given.idempotency_key is None else given.idempotency_key)
    if given.if_match != "*":
        headers["If-Match"] = _guard(given.if_match)
    body: bytes | None = None
    if operation.body is not None and given.body is not None:
        _check_names(operation.body, given.body)
        body = _json(_members(operation.body, given.body))
        headers["Content-Type"] = "application/json"
    return Call(
        operation.method,
        target,
        body,
        headers,
        token=None if given.device_token is None else header("device_token", given.device_token),
        is_signed=operation.signed_by == "session",
        is_repeatable=operation.with_key or operation.method == "GET",
    )


def header(name: str, value: str) -> str:
    """A value that a header can carry. Raises CallError, which does not tell the value: it may be secret."""
    if not _HEADER.fullmatch(value):
        hint = "Leave out line breaks, such as one at the end of a file, and letters beyond ASCII."
        raise CallError(f"{name} is empty, or has a character that no header can carry", hint=hint)
    return value


def _guard(etag: str | None) -> str:
    if etag is None:
        hint = "Rows of lists have no etag: read the object by get, or leave if_match out to change it whatever it is."
        raise CallError("if_match is None, which would guard nothing", hint=hint)
    return header("if_match", etag)


def _key(value: str) -> str:
    if len(value) > MAX_KEY_BYTES:
        raise CallError(f"idempotency_key has more than {MAX_KEY_BYTES} bytes")
    return header("idempotency_key", value)


def _check_names(kind: Any, given: Mapping[str, object]) -> None:
    known = _hints(kind) if kind is not None else {}
    if unknown := [name for name in given if name not in known]:
        raise TypeError(f"unexpected argument {unknown[0]!r}; known are {', '.join(known)}")
    if missing := sorted(getattr(kind, "__required_keys__", frozenset()) - given.keys()):
        raise TypeError(f"missing argument {missing[0]!r}")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _members(kind: Any, given: Mapping[str, object]) -> dict[str, object]:
    return {to_camel(name): _member(name, _hints(kind)[name], value) for name, value in given.items()}


def _member(name: str, hint: Any, value: object) -> object:
    """The value as it is sent: only the members of our own types have other names there, never those of a payload."""
    kinds = (hint, *get_args(hint))
    own = next((each for each in kinds if is_typeddict(each)), None)
    if own is not None and isinstance(value, Mapping):
        _check_names(own, value)
        return _members(own, value)
    if timedelta in kinds and isinstance(value, datetime | timedelta):
        return text_of(name, value) if str in kinds else _seconds(value)
    return value


def _seconds(value: datetime | timedelta) -> object:
    """A duration of whole seconds as a whole number: some members take no other."""
    return value // _SECOND if isinstance(value, timedelta) and not value % _SECOND else value


def _json(value: object) -> bytes:
    try:
        return write(value).encode()
    except NotJsonError as error:
        raise CallError(f"the body is not JSON: {error.message}", hint=error.hint) from error
    except UnicodeEncodeError as error:
        raise CallError("the body is not JSON: it has half of a surrogate pair, which no text has") from error
