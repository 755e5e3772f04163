"""The removals that purges and erasures tell of: they explain why sealed entries, or their contents, are gone.

The log's own entries tell of them. Their two parts are kept beside the log too, because a purge removes these entries
as well; a removal of which neither the log nor a seal has the entry explains nothing. Each entry says the digest of the
list of what it removed one by one.
"""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from svc_pg.audit.seals.comparison import is_sealed
from svc_pg.audit.seals.leaves import CONTENT, WHO, Leaf, digest_of, sha256_of
from svc_pg.audit.seals.stored import numbered
from svc_pg.database.effects import Effects
from svc_pg.database.query import Query

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
# %b, because psycopg writes bytes in a list as a text that depends on standard_conforming_strings
_SEALED: Final = """
select r.id, s.number as seal
  from rows from (pg_catalog.unnest(%s::bigint[]), pg_catalog.unnest(%s::bigint[]), pg_catalog.unnest(%b::bytea[]))
       r(id, xact_id, leaf)
  join svc.audit_seals s on s.version = 2 and s.from_xact_id <= r.xact_id and s.until_xact_id > r.xact_id
       and s.after_id < r.id and s.until_id >= r.id
  join svc.audit_seal_leaves k on k.seal = s.number
 where position(r.leaf in k.leaves) %% 48 = 1
"""
_LEAVES: Final = "select leaves from svc.audit_seal_leaves where seal = %s"
_LISTS: Final = """
select removal, pg_catalog.sha256(string_agg(pg_catalog.int8send(id) operator(pg_catalog.||)
                                             pg_catalog.timestamptz_send("timestamp") operator(pg_catalog.||) digest,
                                             '' order by id)) as digest
  from svc.audit_removed_leaves group by removal
"""
_LISTED: Final = "select id, removal, digest from svc.audit_removed_leaves where id = any (%s::bigint[])"
_RETURNED: Final = """
select r.id, r.removal, r.digest from svc.audit_removed_leaves r
  join svc.audit_logs l on l."timestamp" = r."timestamp" and l.id = r.id
 where r.removal = any (%s::bigint[]) and l.erased_leaf is null
 order by r.id limit 1000
"""
_PURGE: Final = ["svc.audit_logs", "DELETE", "audit log purged"]
_ERASURE: Final = ["svc.audit_logs", "UPDATE", "audit log erased"]
_ERASED_KEY: Final = re.compile(r'erased:[0-9a-f]{64}|[]\[0-9a-f", nul-]+')


@dataclass(frozen=True, slots=True)
class _Count:
    removals: int


@dataclass(frozen=True, slots=True)
class _Entry:
    """The two parts of an entry that tells of a removal; ``time`` has the eight bytes of a leaf."""

    entry_id: int
    time: bytes
    who: str
    content: str

    @property
    def leaf(self) -> Leaf:
        return Leaf(self.entry_id, int.from_bytes(self.time, signed=True), digest_of(self.who, sha256_of(self.content)))

    @property
    def xact_id(self) -> int | None:
        try:
            found = json.loads(self.who)[1]
        except (ValueError, TypeError, LookupError, RecursionError):
            return None
        return found if type(found) is int and 0 <= found < 2**63 else None


@dataclass(frozen=True, slots=True)
class _Sealed:
    id: int
    seal: int


@dataclass(frozen=True, slots=True)
class _Leaves:
    leaves: bytes


@dataclass(frozen=True, slots=True)
class _List:
    removal: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Listed:
    """An item of a removal's list: a purged entry with its digest, or an erased one with that of its contents."""

    id: int
    removal: int
    digest: bytes


@dataclass(slots=True)
class Removals:
    """All removals that the log, or the seal of an entry that is gone, tells of.

    - ``read``: the number of those kept beside the log
    - ``disproved``: the ids of entries that would tell of a removal, and that the log never had
    - ``dropped``: the partitions that were dropped: the times between which entries below an id are gone
    - ``lists``: the digest that each removal says its list has, by the id of its entry
    - ``erasures``: those of them that are erasures
    - ``changed``: those of them whose lists have another digest; these lists explain nothing
    """

    read: int = 0
    disproved: list[int] = field(default_factory=list)
    dropped: list[tuple[datetime, datetime, int]] = field(default_factory=list)
    lists: dict[int, bytes] = field(default_factory=dict)
    erasures: set[int] = field(default_factory=set)
    changed: list[int] = field(default_factory=list)

    def has_dropped(self, leaf: Leaf) -> bool:
        """True if the entry was in a partition that a purge dropped."""
        time = leaf.timestamp
        return time is not None and any(start <= time < end and leaf.id < before for start, end, before in self.dropped)

    def has_purged(self, leaf: Leaf, listed: Iterable[Listed]) -> bool:
        """True if one of these lists of the entry is of a purge that removed it as it was sealed."""
        return any(
            each.digest == leaf.digest and each.removal in self.lists and each.removal not in self.erasures
            for each in listed
        )

    def erasure_of(self, listed: Iterable[Listed]) -> Listed | None:
        """The one of these lists of an entry that is of an erasure; None if there is none."""
        return next((each for each in listed if each.removal in self.lists and each.removal in self.erasures), None)

    def add(self, told: _Entry) -> None:
        """Take what an entry tells. One that cannot be read explains nothing."""
        try:
            who, facts = json.loads(told.who), json.loads(told.content)[2]
            kind = [who[2], who[4], who[12]]
            if kind == _PURGE and "from" in facts:
                self.dropped.append((_time(facts["from"]), _time(facts["before"]), told.entry_id))
            elif kind in (_PURGE, _ERASURE) and facts.get("digest") is not None:
                self.lists[told.entry_id] = bytes.fromhex(facts["digest"])
                if kind == _ERASURE:
                    self.erasures.add(told.entry_id)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return

    def compare(self, lists: Iterable[_List]) -> None:
        """Leave out the removals whose lists are not what they say. Those of purges may be gone with their months."""
        found = {each.removal: each.digest for each in lists}
        for removal, digest in [*self.lists.items()]:
            if found.get(removal) != digest:
                del self.lists[removal]
                if removal in found or removal in self.erasures:
                    self.changed.append(removal)


def count() -> Effects[int]:
    """The number of removals that are kept beside the log: none ever goes."""
    [found] = yield Query(_COUNT, (), _Count)
    return int(found.removals)


def reading() -> Effects[Removals]:
    """Read all removals; others may purge and erase meanwhile."""
    kept: dict[int, _Entry] = {}
    while page := (yield Query(_KEPT, (max(kept, default=_BEFORE_ALL),), _Entry)):
        kept |= {each.entry_id: each for each in page}
    told = {each.entry_id: each for each in (yield Query(_TOLD, (), _Entry))}
    gone = [each for each in kept.values() if each.entry_id not in told and each.xact_id is not None]
    sealed = (yield from _sealed(gone)) if gone else set()
    found = Removals(read=len(kept))
    found.disproved = [key for key, each in kept.items() if key not in sealed and told.get(key) != each]
    for each in [*told.values(), *(kept[key] for key in sealed)]:
        found.add(each)
    found.compare((yield Query(_LISTS, (), _List)))
    return found


def _sealed(gone: Sequence[_Entry]) -> Effects[set[int]]:
    """The ids of those entries that seals have, by leaves that are the ones that were sealed."""
    asked = ([each.entry_id for each in gone], [each.xact_id for each in gone], [bytes(each.leaf) for each in gone])
    found: list[_Sealed] = yield Query(_SEALED, asked, _Sealed)
    true = set()
    for number in {each.seal for each in found}:
        seals = yield numbered(number)
        leaves = yield Query(_LEAVES, (number,), _Leaves)
        if seals and leaves and is_sealed(seals[0], leaves[0].leaves):
            true.add(number)
    return {each.id for each in found if each.seal in true}


def listed(entry_ids: Collection[int]) -> Query[Listed]:
    """The query of what the lists of all removals say of these entries."""
    return Query(_LISTED, ([*entry_ids],), Listed)


def returned(erasures: Collection[int]) -> Query[Listed]:
    """The query of the entries that these erasures erased, and that have their contents all the same."""
    return Query(_RETURNED, ([*erasures],), Listed)


def was_sealed(content: str) -> bool:
    """True if an erased entry, of which this is the second part, had a seal before it was erased."""
    try:
        return bool(json.loads(content)[-1] != "")
    except (ValueError, LookupError, TypeError, RecursionError):
        return True


def is_tombstone(content: str, erasure: int) -> bool:
    """True if the second part of an entry is what an erasure leaves."""
    try:
        *keys, before, after, description, redacted, context, _ = json.loads(content)
    except (ValueError, TypeError, RecursionError):
        return False
    snapshots: Sequence[Any] = (before, after)
    return (
        all(key is None or _ERASED_KEY.fullmatch(key) is not None for key in keys)
        and all(snapshot is None or snapshot == {"erased": True} for snapshot in snapshots)
        and (description, redacted, context) == ("Erased", ["*"], {"erasure": erasure})
    )


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(text)
    return time
