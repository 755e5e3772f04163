"""Read the entries of a record in the order of change, which follows from the images, not always from the ids."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, LiteralString

from svc_pg.audit.log.conditions import Among, Condition, Is, Since, Until
from svc_pg.audit.read.bounded_ids import bounded
from svc_pg.database.effects import Effects
from svc_pg.database.pagination import Filter, Row, Seen, seen
from svc_pg.database.query import Query
from svc_pg.database.statements import statement

MAX_PLACES: Final = 1_000
"""The places of the record that a page looks at if there are other conditions."""
_MOST_TABLES: Final = 20
"""The tables with a record of this key, of which the order of change is told; of more, the order is that of the log."""

Time = datetime | timedelta

_ENTRIES: Final = statement("queries/audit/record_entries.sql")
_TABLES: Final = "select svc.audit_tables_of(%s, %s) as names"
_CURSOR: Final = statement("queries/audit/place_of_cursor.sql")


@dataclass(frozen=True, slots=True)
class OfRecord:
    """The record of a list: its key, the tables if they are known, and the times of its entries.

    ``most`` are the places that a page looks at; None if there are no other conditions, so that it fills the page.
    """

    key: str
    tables: tuple[str, ...] | None
    since: tuple[Time, ...] = ()
    until: tuple[Time, ...] = ()
    most: int | None = None


@dataclass(frozen=True, slots=True)
class _Names:
    names: list[str] | None


def of_record(conditions: Iterable[Condition]) -> OfRecord | None:
    """The record that these conditions are about; None if they are about none."""
    key: str | None = None
    tables: tuple[str, ...] | None = None
    since, until = list[Time](), list[Time]()
    most: int | None = None
    for condition in conditions:
        match condition:
            case Is("record_id", value) if key is None:
                key = bounded(value)
            case Among("table_name", values, is_excluded=False) if tables is None:
                tables = tuple(dict.fromkeys(values))
            case Since(time):
                since.append(time)
            case Until(time):
                until.append(time)
            case _:
                most = MAX_PLACES
    return None if key is None else OfRecord(key, tables, tuple(since), tuple(until), most)


def tables_of(record: OfRecord) -> Effects[Sequence[str] | None]:
    """The tables whose record it is; None if there are too many for one order."""
    if record.tables is not None:
        return record.tables if len(record.tables) <= _MOST_TABLES else None
    [found] = yield Query(_TABLES, (record.key, _MOST_TABLES), _Names)
    return found.names  # type: ignore[no-any-return]


def by_change(
    columns: LiteralString,
    record: OfRecord,
    wanted: Filter,
    row: Callable[..., Row],
    *,
    tables: Sequence[str],
    is_newest: bool,
    position: tuple[object, ...] | None,
    limit: int,
) -> Query[Seen[Row]]:
    """These columns of the wanted entries of a record, at most ``limit``, and of the last that was looked at.

    ``position`` is the time and id of the entry of a cursor. The index of records finds the entries, whatever the
    statistics say. Between transactions the order is that of the log. Of one transaction, an entry gets the place that
    is its own in the order of change, also if the filter leaves others out.
    """
    text, params = places(columns, record, wanted, tables=tables, is_newest=is_newest, position=position, limit=limit)
    return Query(text, params, seen(row))


def places(
    columns: LiteralString,
    record: OfRecord,
    wanted: Filter,
    *,
    tables: Sequence[str],
    is_newest: bool,
    position: tuple[object, ...] | None = None,
    limit: int,
) -> tuple[LiteralString, tuple[object, ...]]:
    """The statement of ``by_change``, and its parameters."""
    key, most = record.key, record.most or 2 * limit  # a key can be given away
    earliest, latest = _bound("greatest", "-infinity", record.since), _bound("least", "infinity", record.until)
    (near, near_params), (far, far_params) = (latest, earliest) if is_newest else (earliest, latest)
    edge: LiteralString = "select " + near + " as at, 0::bigint as id"
    edge_params: tuple[object, ...] = (*near_params,)
    if position is not None:
        is_bound: LiteralString = "b.at <= c.at" if is_newest else "b.at > c.at"
        edge = "select case when " + is_bound + " then b.at else c.at end as at, case when " + is_bound
        edge += " then 0 else c.id end as id from (" + _CURSOR + ") c cross join (select " + near + " as at) b"
        edge_params = (*position, key, key, key, *near_params)
    holes: dict[str, LiteralString] = {
        "edge": edge,
        "is_before": "true" if is_newest else "false",
        "last": "first" if is_newest else "last",
        "beyond": "<" if is_newest else ">",
        "up_to": ">=" if is_newest else "<=",
        "nearest": "max" if is_newest else "min",
        "back": "" if is_newest else " desc",
        "forth": " desc" if is_newest else "",
        "far": far,
        "columns": columns,
        "is_selected": wanted.is_true,
    }
    text = _ENTRIES
    for name, part in holes.items():
        text = text.replace("{" + name + "}", part)
    params = (*edge_params, [*tables], key, most, most, key, *far_params, *wanted.params, limit)
    return text, params


def _bound(
    function: LiteralString, default: LiteralString, times: Sequence[Time]
) -> tuple[LiteralString, Sequence[Time]]:
    text: LiteralString = function + "('" + default + "'::timestamptz"
    for time in times:
        text += ", now() - %s::interval" if isinstance(time, timedelta) else ", %s::timestamptz"
    return text + ")", times
