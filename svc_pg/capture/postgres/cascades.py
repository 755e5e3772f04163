"""Refuse capture by statement of a table whose rows one statement can change twice, through foreign keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection

from svc_pg.database.query import Query, fetch
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConfigError

_TWICE: Final = statement("queries/capture/rows_changed_twice.sql")


@dataclass(frozen=True, slots=True)
class _Twice:
    schema: str
    table: str
    keys: list[str]


def check_cascades(conn: Connection[Any], tables: Sequence[TableName]) -> None:
    """Raise ConfigError if one statement can change a row of one of these tables, audited by statement, twice."""
    if not tables:
        return
    names = ([name.schema for name in tables], [name.table for name in tables])
    for found in fetch(conn, Query(_TWICE, names, _Twice)):
        raise ConfigError(
            f'one statement can change a row of table "{TableName(found.schema, found.table)}" twice, through'
            f" {', '.join(found.keys)}, so it cannot be audited by statement",
            hint='Use level = "row".',
        )
