"""Remove entries whose retention has ended."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from svc_pg.audit.log.audit_log import log_of
from svc_pg.audit.log.purge_report import PurgeReport, ages_of
from svc_pg.config import AuditConfig
from svc_pg.database.connections import async_connection, sync_connection


def purge(
    conn: Any,
    older_than: timedelta | None = None,
    *,
    config: AuditConfig | None = None,
    dry_run: bool = False,
    unsealed: bool = False,
    all_databases: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> PurgeReport:
    """Remove all entries older than ``older_than``: 1 day to 36500 days. Default: ``retention_days`` of ``config``.

    Tables with ``retention_days`` of their own in ``config`` are purged by these. Held entries stay, and the report
    lists their holds: see ``svc_pg.audit.hold``. If the log has seals, entries stay until they are sealed, unless
    ``unsealed``.

    ``conn`` must be outside a transaction. Each partition and each batch has a transaction of its own, which also
    writes an entry about it: operation DELETE of ``svc.audit_logs``, labelled ``audit log purged``, with the facts in
    ``before_data``. A purge that is interrupted leaves nothing to repair. A partition that stays locked for some
    seconds is postponed, so that no capture waits long behind it. ``progress`` is called with the name of each
    partition. SQLite and MySQL have no partitions: all is removed in batches, and locked entries are postponed.

    On MySQL and MariaDB, where the log is one for all databases of the server, entries of the connection's database are
    removed, or with ``all_databases`` those of all by these ages. A connection to database ``svc`` means all.

    Raises QueryError for another age or for none at all, TransactionError, and NotInstalledError.
    """
    ages = ages_of(older_than, config)
    log = log_of(sync_connection(conn, twin="await audit.apurge(conn, ...)"))
    return log.run(log.purge(ages, dry_run=dry_run, unsealed=unsealed, all_databases=all_databases, progress=progress))


async def apurge(
    conn: Any,
    older_than: timedelta | None = None,
    *,
    config: AuditConfig | None = None,
    dry_run: bool = False,
    unsealed: bool = False,
    all_databases: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> PurgeReport:
    """As ``purge``, on an async connection."""
    ages = ages_of(older_than, config)
    log = log_of(await async_connection(conn, twin="audit.purge(conn, ...)"))
    return await log.arun(
        log.purge(ages, dry_run=dry_run, unsealed=unsealed, all_databases=all_databases, progress=progress)
    )
