"""A database of SQLite: a transaction sees a change and its entry or neither, and one at a time writes."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString

from svc_pg.config import Config
from svc_pg.database.effects import Effects, Statement
from svc_pg.errors import ConfigError
from svc_pg.other_databases.capture.sqlite.catalog import SCHEMA
from svc_pg.other_databases.capture.sqlite.triggers import capture_objects
from svc_pg.other_databases.log.keys import latest_of
from svc_pg.other_databases.log.log_dialects import SQLITE
from svc_pg.other_databases.log.omissions import omissions_of
from svc_pg.other_databases.reconciliation.side import AuditedSide
from svc_pg.other_databases.reconciliation.sqlite.table import SqliteTableSide
from svc_pg.other_databases.schema.sqlite.session import reading
from svc_pg.other_databases.schema.sqlite.target import audited_tables

_ALWAYS: Final = "9999-12-31T23:59:59.999999Z"
_PURGED: Final[LiteralString] = """
select distinct json_extract(before_data, '$.before')
  from svc_audit_logs
 where table_name = 'main.svc_audit_logs' and operation = 'DELETE' and label = 'audit log purged'
   and case when json_valid(before_data) then json_extract(before_data, '$.table') end = %s
"""


def side_of(conn: Any) -> "SqliteSide":
    """The side of a connection's database. Raises ConfigError for one that is async."""
    if not hasattr(conn, "in_transaction") or type(conn).__module__.startswith("aiosqlite"):
        raise ConfigError("this connection is async", hint="Call audit.reconcile(conn, ...) with one of sqlite3.")
    return SqliteSide(conn)


@dataclass(frozen=True, slots=True)
class SqliteSide:
    """A ``Side``."""

    conn: sqlite3.Connection
    dialect = SQLITE
    looks: Sequence[LiteralString] = ("begin",)
    writes: Sequence[LiteralString] = ("begin immediate",)
    sizes: str = "by their sizes"
    hash_key: LiteralString = "svc_audit_hash_key"
    installed_objects: LiteralString = "main.svc_installed_objects"
    entries_by_time: LiteralString = "svc_audit_logs"

    @contextmanager
    def session(self) -> Iterator[None]:
        """Raise TransactionError inside a transaction."""
        with reading(self.conn):
            pass
        yield

    def tables(self, config: Config) -> dict[str, AuditedSide]:
        """The audited tables by name."""
        with reading(self.conn) as cursor:
            found = {}
            for name, each in audited_tables(cursor, config).items():
                wanted = capture_objects(each.facts, each.rules, unattributed=config.audit.unattributed)
                side = SqliteTableSide.of(each.facts, each.rules)
                triggers = {part.identity: part.source_sha256 for part in wanted}
                found[str(name)] = AuditedSide(side, side.problem, triggers)
        return found

    def default_schema(self) -> str:
        """The main database."""
        return SCHEMA

    def omissions(self, table: str) -> Effects[tuple[bool, Sequence[str]]]:
        """The rules that the table had at some time."""
        found = yield from omissions_of(table, _ALWAYS)
        return (False, []) if found is None else (found.is_conditional, found.ignored)

    def purged_before(self, table: str) -> Effects[datetime | None]:
        """As the entries of purges tell."""
        return latest_of([before for [before] in (yield Statement(_PURGED, (table,)))])

    def repairing(self) -> AbstractContextManager[bool]:
        """A transaction that writes keeps all others off."""
        return nullcontext(enter_result=True)
