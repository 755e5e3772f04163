"""Remove old entries in batches, each in a transaction of its own, which opens the log's guard and closes it."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, LiteralString

from svc_pg.audit.log.purge_report import Ages, PurgeReport
from svc_pg.audit.portable.databases import Home, home
from svc_pg.audit.portable.driver_errors import is_busy
from svc_pg.audit.portable.entries import default_schema_of
from svc_pg.audit.portable.keys import time_of
from svc_pg.audit.portable.phrases import Phrases
from svc_pg.audit.portable.statements import Answer, Statement, Steps
from svc_pg.audit.portable.written import write_entry

BATCH: Final = 20_000


@dataclass(frozen=True, slots=True)
class _Old:
    """The entries of a table from before a time."""

    table: str
    before: datetime

    def condition(self, phrases: Phrases) -> tuple[LiteralString, Sequence[object]]:
        """The condition on an entry, and its parameters."""
        text, params = phrases.equals("table_name", self.table)
        return text + " and timestamp < %s", (*params, phrases.time(self.before))


def purging(
    phrases: Phrases,
    ages: Ages,
    *,
    dry_run: bool,
    all_databases: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    is_over: Callable[[], bool] = lambda: False,
    batch: int = BATCH,
) -> Steps[PurgeReport]:
    """Remove all entries that are older than ``ages``: see ``svc_pg.audit.purge``.

    What is left when ``is_over``, or when others hold the log for too long, is postponed.
    """
    before = yield from _ago(phrases, ages.default)
    tables: Counter[str] = Counter()
    postponed: list[str] = []
    if not dry_run:
        progress(phrases.log_name)
    here = None if all_databases else (yield from home(phrases))
    for old in (yield from _old(phrases, ages, before, here)):
        if dry_run:
            which, params = old.condition(phrases)
            text: LiteralString = "select count(*) from " + phrases.log + " where " + which  # noqa: S608 - ours
            [[count]] = yield Statement(text, tuple(params))
        else:
            count, is_done = yield from _emptying(phrases, old, batch, is_over)
            postponed = [] if is_done else [phrases.log_name]
        tables.update({old.table: int(count)} if count else {})
        if postponed:
            break
    if not dry_run and not postponed:
        yield from _leftovers(phrases)
    return PurgeReport(before, [], tables.total(), postponed, dict(tables))


def _leftovers(phrases: Phrases) -> Steps[None]:
    """Delete them, unless others write at the moment: the next purge does."""
    try:
        for statement in phrases.leftovers:
            yield Statement(statement)
    except Exception as error:
        if not is_busy(error):
            raise


def _ago(phrases: Phrases, age: timedelta | None) -> Steps[datetime | None]:
    """The time before which entries of this age are; None of those that never go."""
    if age is None:
        return None
    text, params = phrases.ago(age)
    [[start]] = yield Statement("select " + text, params)
    return time_of(start)


def _old(phrases: Phrases, ages: Ages, before: datetime | None, here: Home | None) -> Steps[list[_Old]]:
    """The old entries by table, ``here`` alone; ``before`` is the time of those whose age is the log's own."""
    default_schema = "" if ages.are_equal else (yield from default_schema_of(phrases))
    names = yield Statement("select distinct table_name from " + phrases.log)  # noqa: S608 - a constant
    found: list[_Old] = []
    for [name] in names:
        if here is not None and not here.has(name):
            continue
        age = ages.of(name, default_schema=default_schema)
        time = before if age == ages.default else (yield from _ago(phrases, age))
        if time is not None:
            found.append(_Old(name, time))
    return found


def _emptying(phrases: Phrases, old: _Old, size: int, is_over: Callable[[], bool]) -> Steps[tuple[int, bool]]:
    """The number of entries removed, and whether those were all."""
    removed = 0
    while not is_over():
        try:
            count = yield from _batch(phrases, old, size)
        except Exception as error:
            if not is_busy(error):
                raise
            return removed, False
        removed += count
        if count < size:
            return removed, True
    return removed, False


def _batch(phrases: Phrases, old: _Old, size: int) -> Steps[int]:
    """The number of entries removed, all in one transaction with the entry about it."""
    which, params = old.condition(phrases)
    yield Statement(phrases.begin)
    try:
        yield Statement(phrases.open_guard, (phrases.time(old.before),))
        yield Statement(phrases.delete_old(which), (*params, size))
        [[count]] = yield Statement(phrases.deleted)
        yield Statement(phrases.close_guard)
        if count:
            entries = "1 entry" if count == 1 else f"{count} entries"
            yield from write_entry(
                phrases,
                phrases.log_name,
                "DELETE",
                label="audit log purged",
                severity="medium",
                before={"table": old.table, "before": old.before.isoformat(), "entries": count},
                description=f"Removed {entries} of {old.table} from before {old.before.isoformat()}",
            )
        yield Statement("commit")
    except GeneratorExit:
        raise
    except BaseException:
        yield from _end(phrases)
        raise
    return int(count)


def _end(phrases: Phrases) -> Steps[None]:
    """Leave nothing of a batch that failed: neither its transaction nor, on MySQL, the session's open guard."""
    for ending in phrases.undo:
        try:
            _: Answer = yield Statement(ending)
        except Exception:  # noqa: BLE001 - of a lost connection, with which both have ended
            return
