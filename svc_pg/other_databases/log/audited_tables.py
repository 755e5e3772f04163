"""The audited tables of a database of SQLite, MySQL or MariaDB, as its installation has recorded them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from svc_pg.database.effects import Effects, Statement
from svc_pg.database.table_names import DEFAULT_SCHEMA, TableName
from svc_pg.other_databases.log.driver_errors import is_denied
from svc_pg.other_databases.log.entries import default_schema_of, log_dialect_of
from svc_pg.other_databases.log.log_dialects import SQLITE

_IN_SQLITE: Final = "select distinct audited_table from svc_installed_objects where audited_table is not null"
_IN_MYSQL: Final = "select distinct audited_table from svc.installed_objects where audited_table is not null"


@dataclass(frozen=True, slots=True)
class AuditedTables:
    """The name that a table has in entries, and the audited tables; None if the user may not read them."""

    name: str
    audited: Sequence[str] | None


def audited_tables(conn: object, table: TableName) -> Effects[AuditedTables]:
    """The audited tables of a connection's database, with the name among them that ``table`` would have."""
    dialect = log_dialect_of(conn)
    schema = (yield from default_schema_of(dialect)) if table.schema == DEFAULT_SCHEMA else table.schema
    name = str(table.within(schema))
    try:
        found = yield Statement(_IN_SQLITE if dialect is SQLITE else _IN_MYSQL)
    except Exception as error:
        if is_denied(error):
            return AuditedTables(name, None)
        raise
    return AuditedTables(name, [audited for (audited,) in found])
