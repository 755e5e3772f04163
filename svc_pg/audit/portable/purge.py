"""Remove old entries in batches, each in a transaction of its own, which opens the log's guard and closes it."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, LiteralString

from svc_pg.audit.portable.driver_errors import is_busy
from svc_pg.audit.portable.keys import moment
from svc_pg.audit.portable.phrases import SQLITE, Phrases
from svc_pg.audit.portable.statements import Answer, Statement, Steps
from svc_pg.audit.portable.written import write_entry
from svc_pg.audit.purge_report import PurgeReport, check_age

BATCH: Final = 20_000

_BEGIN: Final[dict[bool, LiteralString]] = {True: "begin immediate", False: "start transaction"}
_OPEN: Final[dict[bool, LiteralString]] = {
    True: "insert into svc_audit_purge (before) values (%s)",
    False: "set @svc_purge_before = %s",
}
_CLOSE: Final[dict[bool, LiteralString]] = {
    True: "delete from svc_audit_purge",
    False: "set @svc_purge_before = null",
}
_DELETE: Final[dict[bool, LiteralString]] = {
    True: """
delete from svc_audit_logs where id in (
    select id from svc_audit_logs where timestamp < %s order by timestamp limit %s
)""",
    False: "delete from svc.audit_logs where timestamp < %s order by timestamp limit %s",
}
_DELETED: Final[dict[bool, LiteralString]] = {True: "select changes()", False: "select row_count()"}


def purging(
    phrases: Phrases,
    older_than: timedelta,
    *,
    dry_run: bool,
    progress: Callable[[str], None] = lambda _: None,
    is_over: Callable[[], bool] = lambda: False,
    batch: int = BATCH,
) -> Steps[PurgeReport]:
    """Remove all entries older than ``older_than``: see ``svc_pg.audit.purge``.

    What is left when ``is_over``, or when others hold the log for too long, is postponed.
    """
    check_age(older_than)
    text, params = phrases.ago(older_than)
    [[start]] = yield Statement("select " + text, params)
    before = moment(start)
    if dry_run:
        return PurgeReport(before, [], (yield from _old(phrases, before)))
    progress(phrases.log_name)
    removed = 0
    while not is_over():
        try:
            count = yield from _batch(phrases, before, batch)
        except Exception as error:
            if not is_busy(error):
                raise
            break
        removed += count
        if count < batch:
            return PurgeReport(before, [], removed)
    return PurgeReport(before, [], removed, [phrases.log_name])


def _old(phrases: Phrases, before: datetime) -> Steps[int]:
    old = "select count(*) from " + phrases.log + " where timestamp < %s"  # noqa: S608 - constants
    [[count]] = yield Statement(old, (phrases.time(before),))
    return int(count)


def _batch(phrases: Phrases, before: datetime, size: int) -> Steps[int]:
    """The number of entries removed, all in one transaction with the entry about it."""
    is_sqlite = phrases is SQLITE
    time = phrases.time(before)
    yield Statement(_BEGIN[is_sqlite])
    try:
        yield Statement(_OPEN[is_sqlite], (time,))
        yield Statement(_DELETE[is_sqlite], (time, size))
        [[count]] = yield Statement(_DELETED[is_sqlite])
        yield Statement(_CLOSE[is_sqlite])
        if count:
            yield from write_entry(
                phrases,
                phrases.log_name,
                "DELETE",
                label="audit log purged",
                severity="medium",
                before={"before": before.isoformat(), "entries": count},
                description=f"Removed {count} entries from before {before.isoformat()}",
            )
        yield Statement("commit")
    except GeneratorExit:
        raise
    except BaseException:
        yield from _end(is_sqlite=is_sqlite)
        raise
    return int(count)


def _end(*, is_sqlite: bool) -> Steps[None]:
    """Leave nothing of a batch that failed: neither its transaction nor, on MySQL, the session's open guard."""
    endings: list[LiteralString] = ["rollback"] if is_sqlite else ["rollback", _CLOSE[False]]
    for ending in endings:
        try:
            _: Answer = yield Statement(ending)
        except Exception:  # noqa: BLE001 - of a lost connection, with which both have ended
            return
