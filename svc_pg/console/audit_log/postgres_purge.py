"""Purge the audit log for a request, within the time that it may take."""

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any, Final

from psycopg import AsyncConnection
from psycopg.errors import LockNotAvailable

from svc_pg.audit.keep.purging import purging
from svc_pg.audit.log.purge_report import Ages, PurgeReport
from svc_pg.database.effects import arun
from svc_pg.database.performing import Apart
from svc_pg.database.query import afetch
from svc_pg.database.sqlstates import translating

Acting = Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]

BUDGET: Final = timedelta(seconds=20)

_TRIES: Final = 8
_BATCH: Final = 5_000


async def purge(acting: Acting, ages: Ages, *, is_dry_run: bool, unsealed: bool) -> PurgeReport:
    """As ``svc_pg.audit.purge``, in transactions of ``acting``, for 20 seconds; the partitions left are postponed."""
    ends_at = time.monotonic() + BUDGET.total_seconds()

    async def perform(effect: Apart[Any]) -> list[Any]:
        async with acting() as conn:
            try:
                async with conn.transaction():
                    return await afetch(conn, effect.query)
            except LockNotAvailable as error:  # which ``acting`` would not let the purge see
                locked = error
        raise locked

    wanted = purging(
        ages,
        dry_run=is_dry_run,
        tries=_TRIES,
        batch=_BATCH,
        unsealed=unsealed,
        is_over=lambda: time.monotonic() > ends_at,
    )
    with translating():
        return await arun(wanted, perform)
