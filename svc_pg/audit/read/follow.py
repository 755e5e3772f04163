"""Follow the audit log: every entry once, including those of transactions that commit late."""

from collections.abc import Generator
from datetime import timedelta
from typing import Any, Final

from svc_pg.audit.log.audit_log import log_of
from svc_pg.audit.log.entry import Entry
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.database.connections import sync_connection

PAUSE: Final = timedelta(milliseconds=500)


def follow(conn: Any, query: AuditQuery, *, pause: timedelta = PAUSE) -> Generator[Entry, None, None]:
    """The newest page of ``query``, its oldest entry first, then endlessly the new entries that it selects.

    An entry comes when all transactions that began before its own have ended, so a slow transaction delays those after
    it, but none is lost and none comes twice. Each look at the log is a transaction of its own, with ``pause`` between
    them; ``conn`` must be outside one. Raises TransactionError, NotInstalledError, and
    ConflictError if entries of another database are copied into the log.
    """
    log = log_of(sync_connection(conn, twin="audit.follow(conn, ...) with a sync connection"))
    yield from log.follow(query, pause=pause)
