"""The values that a key may have, of the text by which the log names its record."""

import json
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, Final, assert_never

from svc_pg.other_databases.capture.capture_dialect import Kind
from svc_pg.other_databases.capture.mysql.table import MySqlColumn

_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+([+]00:00)?")
_OF_TIMES: Final = frozenset("0123456789-:.")
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


def sqlite_values(record: str, kinds: Sequence[Kind]) -> list[list[Any]] | None:
    """For each column of the key the values that are recorded so, whatever types the column holds."""
    parts = parts_of(record, len(kinds))
    if parts is None:
        return None
    return [_sqlite_values(part, kind) for part, kind in zip(parts, kinds, strict=True)]


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


def texts_of(record: str, number: int) -> list[str] | None:
    """The texts of a key's columns as ``value_sql.text`` writes them; None if no key has this name."""
    if number == 1:
        return [record]
    try:
        parts = json.loads(record, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    if not isinstance(parts, list) or len(parts) != number:
        return None
    return [json.dumps(part) if isinstance(part, bool) else str(part) for part in parts]


def mysql_value(text: str, column: MySqlColumn) -> object | None:
    """The value of a key's column on MySQL, for a parameter; None if the column has no such value."""
    try:
        match column.kind:
            case "number":
                return float(text) if column.is_float or "e" in text.lower() else Decimal(text)
            case "boolean":
                return int({"true": "1", "false": "0"}.get(text, text))
            case "bytes":
                return bytes.fromhex(text[2:]) if text.startswith("\\x") else None
            case "bits":
                return int(text, 2)
            case "datetime" | "timestamp":
                return text.removesuffix("+00:00").replace("T", " ") if _TIME.fullmatch(text) else None
            case "date" | "time":
                return text if set(text) <= _OF_TIMES else None
            case "text" | "any" | "json" | "shape":
                return text
            case _:
                assert_never(column.kind)
    except (ValueError, ArithmeticError):
        return None
