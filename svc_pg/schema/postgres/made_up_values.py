"""Make up the values of columns: SQL of a number ``i``, by type, as wide as wanted."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from psycopg.sql import SQL, Composable, Literal

_MODIFIER: Final = re.compile(r"\((-?\d+)(?:,(-?\d+))?\)")
_TEXT: Final = 20
_WIDTHS: Final[Mapping[str, int]] = {"json": 100, "jsonb": 100, "bytea": 50, "xml": 100, "tsvector": 100}
_MEMBER: Final = 32
_DIGITS: Final = 3
"""The digits of the largest number ``i``."""
_WIDEST: Final = 100_000
_LONGEST: Final = 20

# Hexadecimal digits hardly compress, so an entry has the size of its values
_HEX: Final = SQL(
    "(select left(string_agg(md5(i::text || '-' || k::text), ''), {0}) from generate_series(0, {0} / 32) k)"
)
_JSON: Final = SQL(
    "(select jsonb_object_agg('member_' || k::text, left(md5(i::text || '-' || k::text), 16))"
    " from generate_series(1, {}) k)"
)
_PLAIN: Final[Mapping[str, SQL]] = {
    "boolean": SQL("i % 2 = 0"),
    "smallint": SQL("i"),
    "integer": SQL("i"),
    "bigint": SQL("i"),
    "oid": SQL("i"),
    "real": SQL("i * 1.37"),
    "double precision": SQL("i * 1.37"),
    "money": SQL("i"),
    "uuid": SQL("md5(i::text)"),
    "date": SQL("date '2026-01-01' + i"),
    "timestamp without time zone": SQL("timestamp '2026-01-01' + i * interval '61.123457 s'"),
    "timestamp with time zone": SQL("timestamptz '2026-01-01Z' + i * interval '61.123457 s'"),
    "time without time zone": SQL("time '00:00' + i * interval '61.123457 s'"),
    "time with time zone": SQL("timetz '00:00Z' + i * interval '61.123457 s'"),
    "interval": SQL("i * interval '61 s'"),
    "inet": SQL("inet '10.0.0.0' + i"),
    "cidr": SQL("set_masklen(inet '10.0.0.0' + i, 32)"),
    "macaddr": SQL("'08002b' || lpad(to_hex(i), 6, '0')"),
    "point": SQL("point(i, i)"),
    "int4range": SQL("int4range(i, i + 9)"),
    "int8range": SQL("int8range(i, i + 9)"),
    "numrange": SQL("numrange(i, i + 9)"),
    "daterange": SQL("daterange(date '2026-01-01', date '2026-01-02' + i)"),
    "tstzrange": SQL("tstzrange(timestamptz '2026-01-01Z', timestamptz '2026-01-02Z' + i * interval '1 min')"),
}
_SIZED: Final[Mapping[str, Callable[[int], Composable]]] = {
    "text": _HEX.format,
    "character varying": _HEX.format,
    "character": _HEX.format,
    "name": lambda width: _HEX.format(min(width, 63)),
    "bytea": lambda width: SQL("decode({}, 'hex')").format(_HEX.format(width // 2 * 4)),
    "json": lambda width: _JSON.format(max(1, width // _MEMBER)),
    "jsonb": lambda width: _JSON.format(max(1, width // _MEMBER)),
    "tsvector": lambda width: SQL("to_tsvector('simple', {})").format(_HEX.format(width)),
}
GROWING: Final = frozenset({"text", "character varying", "json", "jsonb", "bytea"})
"""The types whose values may be stored outside of their row."""


def name_of_type(printed: str) -> str:
    """The name of a type as ``format_type`` prints it, without its modifier."""
    return _MODIFIER.sub("", printed)


def made_up(printed: str, *, width: float | None = None, labels: Sequence[str] = ()) -> Composable | None:
    """A value of a type, as ``format_type`` prints it, of about ``width`` bytes; None if the type is not known."""
    value = _array(printed, width) if printed.endswith("[]") else _scalar(printed, width, labels)
    return None if value is None else SQL("({})::{}").format(value, SQL(printed))


def _scalar(printed: str, width: float | None, labels: Sequence[str]) -> Composable | None:
    name = name_of_type(printed)
    if labels:  # as an array's text, which calls no cast: the owner of the type may have made one
        among = SQL("({}::{}[])[1 + i % {}]")
        return among.format(Literal(list(labels)), SQL(printed), Literal(len(labels)))
    if name == "numeric":
        return _numeric(printed)
    if name in _SIZED:
        limit = int(match[1]) if (match := _MODIFIER.search(printed)) else _WIDEST
        wanted = round(width) if width else _WIDTHS.get(name, _TEXT)
        return _SIZED[name](max(1, min(wanted, limit, _WIDEST)))
    return _PLAIN.get(name)


def _numeric(printed: str) -> SQL:
    """A number that fits into the precision and the scale."""
    match = _MODIFIER.search(printed)
    before_point = _DIGITS if match is None else int(match[1]) - int(match[2] or 0)
    if match is None or before_point > _DIGITS:
        return SQL("i * 1.37")
    return SQL("i % 10") if before_point > 0 else SQL("0")


def _array(printed: str, width: float | None) -> Composable | None:
    element = printed.removesuffix("[]")
    value = _scalar(element, None, ())
    if value is None:
        return None
    length = max(1, min(round((width or 3 * _TEXT) / _TEXT), _LONGEST))
    typed = SQL("({})::{}").format(value, SQL(element))
    return SQL("array[{}]").format(SQL(", ").join([typed] * length))
