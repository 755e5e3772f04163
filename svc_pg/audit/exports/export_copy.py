"""The query of a stretch of an export on PostgreSQL, and the conversion of its rows to records of a file.

An object is composed of separate JSON values, because ``row_to_json`` looks up the type of each value of each row.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, LiteralString

from psycopg.abc import Buffer

from svc_pg.audit.log.export_fields import ARRAYS, FIELDS, FREE_TEXTS, Format
from svc_pg.audit.read.stretch import Stretch
from svc_pg.database.pagination import Filter

_JSON: Final = frozenset({"beforeData", "afterData", "context"})
_PLAIN: Final = frozenset({"id", "timestamp", "operation", "xactId"})
"""The fields that are never null and need no escapes."""
# JSON contains none of these control characters, so its values come as they are; but a null that was stored in quotes
_VALUE_END: Final = b"\x01"
_QUOTE: Final = b"\x02"
_VALUES: Final = r" to stdout (format csv, encoding 'UTF8', delimiter e'\x01', quote e'\x02', null 'null')"
_RECORDS: Final = " to stdout (format csv, encoding 'UTF8')"
_Statement = tuple[LiteralString, LiteralString]
"""The text before the stretch, and the text after its order."""


def _object(names: Iterable[str]) -> bytes:
    """The format of an object with these members."""
    return ("{" + ",".join(f'"{name}":"%b"' if name in _PLAIN else f'"{name}":%b' for name in names) + "}").encode()


_OBJECT: Final = _object(FIELDS)


def csv_cell(name: LiteralString, value: LiteralString) -> LiteralString:
    """Arrays as JSON; an apostrophe before text that a spreadsheet would run as a formula (OWASP, CSV injection)."""
    if name in FREE_TEXTS:
        is_formula: LiteralString = "left(" + value + r", 1) in ('=', '+', '-', '@', e'\t', e'\r', e'\n')"
        return "case when " + is_formula + " then '''' || " + value + " else " + value + " end"
    return _cell(name, value)


def _cell(name: LiteralString, value: LiteralString) -> LiteralString:
    return "pg_catalog.to_json(" + value + ")" if name in ARRAYS else value


def _json_value(name: LiteralString, value: LiteralString) -> LiteralString:
    return value if name in _PLAIN or name in _JSON else "pg_catalog.to_json(" + value + ")"


def _copy(
    cell: Callable[[LiteralString, LiteralString], LiteralString],
    options: LiteralString,
    fields: Mapping[LiteralString, LiteralString] = FIELDS,
) -> _Statement:
    select: LiteralString = ", ".join([cell(name, value) for name, value in fields.items()])
    return "copy (select " + select + " from ", ")" + options  # noqa: S608 - constants


_OBJECTS: Final = _copy(_json_value, _VALUES)
_STATEMENTS: Final[dict[Format, _Statement]] = {
    "json": _OBJECTS,
    "ndjson": _OBJECTS,
    "csv": _copy(csv_cell, _RECORDS),
    "parquet": _copy(_cell, _RECORDS),
}


def copy(form: Format, found: Stretch, wanted: Filter) -> tuple[LiteralString, tuple[object, ...]]:
    """The statement that answers with the wanted entries of a stretch, and its parameters."""
    before, after = _STATEMENTS[form]
    text: LiteralString = found.text + " audit_logs where " + wanted.is_true + found.order
    return before + text + after, (*found.params, *wanted.params)


def copy_of_objects(fields: Mapping[LiteralString, LiteralString]) -> tuple[_Statement, Callable[[Buffer], bytes]]:
    """The statement around a table that answers with these fields, and the conversion of a row to their object."""
    form = _object(fields)
    return _copy(_json_value, _VALUES, fields), lambda row: json_record(row, form)


def json_record(row: Buffer, form: bytes = _OBJECT) -> bytes:
    """A row of the answer as an object."""
    values = bytes(row)[:-1]
    if _QUOTE in values:
        values = values.replace(_QUOTE, b"")
    return form % (*values.split(_VALUE_END),)


def csv_record(row: Buffer) -> bytes:
    """A row of the answer as a record of CSV, without its end."""
    return bytes(row)[:-1]


RECORDS: Final[dict[Format, Callable[[Buffer], bytes]]] = {
    "json": json_record,
    "ndjson": json_record,
    "csv": csv_record,
    "parquet": csv_record,
}
