"""SQL about a row from its recorded values: its key, its expected values and its new values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg.sql import SQL, Composable, Identifier, Literal

from svc_pg.audit.past.net_changes import TableFacts
from svc_pg.database.table_names import TableName
from svc_pg.formats.json_writer import encode

SEPARATOR: Final = SQL(", ")


@dataclass(frozen=True, slots=True)
class RevertedRow:
    """A row with its recorded values ``before`` the change and ``after`` it; None if it was not there.

    ``fields`` are the columns to set if it was there both times. ``leave`` are columns to leave as they are.
    """

    table: TableFacts
    label: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    fields: Sequence[str]
    leave: Sequence[str]

    def key_of(self, image: Mapping[str, Any]) -> tuple[Any, ...]:
        """The key in an image."""
        return tuple(image.get(name) for name in self.table.key)


def is_marker(value: Any) -> bool:
    """True if this is the marker of an unrecorded value in a snapshot; see sql/audit/audit_without_capped.sql."""
    markers = {"oversized", "unsupported"}
    return isinstance(value, dict) and {"bytes", "sha256"} <= value.keys() and not markers.isdisjoint(value)


def table_sql(name: TableName) -> Composable:
    """The name of a table."""
    return Identifier(name.schema, name.table)


def same_key(row: RevertedRow, image: Mapping[str, Any]) -> Composable:
    """The rows with the key in an image, as the end of a query: there is one, or none."""
    return SQL("from {} t where {}").format(table_sql(row.table.name), key_sql(row, image))


def key_sql(row: RevertedRow, image: Mapping[str, Any]) -> Composable:
    """The condition that a row has the key in an image."""
    return SQL(" and ").join(
        SQL("{} = {}").format(Identifier("t", name), value_sql(row.table, name, image.get(name)))
        for name in row.table.key
    )


def keys_sql(rows: Sequence[RevertedRow], alias: str = "t") -> Composable:
    """The condition that a row is one of these, which are of one table, as the change left them."""
    table = rows[0].table
    keys = [
        SQL("({})").format(SEPARATOR.join(value_sql(table, name, (row.after or {}).get(name)) for name in table.key))
        for row in rows
    ]
    names = SEPARATOR.join(Identifier(alias, name) for name in table.key)
    return SQL("({}) in ({})").format(names, SEPARATOR.join(keys))


def matches(row: RevertedRow, image: Mapping[str, Any], names: Iterable[str]) -> Composable:
    """The condition that these columns have the values of an image, as snapshots tell values."""
    compared = [name for name in names if name in image and not is_marker(image[name])]
    compared = [name for name in compared if name in row.table.columns and name not in row.leave]
    ignored = sorted({*row.table.columns, *row.table.virtual} - {*compared})
    values = encode({name: image[name] for name in compared}).decode()
    return SQL("svc.audit_image(t, t.tableoid) - {}::text[] = {}::jsonb").format(
        SQL("array[{}]").format(SEPARATOR.join(map(Literal, ignored))), Literal(values)
    )


def assignments(row: RevertedRow, names: Iterable[str]) -> Composable | None:
    """The values of these columns before the change; None if there is nothing to set."""
    before = row.before or {}
    settable = [name for name in names if name not in row.table.generated]
    if not settable:
        return None
    return SEPARATOR.join(
        SQL("{} = {}").format(Identifier(name), value_sql(row.table, name, before.get(name))) for name in settable
    )


def value_sql(table: TableFacts, name: str, value: Any) -> Composable:
    """A recorded value as a literal that takes the type of the column; of a structure, through the table's row type."""
    if value is None:
        return SQL("null")
    if name in table.json_columns:
        return Literal(encode(value).decode())
    if isinstance(value, dict | list):
        row = Literal(encode({name: value}).decode())
        row_type = Identifier(table.schema, table.table)
        return SQL("(pg_catalog.jsonb_populate_record(null::{}, {})).{}").format(row_type, row, Identifier(name))
    return Literal(value if type(value) is str else encode(value).decode())
