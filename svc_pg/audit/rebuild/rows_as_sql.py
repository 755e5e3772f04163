"""Write rows as SQL for an empty table. Names and values of the file are quoted, so none of them can be SQL.

The values stay JSON: PostgreSQL makes them values of the columns' types, which the file does not name.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import BinaryIO, Final, Literal, get_args

from svc_pg.audit.rebuild.result_rows import ResultRow
from svc_pg.database.table_names import TableName, quoted
from svc_pg.errors import SvcError

RowFormat = Literal["inserts", "copy"]
ROW_FORMATS: Final[Sequence[RowFormat]] = get_args(RowFormat)

_MOST_ROWS: Final = 500
"""The rows of an INSERT."""
_MOST_BYTES: Final = 1024 * 1024
"""The bytes after which an INSERT ends."""
MOST_SHAPES: Final = 1000
"""The different sets of columns that rows may have if they are written as COPY."""
_MOST_NAME_BYTES: Final = 63

# As a capture writes values, whatever the settings of the session are
_BEGIN: Final = """
begin;
set local client_encoding = 'UTF8';
set local "DateStyle" = 'ISO, YMD';
set local "IntervalStyle" = 'iso_8601';
set local "TimeZone" = 'UTC';
set local lc_monetary = 'C';
"""
_TEMPORARY: Final = """
create temporary table svc_rebuilt_rows (shape integer, image pg_catalog.jsonb) on commit drop;
copy pg_temp.svc_rebuilt_rows (shape, image) from stdin with (format text, encoding 'UTF8');
"""


def write_begin(out: BinaryIO, lines: Iterable[str]) -> None:
    """The comments at the head, and the beginning of the transaction."""
    write_comments(out, lines)
    out.write(_BEGIN.encode())


def write_end(out: BinaryIO, lines: Iterable[str]) -> None:
    """The end of the transaction, and the comments at the end."""
    out.write(b"\ncommit;\n\n")
    write_comments(out, lines)


def write_comments(out: BinaryIO, lines: Iterable[str]) -> None:
    """Comments of a line each, in which nothing of the file can end a line."""
    for line in lines:
        shown = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in line)
        out.write(b"-- " + shown.encode("utf-8", "backslashreplace") + b"\n")


def checked_target(table: TableName) -> TableName:
    """The table to load into. Raises SvcError if PostgreSQL cannot have one of this name."""
    for part in table:
        if len(part.encode("utf-8", "surrogatepass")) > _MOST_NAME_BYTES:
            raise SvcError(
                f"{part[:80]!r} is longer than a name of PostgreSQL can be",
                hint="Name the table to load: --into TABLE.",
            )
    return table


def write_rows(out: BinaryIO, rows: Iterable[ResultRow], table: TableName, form: RowFormat) -> None:
    """Write all rows. Raises SvcError if COPY would need too many sets of columns."""
    target = f"{quoted(table.schema)}.{quoted(table.table)}"
    if form == "copy":
        _write_copy(out, rows, target)
        return
    for columns, some in groupby(rows, key=lambda row: row.columns):
        for group in _groups(some):
            out.write(_insert(target, columns, group).encode())


def _groups(rows: Iterator[ResultRow]) -> Iterator[list[ResultRow]]:
    group: list[ResultRow] = []
    size = 0
    for row in rows:
        group.append(row)
        size += len(row.text)
        if len(group) >= _MOST_ROWS or size >= _MOST_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _insert(target: str, columns: Sequence[str], rows: Sequence[ResultRow]) -> str:
    if not columns:
        return "".join(f"\ninsert into {target} default values;\n" for _ in rows)
    names = ", ".join(quoted(name) for name in columns)
    images = _literal("[" + ",\n".join(row.text for row in rows) + "]")
    return (
        f"\ninsert into {target} ({names}) overriding system value\n"
        f"select {names} from pg_catalog.jsonb_populate_recordset(null::{target}, {images});\n"
    )


def _literal(text: str) -> str:
    """A constant that means the same with standard_conforming_strings on and off."""
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f"E'{escaped}'"


def _write_copy(out: BinaryIO, rows: Iterable[ResultRow], target: str) -> None:
    shapes: dict[tuple[str, ...], int] = {}
    out.write(_TEMPORARY.encode())
    for row in rows:
        shape = shapes.setdefault(row.columns, len(shapes) + 1)
        if shape > MOST_SHAPES:
            raise SvcError(
                f"rows have more than {MOST_SHAPES} different sets of columns", hint="Write them as --format inserts."
            )
        out.write(f"{shape}\t{_copied(row.text)}\n".encode())
    out.write(b"\\.\n")
    for columns, shape in shapes.items():
        out.write(_insert_of_shape(target, columns, shape).encode())


def _copied(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\r", "\\r").replace("\n", "\\n")


def _insert_of_shape(target: str, columns: Sequence[str], shape: int) -> str:
    source = f"from pg_temp.svc_rebuilt_rows t where t.shape = {shape}"
    if not columns:
        return f"\ninsert into {target} select {source};\n"
    names = ", ".join(quoted(name) for name in columns)
    values = ", ".join(f"r.{quoted(name)}" for name in columns)
    return (
        f"\ninsert into {target} ({names}) overriding system value\nselect {values}\n"
        f"  from pg_temp.svc_rebuilt_rows t\n"
        f" cross join lateral pg_catalog.jsonb_populate_record(null::{target}, t.image) r\n"
        f" where t.shape = {shape};\n"
    )
