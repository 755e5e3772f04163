"""The schema svc that the worker and the console need before they start."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from psycopg.errors import InsufficientPrivilege

from svc_pg.config import Config
from svc_pg.database.conninfo import Conninfo
from svc_pg.database.table_names import TableName
from svc_pg.errors import NotInstalledError, SvcError, not_installed, webhooks_not_installed
from svc_pg.status.installed_products import AUDIT_IS_INSTALLED
from svc_pg.status.webhooks_installed import IS_INSTALLED
from svc_pg.webhooks.worker.reconnecting import Reconnecting
from svc_pg.webhooks.worker.statistics import Statistics
from svc_pg.webhooks.worker.worker_connections import Connection

from .database import connect

# Some of the functions that the worker and the console call, and true if there are webhooks, and the audit trail
_INSTALLED: Final = f"""
select to_regproc('svc.audit_ensure_partitions') is not null and to_regproc('svc.console_prune') is not null,
       ({IS_INSTALLED}), ({AUDIT_IS_INSTALLED})
"""
_MAINTAIN: Final = "A database that has only the audit trail is maintained by: svc-pg worker"
_UNRECORDED: Final = """
select t.name from pg_catalog.unnest(%s::text[]) t(name)
 where not exists (select from svc.installed_objects o where o.kind = 'trigger' and o.audited_table = t.name)
"""


@dataclass(frozen=True, slots=True)
class FoundInstallation:
    """The installation that a worker has found.

    ``unrecorded`` are the configuration's tables that are not audited there, as it may be another database's
    configuration.
    """

    has_webhooks: bool
    has_audit: bool
    unrecorded: Sequence[str] = ()


def require_svc(database_url: str | None, *, is_written: bool = False) -> bool:
    """Return whether the database has webhooks, as the console serves the audit trail alone too.

    Raises SvcError if the database cannot be reached or, if it ``is_written``, written.

    Raises NotInstalledError if it lacks svc-pg.
    """
    with connect(database_url) as conn:
        has_webhooks, _ = _check(conn.execute(_INSTALLED).fetchone())
        if is_written and conn.execute("show transaction_read_only").fetchone() == ("on",):
            raise SvcError(
                "the console writes sessions, and the database only reads: it is a standby, or"
                " default_transaction_read_only is on",
                hint="Connect to the primary, or add --read-only.",
            )
    return has_webhooks


async def wait_for_svc(
    database: Conninfo, config: Config, *, needs_webhooks: bool, stopping: asyncio.Event
) -> FoundInstallation | None:
    """Wait until the database can be reached, or for ``stopping``: then the result may be None.

    Raises NotInstalledError if it lacks svc-pg, or, if ``needs_webhooks``, these.
    """
    named = [str(TableName.parse(rules.name)) for rules in config.audit.tables if not rules.is_pattern]
    found: FoundInstallation | None = None

    async def check(conn: Connection) -> None:
        nonlocal found
        products = _check(await (await conn.execute(_INSTALLED)).fetchone(), needs_webhooks=needs_webhooks)
        try:
            unrecorded = [name for (name,) in await (await conn.execute(_UNRECORDED, [named])).fetchall()]
        except InsufficientPrivilege:  # a role with fewer rights than svc_admin, which delivers nevertheless
            unrecorded = []
        found = FoundInstallation(*products, unrecorded)

    await Reconnecting(database, stopping=stopping, statistics=Statistics()).run(check)
    return found


def _check(found: tuple[bool, bool, bool] | None, *, needs_webhooks: bool = False) -> tuple[bool, bool]:
    """True if there are webhooks, and if there is the audit trail."""
    is_installed, has_webhooks, has_audit = found or (False, False, False)
    if not is_installed:
        raise not_installed()
    if needs_webhooks and not has_webhooks:
        error = webhooks_not_installed()
        raise NotInstalledError(error.message, hint=f"{error.hint} {_MAINTAIN}")
    return has_webhooks, has_audit
