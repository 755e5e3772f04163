"""Remove old entries in batches, each in a transaction of its own, which opens the log's guard and closes it."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, LiteralString

from svc_pg.audit.log.manual_entry import ManualEntry
from svc_pg.audit.log.purge_report import Ages, PurgeReport
from svc_pg.database.effects import Effects, Statement
from svc_pg.database.query import RawJson
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConfigError
from svc_pg.formats.json_writer import encode
from svc_pg.other_databases.log.databases import Home, home
from svc_pg.other_databases.log.driver_errors import is_busy
from svc_pg.other_databases.log.entries import default_schema_of
from svc_pg.other_databases.log.insert_entry import insert_entry
from svc_pg.other_databases.log.keys import time_of
from svc_pg.other_databases.log.log_dialects import MYSQL, LogDialect
from svc_pg.other_databases.log.statements import Answer

BATCH: Final = 20_000


@dataclass(frozen=True, slots=True)
class _Old:
    """The entries of a table from before a time."""

    table: str
    before: datetime

    def condition(self, dialect: LogDialect) -> tuple[LiteralString, Sequence[object]]:
        """The condition on an entry, and its parameters."""
        text, params = dialect.equals("table_name", self.table)
        return text + " and timestamp < %s", (*params, dialect.time(self.before))


def purging(
    dialect: LogDialect,
    ages: Ages,
    *,
    dry_run: bool,
    all_databases: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    is_over: Callable[[], bool] = lambda: False,
    batch: int = BATCH,
) -> Effects[PurgeReport]:
    """Remove all entries that are older than ``ages``: see ``svc_pg.audit.purge``.

    The rest is postponed when ``is_over``, or if others lock the log for too long.
    """
    before = yield from _ago(dialect, ages.default)
    tables: Counter[str] = Counter()
    postponed: list[str] = []
    if not dry_run:
        progress(dialect.log_name)
    here = None if all_databases else (yield from home(dialect))
    for old in (yield from _old(dialect, ages, before, here)):
        if dry_run:
            which, params = old.condition(dialect)
            text: LiteralString = "select count(*) from " + dialect.log + " where " + which  # noqa: S608 - ours
            [[count]] = yield Statement(text, tuple(params))
        else:
            count, is_done = yield from _emptying(dialect, old, batch, is_over)
            postponed = [] if is_done else [dialect.log_name]
        tables.update({old.table: int(count)} if count else {})
        if postponed:
            break
    if not dry_run and not postponed:
        yield from _leftovers(dialect)
    databases = _by_database(tables) if here is None and dialect is MYSQL else {}
    return PurgeReport(before, [], tables.total(), postponed, dict(tables), databases=databases)


def _by_database(tables: Mapping[str, int]) -> dict[str, int]:
    databases: Counter[str] = Counter()
    for table, entries in tables.items():
        databases[_database_of(table)] += entries
    return dict(databases)


def _database_of(table: str) -> str:
    """The database of a table, by the name that its entries have; an empty name if they name none."""
    try:
        return TableName.parse(table).schema if "." in table else ""
    except ConfigError:  # a name of capture_log
        return ""


def _leftovers(dialect: LogDialect) -> Effects[None]:
    """Delete leftovers, unless others write at the moment; then the next purge does."""
    try:
        for statement in dialect.leftovers:
            yield Statement(statement)
    except Exception as error:
        if not is_busy(error):
            raise


def _ago(dialect: LogDialect, age: timedelta | None) -> Effects[datetime | None]:
    """The time before which entries have this age; None if they are kept forever."""
    if age is None:
        return None
    text, params = dialect.ago(age)
    [[start]] = yield Statement("select " + text, params)
    return time_of(start)


def _old(dialect: LogDialect, ages: Ages, before: datetime | None, here: Home | None) -> Effects[list[_Old]]:
    """The old entries by table, of database ``here`` alone; ``before`` is the time for the log's own age."""
    default_schema = "" if ages.are_equal else (yield from default_schema_of(dialect))
    names = yield Statement("select distinct table_name from " + dialect.log)  # noqa: S608 - a constant
    found: list[_Old] = []
    for [name] in names:
        if here is not None and not here.has(name):
            continue
        age = ages.of(name, default_schema=default_schema)
        time = before if age == ages.default else (yield from _ago(dialect, age))
        if time is not None:
            found.append(_Old(name, time))
    return found


def _emptying(dialect: LogDialect, old: _Old, size: int, is_over: Callable[[], bool]) -> Effects[tuple[int, bool]]:
    """The number of entries removed, and whether those were all."""
    removed = 0
    while not is_over():
        try:
            count = yield from _batch(dialect, old, size)
        except Exception as error:
            if not is_busy(error):
                raise
            return removed, False
        removed += count
        if count < size:
            return removed, True
    return removed, False


def _batch(dialect: LogDialect, old: _Old, size: int) -> Effects[int]:
    """The number of entries removed, all in one transaction with the entry about it."""
    which, params = old.condition(dialect)
    yield Statement(dialect.begin)
    try:
        earlier = (yield from _told(dialect, which, params, size)) if old.table == dialect.log_name else {}
        yield Statement(dialect.open_guard, (dialect.time(old.before),))
        yield Statement(dialect.delete_old(which), (*params, size))
        [[count]] = yield Statement(dialect.deleted)
        yield Statement(dialect.close_guard)
        if count:
            for table, before in earlier.items():
                yield from _tell(dialect, table, before, 0)
            yield from _tell(dialect, old.table, old.before, count)
        yield Statement("commit")
    except GeneratorExit:
        raise
    except BaseException:
        yield from _end(dialect)
        raise
    return int(count)


def _told(
    dialect: LogDialect, which: LiteralString, params: Sequence[object], size: int
) -> Effects[dict[str, datetime]]:
    """The times before which tables were purged, as the oldest entries that may go tell; they have to be told again.

    A table that nobody writes to has no entries any more of which a later purge could tell.
    """
    purges: LiteralString = (
        "select before_data from " + dialect.log + " where " + which  # noqa: S608 - ours
        + " and operation = 'DELETE' and label = 'audit log purged' order by timestamp limit %s"
    )  # fmt: skip
    found: dict[str, datetime] = {}
    for [facts] in (yield Statement(purges, (*params, size))):
        try:
            told = json.loads(facts)
            table, before = str(told["table"]), time_of(told["before"])
            found[table] = max(before, found.get(table, before))
        except (KeyError, TypeError, ValueError, RecursionError):  # written by hand
            continue
    return found


def _tell(dialect: LogDialect, table: str, before: datetime, count: int) -> Effects[None]:
    """Write the entry of a purge; no count stands for one whose own entry is removed."""
    entries = "1 entry" if count == 1 else f"{count} entries"
    since = f"{table} from before {before.isoformat()}"
    removed = {"table": table, "before": before.isoformat(), "entries": count}
    told = ManualEntry(
        dialect.log_name,
        "DELETE",
        label="audit log purged",
        severity="medium",
        before=RawJson(encode(removed).decode()),
        description=f"Removed {entries} of {since}" if count else f"Entries of {since} were removed earlier",
    )
    yield from insert_entry(dialect, told)


def _end(dialect: LogDialect) -> Effects[None]:
    """Undo a failed batch: its transaction and, on MySQL, the session's open guard."""
    for ending in dialect.undo:
        try:
            _: Answer = yield Statement(ending)
        except Exception:  # noqa: BLE001 - of a lost connection, with which both have ended
            return
