"""The entries of one database on MySQL and MariaDB, where one log serves all databases of a server."""

from dataclasses import dataclass
from typing import Final, LiteralString

from svc_pg.database.effects import Effects, Statement
from svc_pg.database.pagination import ALL, Filter
from svc_pg.database.table_names import TableName
from svc_pg.other_databases.log.log_dialects import MYSQL, LogDialect

LOG_SCHEMA: Final = "svc"
"""The database of the log itself, whose connections see all entries."""
_HOMES: Final = "select distinct home, audited_table from svc.installed_objects where home <> ''"


@dataclass(frozen=True, slots=True)
class Home:
    """A database, the tables that it audits in others, and its own tables that others audit.

    ``is_only``: no other database of the server is audited.
    """

    name: str
    is_only: bool
    adopted: frozenset[str]
    given_away: frozenset[str]

    def has(self, table: str) -> bool:
        """True if entries with this ``table_name`` are the database's own."""
        if table in self.given_away:
            return False
        return table in self.adopted or table.startswith(self._prefix) or (self.is_only and _is_of_nobody(table))

    def filter(self) -> Filter:
        """The condition that an entry is of this database, or of none: one about the log, or of ``capture_log``."""
        end = self._prefix[:-1] + chr(ord(".") + 1)  # a range, which an index finds
        text: LiteralString = "(table_name >= %s and table_name < %s or instr(table_name, '.') = 0"
        text += " or table_name = 'svc.audit_logs'" + " or table_name = %s" * len(self.adopted) + ")"
        found = ALL.where(text, self._prefix, end, *sorted(self.adopted))
        for table in sorted(self.given_away):
            found = found.where("table_name <> %s", table)
        return found

    @property
    def _prefix(self) -> str:
        return str(TableName(self.name, "")).removesuffix('""')


def home(dialect: LogDialect) -> Effects[Home | None]:
    """The database of the connection; None if its entries are all entries of the log."""
    if dialect is not MYSQL:
        return None
    [[name]] = yield Statement("select database()")
    if name in (None, LOG_SCHEMA):
        return None
    found = yield Statement(_HOMES)
    tables = {str(table): str(database) for database, table in found if table is not None}
    mine = {table for table, database in tables.items() if database == name}
    of_schema = {table for table in tables if TableName.parse(table).schema == name}
    return Home(
        name=str(name),
        is_only=all(database == name for database, _ in found),
        adopted=frozenset(mine - of_schema),
        given_away=frozenset(of_schema - mine),
    )


def of_this_database(dialect: LogDialect) -> Effects[Filter]:
    """The condition that an entry is one of the connection's database."""
    here = yield from home(dialect)
    return ALL if here is None else here.filter()


def _is_of_nobody(table: str) -> bool:
    return "." not in table or table == MYSQL.log_name
