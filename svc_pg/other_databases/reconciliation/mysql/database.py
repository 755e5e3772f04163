"""MySQL's side of a comparison, and MariaDB's: a snapshot sees a change and its entry."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString

from svc_pg.config import Config
from svc_pg.database.dbapi import DbApiConnection, execute, rows
from svc_pg.database.effects import Effects, Statement
from svc_pg.database.statements import statement
from svc_pg.other_databases.capture.mysql.expressions import MySql
from svc_pg.other_databases.capture.mysql.triggers import capture_objects
from svc_pg.other_databases.log.keys import latest_of
from svc_pg.other_databases.log.log_dialects import MYSQL
from svc_pg.other_databases.reconciliation.mysql.table import MySqlTableSide
from svc_pg.other_databases.reconciliation.side import AuditedSide
from svc_pg.other_databases.schema.mysql.session import LOCK, Server, is_lost, pinned
from svc_pg.other_databases.schema.mysql.target import audited_tables

_PATIENCE: Final = 2
"""The most seconds to wait for a lock of a row, and for another repair or install."""
_SNAPSHOT: Final[Sequence[LiteralString]] = (
    "rollback",
    "set transaction isolation level repeatable read",
    "start transaction read only",
)
# The first read makes the snapshot, so what is locked before it is seen as it is
_WRITES: Final[Sequence[LiteralString]] = (
    "rollback",
    "set transaction isolation level repeatable read",
    "start transaction",
)
_PURGED: Final = statement("mysql/queries/purged_before.sql")
_KNOWS_ENDS: Final = statement("mysql/queries/knows_ends.sql")
_OLDER: Final = "the log is of an older svc-pg, and cannot say that a record is gone; run svc-pg install"


def side_of(conn: Any) -> "MySqlSide":
    """The side of a connection's database."""
    return MySqlSide(conn)


@dataclass(slots=True)
class MySqlSide:
    """A ``Side``."""

    conn: DbApiConnection
    server: Server | None = None
    dialect = MYSQL
    looks = _SNAPSHOT
    writes = _WRITES
    sizes = "by their digests"
    hash_key = "svc.audit_hash_key"
    installed_objects = "svc.installed_objects"
    # both servers may choose another index that begins with the table's name, and read all its entries
    entries_by_time = "svc.audit_logs force index (audit_logs_table)"

    @contextmanager
    def session(self) -> Iterator[None]:
        """Times of keys are compared in UTC. Raises TransactionError inside a transaction."""
        with pinned(self.conn) as self.server:
            [(zone,)] = rows(self.conn, "select @@time_zone")
            waits = "set time_zone = '+00:00', lock_wait_timeout = %s, innodb_lock_wait_timeout = %s"
            # a key may be a day that is none, and the server refuses to compare it otherwise
            days = ", sql_mode = concat(@@sql_mode, ',ALLOW_INVALID_DATES')"
            execute(self.conn, waits + days, (_PATIENCE, _PATIENCE))
            try:
                yield
            finally:
                if not is_lost(self.conn):
                    execute(self.conn, "set time_zone = %s", (zone,))

    def tables(self, config: Config) -> dict[str, AuditedSide]:
        """The audited tables by name."""
        dialect = MySql(self._server.is_mariadb)
        knows_ends = bool(rows(self.conn, _KNOWS_ENDS))
        found = {}
        for name, (table, rules) in audited_tables(self.conn, self._server, config)[0].items():
            triggers = {each.identity: each.source_sha256 for each in capture_objects(dialect, table, rules)}
            side = MySqlTableSide.of(table, rules, is_mariadb=self._server.is_mariadb)
            found[str(name)] = AuditedSide(side, side.problem if knows_ends else _OLDER, triggers)
        return found

    def default_schema(self) -> str:
        """The database of the connection."""
        return self._server.database

    def omissions(self, table: str) -> Effects[tuple[bool, Sequence[str]]]:  # noqa: ARG002 - as SQLite's
        """Nothing keeps the rules that a table once had."""
        yield from ()
        return False, []

    def purged_before(self, table: str) -> Effects[datetime | None]:
        """As the entries of purges tell."""
        return latest_of([before for [before] in (yield Statement(_PURGED, (table,)))])

    @contextmanager
    def repairing(self) -> Iterator[bool]:
        """Hold the lock of installs, and so of backfills: two that miss a record do not keep each other off."""
        [(is_ours,)] = rows(self.conn, "select get_lock(%s, %s)", (LOCK, _PATIENCE))
        try:
            yield bool(is_ours)
        finally:
            if is_ours and not is_lost(self.conn):
                rows(self.conn, "select release_lock(%s)", (LOCK,))

    @property
    def _server(self) -> Server:
        assert self.server is not None  # noqa: S101 - the session is open
        return self.server
