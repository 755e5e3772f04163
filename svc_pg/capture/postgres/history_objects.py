"""Render the view of a table's history, and the function of its rows as they were at a time, in columns of its own."""

from collections.abc import Iterable, Mapping
from typing import Final

from psycopg.sql import SQL, Composable, Identifier

from svc_pg.capture.rules import TableRules
from svc_pg.rendering.schema_objects import SchemaObject, names_of
from svc_pg.rendering.templates import render

OWN_COLUMNS: Final = (
    "record_id",
    "valid_from",
    "valid_to",
    "operation",
    "actor_id",
    "tenant_id",
    "db_user",
    "entry_id",
    "xact_id",
    "redacted_fields",
    "unknown_fields",
    "other_data",
)
"""The columns before those of the table; a name that the table has gets the prefix ``svc_``."""

_MOST_COLUMNS: Final = 1600 - len(OWN_COLUMNS)  # a view has no more


def history_objects(rules: TableRules) -> list[SchemaObject]:
    """The functions and the view; none without a key, because nothing would identify a record."""
    table = rules.table
    if not rules.key or not table.types or len(table.columns) > _MOST_COLUMNS:
        return []
    name = str(table.name)
    own = own_columns(table.columns)
    names = names_of(table.name)
    types = {column: table.types[column] for column in table.columns}
    state = {own["unknown_fields"]: "text[]", own["other_data"]: "jsonb", **types}
    left_out = "" if rules.leaves_out is None else f" Not all changes are in the log: {rules.leaves_out}."
    shared = {
        "table_name": name,
        "own": own,
        "columns": table.columns,
        "typed": names.typed,
        "state": _definitions(state),
    }

    def rendered(kind: str, template: str, made: str, **values: object) -> SchemaObject:
        return SchemaObject(
            "view" if kind == "view" else "function",
            f"svc.{made}",
            render(template, **{kind: made}, **shared, **values),
            audited_table=name,
        )

    return [
        rendered(
            "function",
            "capture/typed_function.sql.j2",
            names.typed,
            definitions=_definitions(types),
            definitions_by_column=[(column, _definitions({column: kind})) for column, kind in types.items()],
        ),
        rendered(
            "view",
            "capture/history_view.sql.j2",
            names.history,
            meaning=f"The states of the records of {name} in the log, each with the time from which and to which it was"
            f" there, in the columns of today.{left_out}",
        ),
        rendered(
            "function",
            "capture/as_of_function.sql.j2",
            names.as_of,
            meaning=f"The rows of {name} as they were at a time, or the one with this record_id.{left_out}",
        ),
    ]


def own_columns(columns: Iterable[str]) -> Mapping[str, str]:
    """The names of our columns beside these of a table."""
    taken = set(columns)
    names: dict[str, str] = {}
    for column in OWN_COLUMNS:
        name = column
        while name in taken:
            name = f"svc_{name}"
        taken.add(name)
        names[column] = name
    return names


def _definitions(types: Mapping[str, str]) -> Composable:
    """Columns with their types, which are names of PostgreSQL's own types."""
    return SQL(", ").join(SQL("{} {}").format(Identifier(column), SQL(kind)) for column, kind in types.items())
