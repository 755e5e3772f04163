"""The schema svc that the worker and the console need before they start."""

import asyncio
from typing import Final

from svc_pg.conninfo import Conninfo
from svc_pg.errors import not_installed
from svc_pg.webhooks.worker.connections import Connection
from svc_pg.webhooks.worker.reconnecting import Reconnecting
from svc_pg.webhooks.worker.statistics import Statistics

from .database import connect

# Some of the functions that the worker and the console call
_IS_INSTALLED: Final = """
select bool_and(to_regproc(name) is not null)
  from unnest(array[
      'svc.webhook_next_due', 'svc.audit_ensure_partitions', 'svc.webhook_prune', 'svc.console_prune'
  ]) name
"""


def require_svc(database_url: str | None) -> None:
    """Raises SvcError if the database cannot be reached, NotInstalledError if it lacks svc-pg."""
    with connect(database_url) as conn:
        _check(conn.execute(_IS_INSTALLED).fetchone())


async def wait_for_svc(database: Conninfo, *, stopping: asyncio.Event) -> None:
    """Wait until the database can be reached, or for ``stopping``. Raises NotInstalledError if it lacks svc-pg."""

    async def check(conn: Connection) -> None:
        _check(await (await conn.execute(_IS_INSTALLED)).fetchone())

    await Reconnecting(database, stopping=stopping, statistics=Statistics()).run(check)


def _check(found: tuple[bool] | None) -> None:
    if found != (True,):
        raise not_installed()
