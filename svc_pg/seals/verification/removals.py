"""Purges and erasures: they explain why sealed entries, or their contents, are gone.

Each has an entry of its own in the log. The two parts of that entry are kept beside the log too, because a purge
removes it as well; a removal whose entry is neither in the log nor sealed explains nothing. The entry holds the digest
of the list of single entries that the removal concerns.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Self

from svc_pg.seals.verification.finding import Finding
from svc_pg.seals.verification.leaf import Leaf, digest_of, sha256_of

_PURGE: Final = ["svc.audit_logs", "DELETE", "audit log purged"]
_ERASURE: Final = ["svc.audit_logs", "UPDATE", "audit log erased"]
_ERASED_KEY: Final = re.compile(r'erased:[0-9a-f]{64}|[]\[0-9a-f", nul-]+')
_MOST_NAMED: Final = 20


@dataclass(frozen=True, slots=True)
class Told:
    """The two parts of the entry about a removal; ``time`` has the eight bytes of a leaf."""

    entry_id: int
    time: bytes
    who: str
    content: str

    @property
    def leaf(self) -> Leaf:
        """The entry as a seal knows it."""
        return Leaf(self.entry_id, int.from_bytes(self.time, signed=True), digest_of(self.who, sha256_of(self.content)))

    @property
    def xact_id(self) -> int | None:
        """Its transaction; None if it cannot be read, as in a forged entry."""
        try:
            found = json.loads(self.who)[1]
        except (ValueError, TypeError, LookupError, RecursionError):
            return None
        return found if type(found) is int and 0 <= found < 2**63 else None


@dataclass(frozen=True, slots=True)
class RemovedList:
    """The digest of the list of a removal, as it is kept beside the log."""

    removal: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Listed:
    """An item of a removal's list: ``leaf`` has the digest of a purged entry, or that of an erased one's contents."""

    id: int
    removal: int
    leaf: bytes


@dataclass(slots=True)
class Removals:
    """All removals that an entry of the log, or the seal of a purged one, proves.

    - ``read``: the number of removals kept beside the log
    - ``disproved``: the ids of entries about a removal that the log never had
    - ``dropped``: the dropped partitions, each as two times between which entries below an id are gone
    - ``lists``: the digest of each removal's list according to its entry, by the id of that
    - ``erasures``: those of the removals that are erasures
    - ``changed``: those of the removals whose lists have another digest; these lists explain nothing
    """

    read: int = 0
    disproved: list[int] = field(default_factory=list)
    dropped: list[tuple[datetime, datetime, int]] = field(default_factory=list)
    lists: dict[int, bytes] = field(default_factory=dict)
    erasures: set[int] = field(default_factory=set)
    changed: list[int] = field(default_factory=list)

    @classmethod
    def of(
        cls, kept: Mapping[int, Told], told: Mapping[int, Told], sealed: Collection[int], lists: Iterable[RemovedList]
    ) -> Self:
        """The removals of these entries, by id: ``kept`` beside the log, ``told`` by the log, or ``sealed``."""
        found = cls(read=len(kept))
        found.disproved = [key for key, each in kept.items() if key not in sealed and told.get(key) != each]
        for each in [*told.values(), *(kept[key] for key in sealed)]:
            found._add(each)
        found._compare(lists)
        return found

    def undropped(self, missing: Iterable[Leaf]) -> list[Leaf]:
        """The missing entries that were in no partition that a purge dropped."""
        return [leaf for leaf in missing if not self._has_dropped(leaf)]

    def unpurged(self, missing: Iterable[Leaf], listed: Iterable[Listed]) -> list[Leaf]:
        """The missing entries that no purge removed as they were sealed; ``listed`` are the items of all of them."""
        lists = _by_entry(listed)
        return [leaf for leaf in missing if not self._has_purged(leaf, lists.get(leaf.id, ()))]

    def unerased(self, erased: Iterable[tuple[int, str]], listed: Iterable[Listed], *, seal: int) -> Iterator[Finding]:
        """The erased entries that no erasure left as they are; ``erased`` are their ids and second parts."""
        lists = _by_entry(listed)
        for key, content in erased:
            told = self._erasure_of(lists.get(key, ()))
            if told is None:
                message = f"entry {key} was erased, and no erasure of the log says so"
                yield Finding("erased", message, seal, str(key))
            elif Leaf.of(told.leaf).digest != sha256_of(content) or not _is_tombstone(content, told.removal):
                message = f"entry {key} was changed: it is not as erasure {told.removal} left it"
                yield Finding("changed", message, seal, str(key))

    def claims(self, *, seal: int) -> Iterator[Finding]:
        """A finding for each forged removal, and for each with a changed list."""
        for entry in self.disproved[:_MOST_NAMED]:
            message = f"entry {entry} is said to tell of a purge or an erasure, and the log never had such an entry"
            yield Finding("removal_claimed", message, seal, str(entry))
        if len(self.disproved) > _MOST_NAMED:
            message = f"the log never had the entries of {len(self.disproved) - _MOST_NAMED} more purges or erasures"
            yield Finding("removal_claimed", message, seal)
        for entry in self.changed:
            message = f"entry {entry} tells of a purge or an erasure whose list was changed"
            yield Finding("removal_claimed", message, seal, str(entry))

    def _add(self, told: Told) -> None:
        """Take the removal of an entry. One that cannot be read explains nothing."""
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

    def _compare(self, lists: Iterable[RemovedList]) -> None:
        """Drop the lists without the digest in their entries. Lists of purges may be gone with their months."""
        found = {each.removal: each.digest for each in lists}
        for removal, digest in [*self.lists.items()]:
            if found.get(removal) != digest:
                del self.lists[removal]
                if removal in found or removal in self.erasures:
                    self.changed.append(removal)

    def _has_dropped(self, leaf: Leaf) -> bool:
        time = leaf.timestamp
        return time is not None and any(start <= time < end and leaf.id < before for start, end, before in self.dropped)

    def _has_purged(self, leaf: Leaf, listed: Iterable[Listed]) -> bool:
        return any(
            each.leaf == bytes(leaf) and each.removal in self.lists and each.removal not in self.erasures
            for each in listed
        )

    def _erasure_of(self, listed: Iterable[Listed]) -> Listed | None:
        return next((each for each in listed if each.removal in self.lists and each.removal in self.erasures), None)


def was_sealed(content: str) -> bool:
    """True if an erased entry with this second part had a seal before it was erased."""
    try:
        return bool(json.loads(content)[-1] != "")
    except (ValueError, LookupError, TypeError, RecursionError):
        return True


def _is_tombstone(content: str, erasure: int) -> bool:
    """True if the second part of an entry is the one that an erasure writes."""
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


def _by_entry(listed: Iterable[Listed]) -> dict[int, list[Listed]]:
    lists: dict[int, list[Listed]] = {}
    for each in listed:
        lists.setdefault(each.id, []).append(each)
    return lists


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(text)
    return time
