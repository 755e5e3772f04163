"""Follow the audit log as lines of JSON: at least once, and without a gap from one run to the next."""

from collections.abc import Generator
from typing import Any

from svc_pg.audit.log.audit_log import log_of
from svc_pg.audit.log.export_fields import Lines
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.audit.read.follow import PAUSE
from svc_pg.audit.read.log_position import START


def following_lines(conn: Any, query: AuditQuery, *, cursor: str = START) -> Generator[Lines, None, None]:
    """All entries that ``query`` selects after ``cursor``, as an export writes them, then endlessly the new ones.

    ``cursor`` is the cursor of the last stored lines: a run that continues there leaves no gap, and repeats only the
    lines after them. An entry comes when all transactions that began before its own have ended. Each look at the log is
    a transaction of its own; ``conn`` must be outside one. The query's order, limit and cursor are ignored. Raises
    TransactionError, NotInstalledError, QueryError if the cursor is of another database, and ConflictError if entries
    of one are copied into the log.
    """
    yield from log_of(conn).lines(query, cursor, pause=PAUSE)


def identity(conn: Any, known: str | None = None) -> str:
    """The identity of the log: on PostgreSQL its epoch, elsewhere the time of its first install.

    Raises NotInstalledError, and QueryError if ``known`` is that of another log. A restored copy is the same log.
    """
    return log_of(conn).identity(known)
