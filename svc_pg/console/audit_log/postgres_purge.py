"""Purge the audit log for a request, within the time that it may take."""

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any, Final

from psycopg import AsyncConnection
from psycopg.errors import LockNotAvailable

from svc_pg.audit.keep import retention
from svc_pg.audit.log.purge_report import Ages, PurgeReport
from svc_pg.database.query import Query, afetch
from svc_pg.database.retrying import Rows, atake_by

Acting = Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]

BUDGET: Final = timedelta(seconds=20)

_TRIES: Final = 8
_BATCH: Final = 5_000


async def purge(acting: Acting, ages: Ages, *, is_dry_run: bool, unsealed: bool) -> PurgeReport:
    """As ``svc_pg.audit.purge``, in transactions of ``acting``, for 20 seconds; the partitions left are postponed."""
    ends_at = time.monotonic() + BUDGET.total_seconds()

    async def rows(query: Query[Any]) -> Rows:
        async with acting() as conn:
            try:
                async with conn.transaction():
                    return await afetch(conn, query)
            except LockNotAvailable as error:
                return error

    steps = retention.purging(
        ages,
        dry_run=is_dry_run,
        tries=_TRIES,
        batch=_BATCH,
        unsealed=unsealed,
        is_over=lambda: time.monotonic() > ends_at,
    )
    return await atake_by(steps, rows)
