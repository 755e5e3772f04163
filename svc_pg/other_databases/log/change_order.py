"""The order of change of one record's entries on SQLite, which follows from the images, not always from the ids.

An application's trigger that is newer than ours fires before it, so its change of the same row is captured before the
change that caused it. All entries of one statement have the same time.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString

from svc_pg.database.effects import Effects, Statement
from svc_pg.database.pagination import Filter
from svc_pg.other_databases.log.keys import Key, in_order
from svc_pg.other_databases.log.log_dialects import LogDialect
from svc_pg.other_databases.log.omissions import noticed, omissions_of

Image = str | None
"""A snapshot; None stands for absence."""

_MOST_TIMES: Final = 20


@dataclass(frozen=True, slots=True)
class _Group:
    """A record's entries of one time (id, and true if it is the record's own), with the images before and after."""

    entries: Sequence[tuple[int, bool]]
    befores: Sequence[Image]
    afters: Sequence[Image]

    def without(self, ignored: Sequence[str]) -> "_Group":
        """The group with images without these columns."""
        befores, afters = ([noticed(image, ignored) for image in images] for images in (self.befores, self.afters))
        return _Group(self.entries, befores, afters)


def by_change(
    dialect: LogDialect, found: Filter, edge: tuple[datetime, int] | None, *, is_falling: bool, limit: int
) -> Effects[list[Key]]:
    """The entries of each time are read as a whole, also at both ends of the page."""
    seen: list[Key] = []
    later = found
    if edge is not None:
        seen = yield from _at(dialect, found, edge[0], is_falling=is_falling)
        comparison: LiteralString = "timestamp < %s" if is_falling else "timestamp > %s"
        later = found.where(comparison, dialect.time(edge[0]))
    keys = yield from in_order(dialect, later, is_falling=is_falling, limit=limit)
    if len(keys) == limit:
        last = yield from _at(dialect, found, keys[-1].timestamp, is_falling=is_falling)
        keys = [key for key in keys if key.timestamp != last[0].timestamp] + last if last else keys
    ordered = yield from _changed(dialect, [*seen, *keys], is_falling=is_falling)
    if edge is not None and seen:
        position = next((index for index, key in enumerate(ordered) if key.id == edge[1]), None)
        if position is None:  # it is not among the wanted ones: the page begins after its place by id
            ordered = [key for key in ordered if key.timestamp != edge[0] or (key.id < edge[1]) == is_falling]
        else:
            ordered = ordered[position + 1 :]
    return ordered[:limit]


def _at(dialect: LogDialect, found: Filter, time: datetime, *, is_falling: bool) -> Effects[list[Key]]:
    of_time = found.where("timestamp = %s", dialect.time(time))
    return (yield from in_order(dialect, of_time, is_falling=is_falling))


def _changed(dialect: LogDialect, keys: Sequence[Key], *, is_falling: bool) -> Effects[list[Key]]:
    """The keys, with keys of one record and time in the order of change; the others keep their places."""
    groups: dict[tuple[str, str | None, datetime], list[int]] = {}
    for position, key in enumerate(keys):
        groups.setdefault((key.table_name, key.record_id, key.timestamp), []).append(position)
    ordered = list(keys)
    for (table, record, time), places in groups.items():
        if len(places) < 2:
            continue
        ids = yield from _order_of(dialect, table, record, time)
        rank = {entry_id: index for index, entry_id in enumerate(ids)}
        by_rank = sorted((keys[place] for place in places), key=lambda key: rank[key.id], reverse=is_falling)
        for place, key in zip(places, by_rank, strict=True):
            ordered[place] = key
    return ordered


def _order_of(dialect: LogDialect, table: str, record: str | None, time: datetime) -> Effects[list[int]]:
    """The ids of a record's entries of one time in the order of change, or of capture if the images are ambiguous."""
    found, order = yield from _ordered(dialect, table, record, time)
    return [entry_id for entry_id, is_own in (found.entries[position] for position in order) if is_own]


def last_of(dialect: LogDialect, table: str, record: str, time: datetime) -> Effects[tuple[int, Image]]:
    """The last of a record's entries of one time in the order of change, and the image with which it ends."""
    found, order = yield from _ordered(dialect, table, record, time)
    return found.entries[order[-1]][0], found.afters[order[-1]]


def _ordered(
    dialect: LogDialect, table: str, record: str | None, time: datetime
) -> Effects[tuple[_Group, Sequence[int]]]:
    """The entries of one time, and their positions in the order of change."""
    found = yield from _group_at(dialect, table, record, dialect.time(time))
    if len(found.entries) == 1:
        return found, [0]
    omissions = yield from omissions_of(table, dialect.time(time))
    order = None
    if omissions is None:
        start = yield from _start_of(dialect, table, record, time, found, ())
        order = walk(found.befores, found.afters, start)
    elif not omissions.is_conditional:  # a walk in another order may go around a change that was left out
        order = yield from _order_with_gaps(dialect, table, record, time, found, omissions.ignored)
    return found, range(len(found.entries)) if order is None else order


def _order_with_gaps(
    dialect: LogDialect, table: str, record: str | None, time: datetime, found: _Group, ignored: Sequence[str]
) -> Effects[list[int] | None]:
    """The walk if the gaps between the entries are changes of ignored columns alone."""
    seen = found.without(ignored)
    start = yield from _start_of(dialect, table, record, time, seen, ignored)
    if not start and not _ends(seen.befores, seen.afters):
        return None
    by_seen = walk(seen.befores, seen.afters, start)
    if by_seen is None or by_seen == sorted(by_seen):  # the order of capture: a walk in another one may go around gaps
        return by_seen
    # They part an image from the next. They tell equal images apart, but only the others tell where a walk begins.
    by_whole = walk(found.befores, found.afters, ())
    return by_whole if by_whole and seen.befores[by_whole[0]] == seen.befores[by_seen[0]] else by_seen


def _start_of(
    dialect: LogDialect, table: str, record: str | None, time: datetime, found: _Group, ignored: Sequence[str]
) -> Effects[Sequence[Image]]:
    """The state before entries that end as they began, from the entries before them; empty if unknown."""
    if _ends(found.befores, found.afters):
        return ()
    at = dialect.time(time)
    for _ in range(_MOST_TIMES):
        [[earlier]] = yield Statement(
            "select max(time) from ("  # noqa: S608 - constants
            + ("select max(timestamp) as time from " + dialect.log)
            + (" where table_name = %s and record_id = %s and timestamp < %s union all select max(timestamp) from ")
            + (dialect.log + " where table_name = %s and moved_from = %s and timestamp < %s) earlier"),
            (table, record, at, table, record, at),
        )
        if earlier is None:
            return ()
        before = (yield from _group_at(dialect, table, record, earlier)).without(ignored)
        if ends := [image for image, count in _ends(before.befores, before.afters).items() if count < 0]:
            return ends if len(ends) == 1 else ()
        at = earlier
    return ()


def _group_at(dialect: LogDialect, table: str, record: str | None, at: str) -> Effects[_Group]:
    # an UPDATE that moved another record to this key is its beginning, and one that moved it away its end
    before_data, after_data, moved = (dialect.text(name) for name in ("before_data", "after_data", "moved_from"))
    columns: LiteralString = before_data + ", " + after_data + ", " + moved + ", " + dialect.text("record_id")
    entries: LiteralString = "select id, operation, " + columns + " from " + dialect.log  # noqa: S608 - constants
    entries += " where table_name = %s and timestamp = %s"
    # by OR, SQLite would read all entries of the time: those of one statement
    rows = yield Statement(
        entries + " and record_id = %s union all " + entries + " and moved_from = %s and record_id <> %s order by 1",
        (table, at, record, table, at, record, record),
    )
    befores: list[Image] = []
    afters: list[Image] = []
    for _, operation, before, after, moved_from, of_record in rows:
        is_own = of_record == record
        befores.append(None if is_own and (operation == "INSERT" or moved_from is not None) else before)
        afters.append(after if is_own and operation != "DELETE" else None)
    return _Group([(row[0], row[5] == record) for row in rows], befores, afters)


def _ends(befores: Sequence[Image], afters: Sequence[Image]) -> dict[Image, int]:
    """The images that do not begin as many entries as they end, with the surplus: none if a record ends as it began."""
    surplus = Counter(befores)
    surplus.subtract(afters)
    return {image: count for image, count in surplus.items() if count}


def walk(befores: Sequence[Image], afters: Sequence[Image], start: Sequence[Image]) -> list[int] | None:
    """The positions of entries in the order in which each begins with the image that the one before ends with.

    The walk uses every entry once (an Euler path, by Hierholzer's algorithm), and prefers earlier entries. Its
    beginning follows from the images; if it ends as it began, it is ``start``, else the first entry. None if there is
    no walk.
    """
    ends = _ends(befores, afters)
    if ends and sorted(ends.values()) != [-1, 1]:
        return None
    begins = [image for image, count in ends.items() if count == 1] or [image for image in start if image in befores]
    at = begins[0] if begins else befores[0]
    ways: dict[Image, list[int]] = {}
    for position in reversed(range(len(befores))):
        ways.setdefault(befores[position], []).append(position)
    images, entries, found = [at], [-1], list[int]()
    while images:
        if left := ways.get(images[-1]):
            entry = left.pop()
            images.append(afters[entry])
            entries.append(entry)
        else:
            images.pop()
            found.append(entries.pop())
    order = found[-2::-1]
    return order if len(order) == len(befores) else None  # or else the images are not connected
