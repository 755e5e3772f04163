"""The page System: versions, drift from the configuration, workers, sizes, seals, holds, and retention."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Final

from svc_pg.audit.keep.holds import Hold
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.audit.record_names import names_of_records
from svc_pg.console.pages.formatting import size
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.status.system_status import SystemStatus, TableSize
from svc_pg.database.pagination import Page
from svc_pg.formats import durations

_NAMES: Final = {
    "audit_logs": "Audit log",
    "webhook_messages": "Messages",
    "webhook_deliveries": "Deliveries",
    "webhook_delivery_attempts": "Attempts",
    "webhook_queue": "Queue",
    "console_events": "Console events",
}
_MOST_HOLDS: Final = "20"


async def system_page(request: PageRequest) -> Answer:
    """The page."""
    status = await request.api.get(SystemStatus, "account", "system")
    log = next((each for each in status.sizes if each.name == "audit_logs"), TableSize("audit_logs", 0, 0))
    held = status.proof.holds > 0 and request.is_log_here and request.has("audit")
    holds = await request.api.get(Page[Hold], "audit", "holds", query={"limit": _MOST_HOLDS}) if held else None
    names = {program.name for program in status.programs}
    under_way = {worker.name: worker.in_flight for worker in status.busy_workers}
    values = {
        "holds": [] if holds is None else holds.data,
        "held_names": await names_of_records(request, () if holds is None else _held_records(holds)),
        "status": status,
        "destinations": status.seal_destinations,
        "log": log,
        "late_since": request.now - timedelta(seconds=status.backlog.oldest_due_seconds),
        "workers": [program for program in status.programs if program.kind == "worker"],
        "under_way": under_way,
        "unseen": [worker for worker in status.busy_workers if worker.name not in names],
        "holders": [holder for holder in status.horizon_holders if holder.is_long],
        "names": _NAMES,
        "size": size,
        "retention_words": retention_words,
        "rounded": durations.rounded,
    }
    return Html("system", values)


def _held_records(holds: Iterable[Hold]) -> Iterator[tuple[str, str]]:
    return ((hold.table_name, hold.record_id) for hold in holds if hold.record_id is not None)


def retention_words(time: timedelta | None) -> str:
    """The time for which something is kept, in words."""
    if time is None:
        return "forever"
    return f"{time.days:,} days" if time >= timedelta(days=2) and not time.seconds else durations.text(time)
