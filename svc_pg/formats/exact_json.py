"""Write what applications hold as JSON: times, UUIDs, enums, dataclasses and models of pydantic; Decimals exactly."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from math import isfinite
from typing import Any, Final
from uuid import UUID

_KNOWN: Final = "texts, numbers, booleans, None, times, UUIDs, enums, dataclasses, models of pydantic, lists and dicts"
_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
_MOST_SHOWN: Final = 100
_LEAVES: Final = frozenset({str, int, float, bool, type(None)})


class NotJsonError(ValueError):
    """A value that has no JSON; ``hint`` tells what to write instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message}; {hint[0].lower()}{hint[1:].rstrip('.')}")
        self.message = message
        self.hint = hint


class Verbatim(ABC):
    """A value that has a JSON text already."""

    __slots__ = ()

    @property
    @abstractmethod
    def text(self) -> str:
        """The text, which is written as it is."""


def write(value: object) -> str:
    """The value as a JSON text, whose members and items are in their order.

    A Decimal is a number with all its digits. Times are RFC 3339, in UTC, durations ISO 8601, and a model of pydantic
    is what it writes itself, by alias. Raises NotJsonError, which names the path to the value.
    """
    try:
        return _write(_without_verbatim(value))
    except (_SlowError, TypeError, ValueError, OverflowError, RecursionError):
        return _text(value, _Path())  # writes what the fast way cannot, or tells the path


def write_ascii(value: object) -> str:
    """As ``write``, for whatever encoding a connection has: characters beyond ASCII are escaped."""
    return _BEYOND_ASCII.sub(lambda found: json.dumps(found.group())[1:-1], write(value))


class _SlowError(Exception):
    """A value that the encoder of ``json`` cannot write, whatever it is replaced by."""


class _Path:
    """The way to a value, and the containers on it."""

    def __init__(self, text: str = "$", containers: tuple[int, ...] = ()) -> None:
        self.text = text
        self.containers = containers

    def to(self, step: str, container: object) -> "_Path":
        """The way to a part of the container, which must not be on it already."""
        if id(container) in self.containers:
            raise NotJsonError(f"{self} contains itself", "Send a value that ends.")
        return _Path(self.text + step, (*self.containers, id(container)))

    def __str__(self) -> str:
        return self.text if len(self.text) <= _MOST_SHOWN else f"{self.text[:_MOST_SHOWN]}..."


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


def _plain(value: object) -> object:
    """The value that stands for another in JSON. Raises _SlowError if it has a text of its own, or none."""
    match value:
        case Decimal() | Verbatim():
            raise _SlowError
        case Enum():
            return value.value
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case date() | time() if not isinstance(value, datetime):
            return value.isoformat()
        case timedelta():
            return _iso_8601(value)
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


def _plain_without_verbatim(value: object) -> object:
    return _without_verbatim(_plain(value))


_write: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain_without_verbatim).encode


def _text(value: Any, path: _Path) -> str:
    try:
        return _parts(value, path)
    except RecursionError:
        raise NotJsonError(f"{path} is nested too deeply", "Send a flatter value.") from None


def _parts(value: Any, path: _Path) -> str:
    match value:
        case Verbatim():
            return value.text
        case Enum():
            return _text(value.value, path)
        case Decimal() | float() if not (value.is_finite() if isinstance(value, Decimal) else isfinite(value)):
            raise NotJsonError(f"{path} is {value}, which JSON does not have", "Send None, or leave it out.")
        case Decimal():
            return str(value)
        case dict():
            members = (
                f"{_name(name, path)}: {_text(part, path.to(_step(name), value))}" for name, part in value.items()
            )
            return "{" + ", ".join(members) + "}"
        case list() | tuple():
            items = (_text(part, path.to(f"[{index}]", value)) for index, part in enumerate(value))
            return "[" + ", ".join(items) + "]"
    try:
        return (
            _write(value) if isinstance(value, str | int | float | None) else _text(_plain(value), path.to("", value))
        )
    except _SlowError:
        raise _unknown(value, path) from None
    except NotJsonError:
        raise
    except (ValueError, OverflowError) as error:  # an integer of too many digits, a time beyond the years of UTC
        raise NotJsonError(f"{path}: {error}", "Send it as a text.") from None


def _unknown(value: object, path: _Path) -> NotJsonError:
    match value:
        case datetime():
            return NotJsonError(
                f"{path} is {value}, which has no time zone", "Write datetime.now(UTC), or value.replace(tzinfo=...)."
            )
        case bytes() | bytearray() | memoryview():
            return NotJsonError(f"{path} is bytes", "Write base64.b64encode(value).decode(), or value.decode().")
        case Set():
            return NotJsonError(f"{path} is a {type(value).__name__}, which has no order", "Write sorted(value).")
    return NotJsonError(f"{path} is a {type(value).__qualname__}", f"Send {_KNOWN}.")


def _name(name: object, path: _Path) -> str:
    """The key of a member, as ``json`` writes it, or that of a UUID or a date."""
    if isinstance(name, Enum):
        name = name.value
    if isinstance(name, UUID) or (isinstance(name, date) and not isinstance(name, datetime)):
        name = str(name)
    if isinstance(name, float) and not isfinite(name):
        raise NotJsonError(f"{path} has the key {name}", "Write the key as a text.")
    if not isinstance(name, str | int | float | None):
        raise NotJsonError(f"{path} has a key that is a {type(name).__qualname__}", "Write the key as a text.")
    text = _write(name)
    return text if isinstance(name, str) else f'"{text}"'


def _step(name: object) -> str:
    text = str(name)
    return f".{text}" if text.isidentifier() else f"[{text!r}]"


def _iso_8601(duration: timedelta) -> str:
    """For example ``P1DT2H0.5S``."""
    sign, size = ("-", -duration) if duration < timedelta() else ("", duration)
    hours, rest = divmod(size.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    fraction = f".{size.microseconds:06}".rstrip("0") if size.microseconds else ""
    days = f"{size.days}D" if size.days else ""
    parts = [f"{hours}H" if hours else "", f"{minutes}M" if minutes else "", f"{seconds}{fraction}S"]
    clock = "".join(parts[:2]) + (parts[2] if seconds or fraction or not (days or hours or minutes) else "")
    return f"{sign}P{days}" + (f"T{clock}" if clock else "")
