"""A table as capture sees it: its columns, its keys and its partitions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from svc_pg.database.table_names import TableName
from svc_pg.errors import ConfigError, UnknownTableError


@dataclass(frozen=True, slots=True)
class Table:
    """The facts of one table.

    ``json_columns``: those of type json and jsonb. ``key``: the primary key's columns in order; empty if there is none.
    ``virtual``: columns that are computed when read; triggers see NULL in their place. ``unique``: the columns of every
    unique index that lets no NULL in. ``partitions``: all below the table except foreign tables. ``parent``: the table
    of which this one is a partition. ``holds_json``: a column of type json is anywhere in its rows.
    ``has_simple_types``: of a session's settings, only the time zone and the digits of floats change a snapshot.
    ``generated``: the columns from which each stored generated column is computed. ``domains``: the columns whose type
    is a domain. ``printed``: the columns whose type is not the database's own; its values are recorded as the database
    prints them. ``printed_lists``: the columns of arrays of those types. ``inherits``: it is a parent or a child by
    INHERITS, so that a statement on one of them changes rows of the other. ``keys_may_repeat``: within a transaction,
    because a primary key or a unique constraint is deferrable.
    """

    name: TableName
    columns: list[str]
    json_columns: list[str]
    key: list[str]
    virtual: list[str]
    unique: list[list[str]]
    is_partitioned: bool
    partitions: list[TableName]
    parent: TableName | None
    holds_json: bool = False
    has_simple_types: bool = False
    generated: Mapping[str, list[str]] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    domains: Sequence[str] = ()
    printed: Sequence[str] = ()
    printed_lists: Sequence[str] = ()
    inherits: bool = False
    keys_may_repeat: bool = False


_CREATE_IT: Final = "Create it first, or correct its name."


def refuse_unknown(problems: Sequence[UnknownTableError]) -> None:
    """Raise the problem, or one error that names all problems; do nothing if there is none."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        lines = [
            each.message if each.hint in (None, _CREATE_IT) else f"{each.message}; {each.hint}" for each in problems
        ]
        raise UnknownTableError("\n".join(lines), hint="Create them first, or correct their names.")


def did_you_mean(names: Sequence[str]) -> str:
    """The hint for a missing table, with the names nearest to its own."""
    return f"Did you mean {' or '.join(names)}?" if names else _CREATE_IT


def check_column(table: Table, option: str, column: str) -> None:
    """Raise ConfigError, with the nearest name, if ``option`` names a column that triggers cannot see."""
    if column in table.columns:
        return
    if column in table.virtual:
        raise ConfigError(
            f'table "{table.name}": {option} names "{column}", a virtual generated column, which triggers cannot see'
        )
    near = get_close_matches(column, table.columns, n=1)
    raise ConfigError(
        f'table "{table.name}": {option} names "{column}", and there is no such column',
        hint=f'Did you mean "{near[0]}"?' if near else f"Columns: {', '.join(table.columns)}.",
    )
