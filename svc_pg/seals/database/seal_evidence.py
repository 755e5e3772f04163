"""The seals with their leaves, and the purges and erasures, as lines for a verifier without a database."""

import base64
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from svc_pg.database.effects import Effects
from svc_pg.database.query import Query
from svc_pg.seals.database.removal_queries import removals_after
from svc_pg.seals.database.stored_seals import following, kept_leaves
from svc_pg.seals.verification.seal import MOST_ENTRIES, Seal

SealEvidence = dict[str, object]
"""A line: a removal, an item of the list of one, or a seal with its leaves in base64, null if they are gone."""
_SEALS: Final = 1000
_BEFORE_ALL: Final = -(2**63)
_ITEMS: Final = """
select removal, id, pg_catalog.timestamptz_send("timestamp") as time, digest
  from svc.audit_removed_leaves where (removal, id) > (%s, %s) order by removal, id limit 1000
"""


@dataclass(frozen=True, slots=True)
class _Item:
    removal: int
    id: int
    time: bytes
    digest: bytes


def seal_evidence(take: Callable[[SealEvidence], None]) -> Effects[tuple[int, Seal | None]]:
    """Give all removals to ``take``, then all seals in their order, and return the number of seals and the last one."""
    yield from _removals(take)
    number, last = 0, None
    while page := (yield following(last.number if last else 0, _SEALS)):
        for group in _groups(page):
            kept = {each.seal: each.leaves for each in (yield kept_leaves(group[0].number, group[-1].number))}
            for seal in group:
                leaves = kept.get(seal.number)
                take({**seal.copy, "leaves": None if leaves is None else base64.b64encode(leaves).decode()})
        number, last = number + len(page), page[-1]
    return number, last


def _removals(take: Callable[[SealEvidence], None]) -> Effects[None]:
    entry = _BEFORE_ALL
    while told := (yield removals_after(entry)):
        for each in told:
            entry = each.entry_id
            take({"removal": entry, "time": each.leaf.time, "who": each.who, "content": each.content})
    after = (_BEFORE_ALL, _BEFORE_ALL)
    while items := (yield Query(_ITEMS, after, _Item)):
        for item in items:
            time = int.from_bytes(item.time, signed=True)
            take({"removal": item.removal, "time": time, "entry": item.id, "digest": item.digest.hex()})
            after = (item.removal, item.id)


def _groups(seals: Iterable[Seal]) -> Iterator[list[Seal]]:
    """Seals whose leaves one query can read."""
    group: list[Seal] = []
    for seal in seals:
        if group and sum(each.entries for each in group) + seal.entries > MOST_ENTRIES:
            yield group
            group = []
        group.append(seal)
    if group:
        yield group
