"""Python values as the JSON of the API: fields in camelCase, times in RFC 3339 and UTC, stored JSON unchanged."""

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, Literal
from uuid import UUID

from pydantic.alias_generators import to_camel

from svc_pg.formats.exact_json import Verbatim


def encode(value: object, *, errors: Literal["strict", "backslashreplace"] = "strict") -> bytes:
    """One JSON document in UTF-8; ``backslashreplace`` escapes half a character, which UTF-8 has not.

    Names of a dataclass's fields become camelCase; keys of a mapping are data and stay. A Verbatim stays as it is.
    Raises TypeError for other types and ValueError for NaN, infinity and a time without a zone or beyond UTC.
    """
    return _text(value).encode(errors=errors)


_write: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def _text(value: object) -> str:
    match value:
        case Verbatim():
            return value.text
        case None:
            return "null"
        case str() | bool() | int() | float():
            return _write(value)
        case Decimal() if value.is_finite():
            return str(value)
        case datetime() | date() | timedelta() | UUID():
            return _text(_scalar(value))
        case Mapping():
            return _object(value)
        case Sequence() | Set() if not isinstance(value, bytes | bytearray | memoryview):
            return f"[{','.join(_text(item) for item in value)}]"
        case _ if is_dataclass(value) and not isinstance(value, type):
            members = [name + _text(getattr(value, attribute)) for attribute, name in _members(type(value))]
            return "{" + ",".join(members) + "}"
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


@lru_cache(maxsize=1024)
def _members(kind: type[Any]) -> list[tuple[str, str]]:
    """The attributes of a dataclass, and how their names begin a member."""
    return [(field.name, f"{_write(to_camel(field.name))}:") for field in fields(kind)]


def _object(members: Mapping[object, object]) -> str:
    if not all(isinstance(name, str) for name in members):
        raise TypeError("the keys of a JSON object are strings")
    return "{" + ",".join(f"{_text(name)}:{_text(value)}" for name, value in members.items()) + "}"


def _scalar(value: datetime | date | timedelta | UUID) -> str | float:
    match value:
        case datetime():
            if value.tzinfo is None:
                raise ValueError("a time without a zone cannot be written as RFC 3339")
            try:
                return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
            except OverflowError:
                raise ValueError("a time beyond the years of UTC cannot be written as RFC 3339") from None
        case date():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case UUID():
            return str(value)
