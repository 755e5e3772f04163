"""The positions of entries in the log, to choose a page before anything large is read."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, LiteralString

from svc_pg.database.effects import Effects, Statement
from svc_pg.database.pagination import Filter
from svc_pg.errors import QueryError
from svc_pg.other_databases.log.log_dialects import LogDialect

_LONG: Final[Sequence[LiteralString]] = ("before_data", "after_data", "context", "description")


@dataclass(frozen=True, slots=True)
class Key:
    """The position of an entry in the log, its record, and the size of its long texts in bytes."""

    id: int
    timestamp: datetime
    table_name: str
    record_id: str | None
    size: int


def within(keys: Sequence[Key], max_bytes: int | None) -> Sequence[Key]:
    """The keys of the first entries with up to ``max_bytes`` together, at least one."""
    used = 0
    for position, key in enumerate(keys):
        used += key.size
        if max_bytes is not None and position and used > max_bytes:
            return keys[:position]
    return keys


def beyond(dialect: LogDialect, found: Filter, edge: tuple[datetime, int] | None, *, is_falling: bool) -> Filter:
    """The conditions, and that the entry comes after the edge."""
    if edge is None:
        return found
    time = dialect.time(edge[0])
    # the first condition is one that finds an index
    if is_falling:
        return found.where("timestamp <= %s and (timestamp, id) < (%s, %s)", time, time, edge[1])
    return found.where("timestamp >= %s and (timestamp, id) > (%s, %s)", time, time, edge[1])


def in_order(dialect: LogDialect, found: Filter, *, is_falling: bool, limit: int | None = None) -> Effects[list[Key]]:
    """The keys of the entries in the order of the log."""
    size: LiteralString = " + ".join([dialect.size(column) for column in _LONG])
    text: LiteralString = "select id, " + dialect.timestamp + ", table_name, " + dialect.text("record_id") + ", " + size
    text += " from " + dialect.log + found.clause
    text += " order by timestamp desc, id desc" if is_falling else " order by timestamp, id"
    params = found.params
    if limit is not None:
        text, params = text + " limit %s", (*params, limit)
    rows = yield Statement(text, params)
    return [_key(*row) for row in rows]


def _key(entry_id: int, time: Any, table: str, record: str | None, size: int) -> Key:
    try:
        return Key(entry_id, time_of(time), table, record, size)
    except ValueError as error:
        raise forged(entry_id) from error


def forged(entry_id: int | None) -> QueryError:
    """The error for an unreadable entry, which a writer of SQLite's file can forge."""
    which = "an entry" if entry_id is None else f"entry {entry_id}"
    return QueryError(
        f"{which} of the log was not written by svc-pg: it cannot be read",
        hint="Look at it with the database's own client, and at who may write to the log.",
    )


def time_of(text: Any) -> datetime:
    """A time of the log, with its zone."""
    time = text if isinstance(text, datetime) else datetime.fromisoformat(text)
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def latest_of(values: Iterable[object]) -> datetime | None:
    """The latest time that entries about purges tell; values that somebody wrote by hand may be none."""
    found = []
    for value in values:
        with suppress(TypeError, ValueError):
            found.append(time_of(value))
    return max(found, default=None)
