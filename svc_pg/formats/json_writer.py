"""Write JSON for answers, exports and values of applications, with one form of each type.

A Decimal is a number with all its digits, a time is RFC 3339 in UTC with microseconds, a duration is a number of
seconds. UUIDs and dates are texts, an enum is its value, a model of pydantic is its own dump, by alias.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from math import isfinite
from typing import Any, Final, Literal, NamedTuple
from uuid import UUID

from svc_pg.formats.json_errors import Refused, endless, step

_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
_LEAVES: Final = frozenset({str, int, bool, type(None)})


class Verbatim(ABC):
    """A value that has a JSON text already."""

    __slots__ = ()

    @property
    @abstractmethod
    def text(self) -> str:
        """The text, which is written as it is."""


class _Style(NamedTuple):
    """The spelling of an object: of its separators, and of the names of a dataclass's fields."""

    comma: str
    colon: str
    field: Callable[[str], str]


@lru_cache(maxsize=1024)
def _camel(name: str) -> str:
    from pydantic.alias_generators import to_camel  # an application that only sends need not load it

    return to_camel(name)


_OURS: Final = _Style(",", ":", _camel)
_THEIRS: Final = _Style(", ", ": ", str)


def encode(value: object, *, errors: Literal["strict", "backslashreplace", "surrogatepass"] = "strict") -> bytes:
    """Encode an answer of ours in UTF-8; ``backslashreplace`` escapes lone surrogates, which UTF-8 cannot hold,
    and ``surrogatepass`` keeps them for who decodes in the same way.

    Names of a dataclass's fields become camelCase; keys of a mapping are data and stay. A Verbatim stays as it is.
    Raises NotJsonError, which names the path to the value.
    """
    return _written(value, _OURS).encode(errors=errors)


def write(value: object) -> str:
    """Write a value of an application; its names stay. Raises NotJsonError, which names the path to the value.

    Members and items keep their order; a set is refused, because it has none.
    """
    try:
        return _write(_without_verbatim(value))
    except (_SlowError, TypeError, ValueError, OverflowError, RecursionError):
        return _written(value, _THEIRS)  # writes the values that the fast way cannot, or raises with the path


def write_ascii(value: object) -> str:
    """As ``write``, with characters beyond ASCII escaped: it suits a connection with any encoding."""
    return _BEYOND_ASCII.sub(lambda found: json.dumps(found.group())[1:-1], write(value))


def timestamp(value: datetime) -> str:
    """An aware time, as every JSON of ours has it. Raises OverflowError for one beyond the years of UTC."""
    return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _plain(value: object) -> object:
    """The value that stands for another in JSON. Raises _SlowError if it has a text of its own, or none."""
    match value:
        case Decimal() | Verbatim():
            raise _SlowError
        case Enum():
            return value.value
        case datetime() if value.tzinfo is not None:
            return timestamp(value)
        case date() | time() if not isinstance(value, datetime):
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case UUID():
            return str(value)
        case Mapping():
            return dict(value)
        case Sequence() if not isinstance(value, bytes | bytearray | memoryview):
            return list(value)
        case _ if hasattr(type(value), "__pydantic_serializer__") and hasattr(value, "model_dump"):
            return value.model_dump(mode="json", by_alias=True)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {field.name: getattr(value, field.name) for field in fields(value)}
    raise _SlowError


class _SlowError(Exception):
    """A value that the encoder of ``json`` cannot write, not even replaced by another."""


def _without_verbatim(value: Any) -> Any:
    """The value. Raises _SlowError if a str in it is Verbatim: the encoder of ``json`` would quote it."""
    if isinstance(value, dict):
        parts: Iterable[Any] = value.values()
    elif isinstance(value, list | tuple):
        parts = value
    elif isinstance(value, str) and isinstance(value, Verbatim):
        raise _SlowError
    else:
        return value
    for part in parts:
        if type(part) not in _LEAVES:
            _without_verbatim(part)
    return value


def _plain_without_verbatim(value: object) -> object:
    return _without_verbatim(_plain(value))


_write: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain_without_verbatim).encode


def _written(value: object, style: _Style) -> str:
    try:
        return _text(value, style)
    except Refused as refused:
        raise refused.error() from None
    except RecursionError:
        raise endless(value) from None


def _text(value: Any, style: _Style) -> str:
    kind: Any = type(value)
    if kind in _LEAVES:
        return _leaf(value)
    if names := _fields(kind, style):
        return _object(((name, attribute, getattr(value, attribute)) for attribute, name in names), style)
    match value:
        case Verbatim():
            return value.text
        case Enum():
            return _text(value.value, style)
        case Decimal() | float() if not (value.is_finite() if isinstance(value, Decimal) else isfinite(value)):
            raise Refused(f" is {value}, which JSON does not have", "Send None, or leave it out.")
        case Decimal():
            return str(value)
        case str() | int() | float():
            return _leaf(value)
        case dict():
            return _object(((_name(name) + style.colon, name, member) for name, member in value.items()), style)
        case list() | tuple():
            return _list(value, style)
        case Set() if style is _OURS:
            return f"[{','.join(sorted(_text(item, style) for item in value))}]"
    try:
        plain = _plain(value)
    except _SlowError:
        raise Refused.of(value) from None
    except (ValueError, OverflowError) as error:  # a time beyond the years of UTC
        raise Refused(f": {error}", "Send it as a text.") from None
    return _text(plain, style)


def _leaf(value: str | float | None) -> str:
    try:
        return _write(value)
    except ValueError as error:  # an integer of too many digits
        raise Refused(f": {error}", "Send it as a text.") from None


def _object(members: Iterable[tuple[str, object, object]], style: _Style) -> str:
    """An object of members, each with the text that begins it, and with its name."""
    parts = []
    for beginning, name, member in members:
        try:
            parts.append(beginning + _text(member, style))
        except Refused as refused:
            refused.steps.append(step(name))
            raise
    return "{" + style.comma.join(parts) + "}"


def _list(items: Sequence[object], style: _Style) -> str:
    parts = []
    for index, item in enumerate(items):
        try:
            parts.append(_text(item, style))
        except Refused as refused:
            refused.steps.append(f"[{index}]")
            raise
    return "[" + style.comma.join(parts) + "]"


@lru_cache(maxsize=1024)
def _fields(kind: type[Any], style: _Style) -> list[tuple[str, str]]:
    """The attributes of a dataclass, and how a member of each begins; none of any other type."""
    if not is_dataclass(kind) or hasattr(kind, "model_dump") or issubclass(kind, Verbatim):
        return []
    return [(field.name, _write(style.field(field.name)) + style.colon) for field in fields(kind)]


def _name(name: object) -> str:
    """The key of a member, as ``json`` writes it, or that of a UUID or a date."""
    if isinstance(name, Enum):
        name = name.value
    if isinstance(name, UUID) or (isinstance(name, date) and not isinstance(name, datetime)):
        name = str(name)
    if isinstance(name, float) and not isfinite(name):
        raise Refused(f" has the key {name}", "Write the key as a text.")
    if not isinstance(name, str | int | float | None):
        raise Refused(f" has a key that is a {type(name).__qualname__}", "Write the key as a text.")
    text = _leaf(name)
    return text if isinstance(name, str) else f'"{text}"'
