"""Refuse tables for which PostgreSQL itself would run code of others, with the rights of the caller."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection

from svc_pg.database.query import Query, fetch
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName
from svc_pg.errors import InstallError
from svc_pg.rendering.templates import ident


@dataclass(frozen=True, slots=True)
class Code:
    """A ``function`` of role ``owner`` that something, the ``user``, calls."""

    user: str
    function: str
    owner: str

    def refusal(self, meanwhile: str) -> tuple[str, str]:
        """The message of an error, and its hint; ``meanwhile`` is the work that stops."""
        return (
            f'{self.user} calls {self.function}, which belongs to role "{self.owner}" and would run with your rights',
            f"Drop the one for the time of the {meanwhile}; or become the owner of the other, if you trust its code.",
        )


_CALLED: Final = statement("queries/capture/called_code.sql")
_PLANNED: Final = statement("queries/capture/planned_code.sql").replace("{called}", _CALLED)
_PARTITION_KEYS: Final = statement("queries/capture/partition_key_code.sql").replace("{called}", _CALLED)


def planned_code(table: TableName) -> Query[Code]:
    """The code of others that planning a query of this table, which the caller has locked, may run."""
    return Query(_PLANNED, tuple(table), Code)


def check_planned(conn: Connection[Any], table: TableName) -> None:
    """Raise InstallError if planning a query of this table, which the caller has locked, may run code of others."""
    for code in fetch(conn, planned_code(table)):
        message, hint = code.refusal("backfill")
        raise InstallError(message, hint=hint)


def check_partition_keys(conn: Connection[Any], tables: Iterable[TableName]) -> None:
    """Raise InstallError if a trigger on one of these tables would run code of another owner."""
    names = sorted(set(tables))
    if not names:
        return
    schemas_and_names = ([name.schema for name in names], [name.table for name in names])
    for code in fetch(conn, Query(_PARTITION_KEYS, schemas_and_names, Code)):
        raise InstallError(
            f'the partition key of {code.user} calls {code.function}, which belongs to role "{code.owner}" and would'
            " run with your rights",
            hint=f"Act as {ident(code.owner)}; or become the owner of the function, if you trust its code.",
        )
