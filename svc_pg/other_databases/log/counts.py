"""Count entries: the values of each filter, and numbers by time, table, actor, operation and severity."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, LiteralString

from svc_pg.audit.log.selection import Selection
from svc_pg.audit.read import facets, stats
from svc_pg.audit.read.facets import Facet, Facets
from svc_pg.audit.read.sample import EntryCount
from svc_pg.audit.read.stats import AuditStats, Bucket, TimeCount
from svc_pg.database.effects import Effects, Statement
from svc_pg.other_databases.log.entries import wanted
from svc_pg.other_databases.log.keys import forged, time_of
from svc_pg.other_databases.log.log_dialects import LogDialect

MAX_ENTRIES: Final = 20_000
"""The most entries of a range to count: the newest ones."""

_COLUMNS: Final[LiteralString] = (
    "id, timestamp, xact_id, table_name, operation, record_id, actor_id, tenant_id, label, severity, compliance,"
    " changed_fields"
)
_NAMES: Final = ("resource", "actor", "tenant", "operation", "severity", "label")
_LENGTHS: Final[dict[Bucket, int]] = {"minute": 16, "hour": 13, "day": 10}
_ENDINGS: Final[dict[Bucket, str]] = {"minute": "", "hour": ":00", "day": "T00:00"}


@dataclass(frozen=True, slots=True)
class _Group:
    """The number of entries of one minute with these values; ``tags`` are those of compliance."""

    resource: str
    actor: str | None
    tenant: str | None
    operation: str
    severity: str | None
    label: str | None
    tags: str | None
    minute: str
    entries: int


@dataclass(frozen=True, slots=True)
class _Counted:
    """The newest entries of a range: the number read, the oldest of them, and the selected ones."""

    looked_at: int
    oldest: datetime | None
    first: datetime | None
    last: datetime | None
    groups: Sequence[_Group]

    @property
    def entries(self) -> int:
        return sum(group.entries for group in self.groups)

    def since(self, *, is_complete: bool, tells_reach: bool) -> datetime | None:
        return self.first if is_complete or not tells_reach else self.oldest


def counted_facets(
    dialect: LogDialect, selection: Selection, *, of: Collection[str] = facets.COUNTED, tells_reach: bool
) -> Effects[Facets]:
    """As ``svc_pg.audit.read.facets.afacets``."""
    counted = yield from _counted(dialect, selection, facets.MAX_ENTRIES)
    is_complete = counted.looked_at < facets.MAX_ENTRIES
    tags: Counter[str | None] = Counter()
    for group in counted.groups:
        for tag in _tags(group.tags):
            tags[tag] += group.entries
    found = [Facet(name, _greatest(_by(counted.groups, name), facets.MAX_VALUES)) for name in _NAMES]
    found.append(Facet("compliance", _greatest(tags, facets.MAX_VALUES)))
    return Facets(
        entries=counted.entries,
        since=counted.since(is_complete=is_complete, tells_reach=tells_reach),
        is_complete=is_complete,
        facets=[each for each in found if each.name in of],
        bucket=(unit := _unit(counted)),
        times=_times(counted, unit) if facets.TIME in of else [],
    )


def _tags(text: str | None) -> Sequence[str | None]:
    """The tags of an entry; None stands for none, and for forged ones."""
    try:
        found = json.loads(text or "[]")
    except ValueError:
        found = []
    return found if found and isinstance(found, list) and all(isinstance(tag, str) for tag in found) else [None]


def counted_stats(
    dialect: LogDialect, selection: Selection, *, bucket: Bucket | None, tells_reach: bool
) -> Effects[AuditStats]:
    """As ``svc_pg.audit.read.stats.astats``, with no estimates: of a longer range only the newest 20,000 count."""
    counted = yield from _counted(dialect, selection, MAX_ENTRIES)
    is_complete = counted.looked_at < MAX_ENTRIES
    unit = bucket or _unit(counted)
    most = stats.MAX_GROUPS
    return AuditStats(
        entries=counted.entries,
        since=counted.since(is_complete=is_complete, tells_reach=tells_reach),
        is_complete=is_complete,
        is_estimate=False,
        bucket=unit,
        times=_times(counted, unit),
        tables=_greatest(_by(counted.groups, "resource"), most),
        actors=_greatest(_by(counted.groups, "actor"), most),
        operations=_greatest(_by(counted.groups, "operation"), most),
        severities=_greatest(_by(counted.groups, "severity"), most),
    )


def _times(counted: _Counted, unit: Bucket) -> list[TimeCount]:
    times: Counter[str] = Counter()
    for group in counted.groups:
        times[group.minute[: _LENGTHS[unit]]] += group.entries
    newest = sorted(times)[-stats.MAX_BUCKETS :]
    return [TimeCount(time_of(text + _ENDINGS[unit]), times[text]) for text in newest]


def _unit(counted: _Counted) -> Bucket:
    if counted.first is None or counted.last is None:
        return "minute"
    span = counted.last - counted.first
    return "day" if span > timedelta(days=7) else "hour" if span > timedelta(hours=3) else "minute"


def _counted(dialect: LogDialect, selection: Selection, size: int) -> Effects[_Counted]:
    found = yield from wanted(dialect, selection.conditions)
    reach = yield from wanted(dialect, selection.range)
    looked_at: LiteralString = "(select " + _COLUMNS + " from " + dialect.log + reach.clause  # noqa: S608 - constants
    looked_at += " order by timestamp desc, id desc limit %s) audit_logs"
    params = (*reach.params, size)
    [[count, oldest]] = yield Statement(
        "select count(*), min(" + dialect.timestamp + ") from " + looked_at,  # noqa: S608
        params,
    )
    minute: LiteralString = "substr(" + dialect.timestamp + ", 1, 16)"
    values: LiteralString = "table_name, actor_id, tenant_id, operation, severity, label, compliance, " + minute
    actor, tenant, label = dialect.text("actor_id"), dialect.text("tenant_id"), dialect.text("label")
    text: LiteralString = (
        "select min(" + dialect.timestamp + "), max(" + dialect.timestamp + "), count(*), table_name, "
    )
    text += actor + ", " + tenant + ", operation, severity, " + label + ", compliance, " + minute
    text += " from " + looked_at + found.clause + " group by " + values
    rows = yield Statement(text, (*params, *found.params))
    try:
        return _Counted(
            looked_at=count,
            oldest=None if oldest is None else time_of(oldest),
            first=min((time_of(row[0]) for row in rows), default=None),
            last=max((time_of(row[1]) for row in rows), default=None),
            groups=[_Group(*[*row[3:10], row[10].replace(" ", "T"), row[2]]) for row in rows],
        )
    except ValueError as error:
        raise forged(None) from error


def _by(groups: Iterable[_Group], name: str) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for group in groups:
        found[getattr(group, name)] += group.entries
    return found


def _greatest(counts: Counter[Any], most: int) -> list[EntryCount]:
    """The values with the most entries; equal ones in the order of their texts, None last."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0] is None, item[0] or ""))
    return [EntryCount(value, entries) for value, entries in ranked[:most]]
