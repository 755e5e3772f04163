"""Read the removals of a log: its purges and erasures, their lists, and their own entries among the sealed ones."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from svc_pg.database.effects import Effects
from svc_pg.database.query import Query
from svc_pg.database.statements import statement
from svc_pg.seals.database.leaf_queries import CONTENT, WHO
from svc_pg.seals.database.stored_seals import kept_leaves, numbered
from svc_pg.seals.verification.comparison import is_sealed
from svc_pg.seals.verification.removals import Listed, Removals, RemovedList, Told

_BEFORE_ALL: Final = -(2**63)
_COUNT: Final = "select count(*) as removals from svc.audit_removals"
_KEPT: Final = """
select entry_id, pg_catalog.timestamptz_send("timestamp") as time, who, content
  from svc.audit_removals where entry_id > %s order by entry_id limit 1000
"""
_TOLD: Final = """
select l.id as entry_id, pg_catalog.timestamptz_send(l."timestamp") as time, {who} as who, {content} as content
  from svc.audit_logs l
 where l.table_name = 'svc.audit_logs' and l.label in ('audit log purged', 'audit log erased')
   and l.erased_leaf is null
""".replace("{who}", WHO).replace("{content}", CONTENT)
_SEALED: Final = statement("queries/seals/sealed_removals.sql")
_LEAF: Final = (
    'pg_catalog.int8send(r.id) operator(pg_catalog.||) pg_catalog.timestamptz_send(r."timestamp")'
    " operator(pg_catalog.||) r.digest"
)
_LISTS: Final = """
select r.removal, pg_catalog.sha256(string_agg({leaf}, '' order by r.id)) as digest
  from svc.audit_removed_leaves r group by r.removal
""".replace("{leaf}", _LEAF)
_LISTED: Final = """
select r.id, r.removal, {leaf} as leaf from svc.audit_removed_leaves r where r.id = any (%s::bigint[])
""".replace("{leaf}", _LEAF)
_RETURNED: Final = """
select r.id, r.removal, {leaf} as leaf from svc.audit_removed_leaves r
  join svc.audit_logs l on l."timestamp" = r."timestamp" and l.id = r.id
 where r.removal = any (%s::bigint[]) and l.erased_leaf is null
 order by r.id limit 1000
""".replace("{leaf}", _LEAF)


@dataclass(frozen=True, slots=True)
class _Count:
    removals: int


@dataclass(frozen=True, slots=True)
class _Sealed:
    id: int
    seal: int


def count() -> Effects[int]:
    """The number of removals kept beside the log: none is ever deleted."""
    [found] = yield Query(_COUNT, (), _Count)
    return int(found.removals)


def removals_after(entry_id: int) -> Query[Told]:
    """The query of a thousand of the removals kept beside the log, those whose entries come after this one."""
    return Query(_KEPT, (entry_id,), Told)


def reading() -> Effects[Removals]:
    """Read all removals; others may purge and erase meanwhile."""
    kept: dict[int, Told] = {}
    while page := (yield removals_after(max(kept, default=_BEFORE_ALL))):
        kept |= {each.entry_id: each for each in page}
    told = {each.entry_id: each for each in (yield Query(_TOLD, (), Told))}
    gone = [each for each in kept.values() if each.entry_id not in told and each.xact_id is not None]
    sealed = (yield from _sealed(gone)) if gone else set()
    return Removals.of(kept, told, sealed, (yield Query(_LISTS, (), RemovedList)))


def _sealed(gone: Sequence[Told]) -> Effects[set[int]]:
    """The ids of those entries that have a seal, by leaves that match the seal."""
    asked = ([each.entry_id for each in gone], [each.xact_id for each in gone], [bytes(each.leaf) for each in gone])
    found: list[_Sealed] = yield Query(_SEALED, asked, _Sealed)
    true = set()
    for number in {each.seal for each in found}:
        seals = yield numbered(number)
        leaves = yield kept_leaves(number, number)
        if seals and leaves and is_sealed(seals[0], leaves[0].leaves):
            true.add(number)
    return {each.id for each in found if each.seal in true}


def removals_of(entry_ids: Collection[int]) -> Query[Listed]:
    """The query of the items for these entries in the lists of all removals."""
    return Query(_LISTED, ([*entry_ids],), Listed)


def returned_entries(erasures: Collection[int]) -> Query[Listed]:
    """The query of the entries that these erasures erased but that have their contents again."""
    return Query(_RETURNED, ([*erasures],), Listed)
