"""Purge the audit log for a request: as much as it may take time for."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from psycopg import AsyncConnection
from psycopg.errors import LockNotAvailable

from svc_pg.audit import retention
from svc_pg.audit.retention import Part, PurgeReport
from svc_pg.query import Query, Row, afetch

Acting = Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]

BUDGET: Final = timedelta(seconds=20)

_TRIES: Final = 8
_PAUSE: Final = timedelta(milliseconds=250)
_BATCH: Final = 5_000


@dataclass(frozen=True, slots=True)
class _Moment:
    before: datetime


async def purge(acting: Acting, older_than: timedelta, *, is_dry_run: bool) -> PurgeReport:
    """As ``svc_pg.audit.purge``, in transactions of ``acting``, for 20 seconds; what is left then is postponed."""
    async with acting() as conn:
        [moment] = await afetch(conn, Query("select now() - %s as before", (older_than,), _Moment))
        before = moment.before
        parts = await afetch(conn, retention.plan(before))
    if is_dry_run:
        whole = [part.partition_name for part in parts if part.is_whole]
        return PurgeReport(before, whole, sum(part.entries or 0 for part in parts))
    ends_at = time.monotonic() + BUDGET.total_seconds()
    dropped: list[str] = []
    postponed: list[str] = []
    removed = 0
    for part in parts:
        if not part.is_whole:
            entries, is_done = await _delete(acting, part, before, ends_at)
            removed += entries
        elif is_done := await _is_dropped(acting, part, before, ends_at):
            dropped.append(part.partition_name)
        if not is_done:
            postponed.append(part.partition_name)
    return PurgeReport(before, dropped, removed, postponed)


async def _is_dropped(acting: Acting, part: Part, before: datetime, ends_at: float) -> bool:
    drop = await _patiently(acting, retention.drop(part, before), ends_at)
    return drop is not None and drop.is_dropped


async def _delete(acting: Acting, part: Part, before: datetime, ends_at: float) -> tuple[int, bool]:
    """How many entries of the part were removed, and whether that was all."""
    removed, reached = 0, None
    while True:
        batch = await _patiently(acting, retention.delete(part, before, reached=reached, limit=_BATCH), ends_at)
        if batch is None:
            return removed, False
        removed, reached = removed + batch.entries, batch.reached
        if batch.entries < _BATCH:
            return removed, True


async def _patiently(acting: Acting, query: Query[Row], ends_at: float) -> Row | None:
    """Its only row, in a transaction of its own; None where its locks were not to be had in time."""
    for _ in range(_TRIES):
        if time.monotonic() > ends_at:
            break
        async with acting() as conn:
            try:
                async with conn.transaction():
                    return (await afetch(conn, query))[0]
            except LockNotAvailable:
                pass
        await asyncio.sleep(_PAUSE.total_seconds())
    return None
