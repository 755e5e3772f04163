"""The values that a key may have, of the text by which the log names its record."""

import json
import math
import re
from calendar import monthrange
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, Final, assert_never

from svc_pg.errors import ConflictError
from svc_pg.other_databases.capture.capture_dialect import Kind
from svc_pg.other_databases.capture.mysql.table import MySqlColumn

_NUMBER: Final = re.compile(r"-?[0-9]{1,65}(\.[0-9]{1,38})?(e[+-]?[0-9]{1,3})?", re.ASCII | re.IGNORECASE)
_BITS: Final = re.compile("[01]{1,64}")
_DAY: Final = re.compile(r"([0-9]{4})-(0[0-9]|1[0-2])-([0-2][0-9]|3[01])")
_CLOCK: Final = r":[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
_OF_DAY: Final = re.compile(r"([01][0-9]|2[0-3])" + _CLOCK)
_TIME: Final = re.compile(r"-?[0-9]{2,3}" + _CLOCK)
_INFINITE: Final = {"Infinity": math.inf, "-Infinity": -math.inf}


def parts_of(record: str, number: int) -> list[Any] | None:
    """The parts of a record's name by the columns of its key; None if no key has this name."""
    if number == 1:
        return [record]
    try:
        parts = json.loads(record)
    except (ValueError, RecursionError):
        return None
    return parts if isinstance(parts, list) and len(parts) == number else None


def sqlite_values(record: str, kinds: Mapping[str, Kind]) -> dict[str, list[Any] | None] | None:
    """For each column of the key the values that are recorded so, whatever types the column holds; None for a null."""
    parts = parts_of(record, len(kinds))
    if parts is None:
        return None
    return {
        name: None if part is None else _sqlite_values(part, kind)
        for part, (name, kind) in zip(parts, kinds.items(), strict=True)
    }


def _sqlite_values(part: Any, kind: Kind) -> list[Any]:
    if isinstance(part, bool):
        return [int(part)]
    if isinstance(part, int | float):
        return _near(part)
    if not isinstance(part, str):
        return [json.dumps(part, separators=(",", ":"), ensure_ascii=False)]
    values: list[Any] = [part]
    if part in _INFINITE:
        values.append(_INFINITE[part])
    if kind == "boolean" and part in ("true", "false"):
        values.append(int(part == "true"))
    if part.startswith("\\x"):
        with suppress(ValueError):
            values.append(bytes.fromhex(part[2:]))
    with suppress(ValueError):
        values += _near(int(part))
    if part[:1] in "-0123456789" and any(sign in part for sign in ".eE"):
        with suppress(ValueError):
            values += _near(float(part))
    return values


def _near(number: float) -> list[Any]:
    """A number; SQLite may err in the last digit of a real that it writes."""
    if isinstance(number, int) and -(2**63) <= number < 2**63:
        return [number]
    try:
        real = float(number)
    except OverflowError:
        return []
    return [math.nextafter(real, -math.inf), real, math.nextafter(real, math.inf)]


def texts_of(record: str, names: Sequence[str]) -> dict[str, str | None] | None:
    """The texts of a key's columns as ``value_sql.text`` writes them; None if no key has this name."""
    if len(names) == 1:
        return {names[0]: record}
    try:
        parts = json.loads(record, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    if not isinstance(parts, list) or len(parts) != len(names):
        return None
    return {name: _text_of(part) for name, part in zip(names, parts, strict=True)}


def _text_of(part: object) -> str | None:
    if part is None or isinstance(part, str):
        return part
    return json.dumps(part) if isinstance(part, bool) else str(part)


def mysql_value(text: str, column: MySqlColumn) -> object | None:
    """The value of a key's column on MySQL, for a parameter; None if the column has no such value."""
    try:
        match column.kind:
            case "number":
                return _number(text, is_float=column.is_float)
            case "boolean":
                return _number({"true": "1", "false": "0"}.get(text, text), is_float=False)
            case "bytes":
                return bytes.fromhex(text[2:]) if text.startswith("\\x") else None
            case "bits":
                return int(text, 2) if _BITS.fullmatch(text) else None
            case "datetime" | "timestamp":
                is_valid = _is_moment(text, is_real=column.kind == "timestamp")
                return text.removesuffix("+00:00").replace("T", " ") if is_valid else None
            case "date":
                return text if _is_day(text) else None
            case "time":
                return text if _TIME.fullmatch(text) else None
            case "text" | "any" | "json" | "shape":
                return text
            case _:
                assert_never(column.kind)
    except (ValueError, ArithmeticError):
        return None


def value_of_row(text: str, column: MySqlColumn) -> object:
    """The value of a row's key. Raises ConflictError if it is one that no parameter can have: it would be skipped."""
    value = mysql_value(text, column)
    if value is None:
        raise ConflictError(f"{column.name} is part of the key, and a row has a value that cannot be looked for")
    return value


def _number(text: str, *, is_float: bool) -> object | None:
    """A number that the server reads as one; it has no NaN, no infinity and none of hundreds of digits."""
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text) if is_float or "e" in text.lower() else Decimal(text)
    return number if math.isfinite(number) else None


def _is_moment(text: str, *, is_real: bool) -> bool:
    day, _, time = text.removesuffix("+00:00").partition("T")
    return _is_day(day, is_real=is_real) and _OF_DAY.fullmatch(time) is not None


def _is_day(text: str, *, is_real: bool = False) -> bool:
    """True of a day that the server takes, also of one with zeros: it refuses to compare any other with a column.

    With ALLOW_INVALID_DATES it takes February 31, but not in a timestamp, which ``is_real``.
    """
    found = _DAY.fullmatch(text)
    if found is None or not is_real:
        return found is not None
    year, month, day = map(int, found.groups())
    return month == 0 or day <= monthrange(year or 4, month)[1]
