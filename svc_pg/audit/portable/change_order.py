"""The order of change of one record's entries on SQLite, which its images tell and the ids may not.

A trigger of the application that was made after ours fires before it, so what it changes in the same row is captured
before the change that it answers. All entries of one statement have the same time.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import LiteralString

from svc_pg.audit.portable.keys import Key, in_order
from svc_pg.audit.portable.phrases import Phrases
from svc_pg.audit.portable.statements import Statement, Steps
from svc_pg.pagination import Filter

Image = str | None
"""A snapshot; None stands for absence."""


def by_change(
    phrases: Phrases, found: Filter, edge: tuple[datetime, int] | None, *, is_falling: bool, limit: int
) -> Steps[list[Key]]:
    """The entries of each time are looked at as a whole, also at both ends of the page."""
    seen: list[Key] = []
    later = found
    if edge is not None:
        seen = yield from _at(phrases, found, edge[0], is_falling=is_falling)
        comparison: LiteralString = "timestamp < %s" if is_falling else "timestamp > %s"
        later = found.where(comparison, phrases.time(edge[0]))
    keys = yield from in_order(phrases, later, is_falling=is_falling, limit=limit)
    if len(keys) == limit:
        last = yield from _at(phrases, found, keys[-1].timestamp, is_falling=is_falling)
        keys = [key for key in keys if key.timestamp != last[0].timestamp] + last if last else keys
    ordered = yield from _changed(phrases, [*seen, *keys], is_falling=is_falling)
    if edge is not None and seen:
        position = next((index for index, key in enumerate(ordered) if key.id == edge[1]), None)
        if position is None:  # it is not among the wanted ones: the page begins after its place by id
            ordered = [key for key in ordered if key.timestamp != edge[0] or (key.id < edge[1]) == is_falling]
        else:
            ordered = ordered[position + 1 :]
    return ordered[:limit]


def _at(phrases: Phrases, found: Filter, time: datetime, *, is_falling: bool) -> Steps[list[Key]]:
    of_time = found.where("timestamp = %s", phrases.time(time))
    return (yield from in_order(phrases, of_time, is_falling=is_falling))


def _changed(phrases: Phrases, keys: Sequence[Key], *, is_falling: bool) -> Steps[list[Key]]:
    """The keys, with those of one record and time in the order of change; the others keep their places."""
    groups: dict[tuple[str, str | None, datetime], list[int]] = {}
    for position, key in enumerate(keys):
        groups.setdefault((key.table_name, key.record_id, key.timestamp), []).append(position)
    ordered = list(keys)
    for (table, record, time), places in groups.items():
        if len(places) < 2:
            continue
        ids = yield from _order_of(phrases, table, record, time)
        rank = {entry_id: index for index, entry_id in enumerate(ids)}
        by_rank = sorted((keys[place] for place in places), key=lambda key: rank[key.id], reverse=is_falling)
        for place, key in zip(places, by_rank, strict=True):
            ordered[place] = key
    return ordered


def _order_of(phrases: Phrases, table: str, record: str | None, time: datetime) -> Steps[list[int]]:
    """The ids of a record's entries of one time in the order of change, or of capture if the images do not tell."""
    at = phrases.time(time)
    # an UPDATE that moved another record to this key is its beginning, and one that moved it away its end
    before_data, after_data, moved = (phrases.text(name) for name in ("before_data", "after_data", "moved_from"))
    rows = yield Statement(
        "select id, operation, "  # noqa: S608 - constants
        + (before_data + ", " + after_data + ", " + moved + ", " + phrases.text("record_id") + " from ")
        + phrases.log
        + " where table_name = %s and timestamp = %s and (record_id = %s or moved_from = %s) order by id",
        (table, at, record, record),
    )
    befores: list[Image] = []
    afters: list[Image] = []
    for _, operation, before, after, moved_from, of_record in rows:
        is_own = of_record == record
        befores.append(None if is_own and (operation == "INSERT" or moved_from is not None) else before)
        afters.append(after if is_own and operation != "DELETE" else None)
    start = None
    if Counter(befores) == Counter(afters):  # it ends as it began
        start = yield from _state_before(phrases, table, record, at)
    order = walk(befores, afters, start)
    own = [row for row in (rows if order is None else (rows[position] for position in order)) if row[5] == record]
    return [row[0] for row in own]


def _state_before(phrases: Phrases, table: str, record: str | None, at: str) -> Steps[Image]:
    earlier = yield Statement(
        "select "  # noqa: S608 - constants
        + (phrases.text("after_data") + " from ")
        + phrases.log
        + " where table_name = %s and record_id = %s and timestamp < %s order by timestamp desc, id desc limit 1",
        (table, record, at),
    )
    return earlier[0][0] if earlier else None


def walk(befores: Sequence[Image], afters: Sequence[Image], start: Image) -> list[int] | None:
    """The positions of entries in the order in which each begins with the image that the one before ends with.

    The walk uses every entry once (an Euler path, by Hierholzer's algorithm), of many ways the first entry first. It
    begins where the images tell, or at ``start`` if it ends where it began. None if there is no such walk.
    """
    surplus = Counter(befores)
    surplus.subtract(afters)
    ends = {image: count for image, count in surplus.items() if count}
    if ends and sorted(ends.values()) != [-1, 1]:
        return None
    at = next((image for image, count in ends.items() if count == 1), start if start in befores else befores[0])
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
