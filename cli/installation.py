"""The schema svc that the worker and the console need before they start."""

import asyncio
from collections.abc import Sequence
from typing import Final

from psycopg.errors import InsufficientPrivilege

from svc_pg.config import Config
from svc_pg.database.conninfo import Conninfo
from svc_pg.database.table_names import TableName
from svc_pg.errors import SvcError, not_installed
from svc_pg.webhooks.worker.reconnecting import Reconnecting
from svc_pg.webhooks.worker.statistics import Statistics
from svc_pg.webhooks.worker.worker_connections import Connection

from .database import connect

# Some of the functions that the worker and the console call
_IS_INSTALLED: Final = """
select bool_and(to_regproc(name) is not null)
  from pg_catalog.unnest(array[
      'svc.webhook_next_due', 'svc.audit_ensure_partitions', 'svc.webhook_prune', 'svc.console_prune'
  ]) name
"""
_UNRECORDED: Final = """
select t.name from pg_catalog.unnest(%s::text[]) t(name)
 where not exists (select from svc.installed_objects o where o.kind = 'trigger' and o.audited_table = t.name)
"""


def require_svc(database_url: str | None, *, is_written: bool = False) -> None:
    """Raises SvcError if the database cannot be reached or, if it ``is_written``, written.

    Raises NotInstalledError if it lacks svc-pg.
    """
    with connect(database_url) as conn:
        _check(conn.execute(_IS_INSTALLED).fetchone())
        if is_written and conn.execute("show transaction_read_only").fetchone() == ("on",):
            raise SvcError(
                "the console writes sessions, and the database only reads: it is a standby, or"
                " default_transaction_read_only is on",
                hint="Connect to the primary, or add --read-only.",
            )


async def wait_for_svc(database: Conninfo, config: Config, *, stopping: asyncio.Event) -> Sequence[str]:
    """Wait until the database can be reached, or for ``stopping``. Raises NotInstalledError if it lacks svc-pg.

    Returns the configuration's tables that are not audited there, as it may be another database's configuration.
    """
    named = [str(TableName.parse(rules.name)) for rules in config.audit.tables if not rules.is_pattern]
    unrecorded: list[str] = []

    async def check(conn: Connection) -> None:
        _check(await (await conn.execute(_IS_INSTALLED)).fetchone())
        try:
            unrecorded[:] = [name for (name,) in await (await conn.execute(_UNRECORDED, [named])).fetchall()]
        except InsufficientPrivilege:  # a role with fewer rights than svc_admin, which delivers nevertheless
            unrecorded.clear()

    await Reconnecting(database, stopping=stopping, statistics=Statistics()).run(check)
    return unrecorded


def _check(found: tuple[bool] | None) -> None:
    if found != (True,):
        raise not_installed()
