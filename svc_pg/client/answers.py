"""Answers of the API as objects: open ones, which keep what a newer server adds."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from types import NoneType
from typing import Annotated, Any, Final, Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict, FailFast, Field, PrivateAttr, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from svc_pg.client.errors import UnexpectedAnswerError

T = TypeVar("T")

_HINT: Final = "Is base_url the address of svc-pg's API, and the server as new as this client?"


class Answer(BaseModel):
    """An object of an answer. Members that this version does not know are attributes under the names of the API."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="allow", frozen=True, defer_build=True
    )

    _etag: str | None = PrivateAttr(default=None)
    _request_id: str | None = PrivateAttr(default=None)

    @property
    def etag(self) -> str | None:
        """The state of the object as it was read, for ``if_match`` of a change; None of rows of lists, for example."""
        return self._etag

    @property
    def request_id(self) -> str | None:
        """The id of the call in the server's log; None of an object within another."""
        return self._request_id


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some rows of a list, over which it iterates.

    ``next_cursor`` is the ``cursor`` of the page after it, None on the last; ``prev_cursor`` is the ``before`` of the
    page before it, None on the first.
    """

    data: Annotated[list[T], FailFast()]  # or each of millions of wrong rows would be an error
    next_cursor: Annotated[str | None, Field(alias="nextCursor")] = None
    prev_cursor: Annotated[str | None, Field(alias="prevCursor")] = None

    def __iter__(self) -> Iterator[T]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def read(kind: type[T], body: bytes, headers: Mapping[str, str]) -> T:
    """The answer as an object of this type. Raises UnexpectedAnswerError, which does not tell the body."""
    if kind is NoneType:
        if body:
            raise UnexpectedAnswerError("the answer has a body, and none was due", hint=_HINT)
        return cast(T, None)
    found = read_json(kind, body)
    if isinstance(found, Answer):
        found._etag = headers.get("etag")
        found._request_id = headers.get("x-request-id")
    return found


def read_json(kind: type[T], text: bytes) -> T:
    """A JSON text as an object of this type; numbers of any JSON keep their digits. Raises UnexpectedAnswerError."""
    hashable: Any = kind
    try:
        return cast(T, _adapter(hashable).validate_python(_parsed(text)))
    except ValidationError as error:
        # without the values, which the text of the error has, and which may be secret
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = "".join(f"/{part}" for part in first["loc"])
        problem = f"{first['msg']}{place and f' at {place}'}"
    except (ValueError, ArithmeticError, RecursionError):
        problem = "it is no JSON, or has a number of too many digits"
    raise UnexpectedAnswerError(f"the answer does not fit: {problem}"[:500], hint=_HINT)


def _parsed(text: bytes) -> Any:
    """The value, with numbers with a fraction as Decimal: pydantic's own parser rounds them."""
    return json.loads(text.decode(), parse_float=Decimal, parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise ValueError(f"JSON has no {constant}")
