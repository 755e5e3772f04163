"""Name what happened to the entries that are not as they were sealed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from svc_pg.audit.seals.finding import Finding, FindingKind
from svc_pg.audit.seals.leaves import Leaf
from svc_pg.audit.seals.restoring import ChangedField, restored
from svc_pg.database.query import Query

_ELSEWHERE: Final = """
select id, xact_id, "timestamp"::text as time from svc.audit_logs where id = any (%s::bigint[]) order by id
"""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """An entry that is in the log, but not among those of its seal."""

    id: int
    xact_id: int
    time: str


@dataclass(slots=True)
class Differences:
    """All entries that differ from their seals, each with the number of its seal."""

    missing: dict[int, tuple[Leaf, int]] = field(default_factory=dict)
    extra: list[tuple[Leaf, int]] = field(default_factory=list)
    changed: dict[int, tuple[Leaf, Leaf, int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.missing) + len(self.extra) + len(self.changed)

    @property
    def elsewhere(self) -> Query[Elsewhere]:
        """The query of the missing entries that are in the log all the same."""
        return Query(_ELSEWHERE, (list(self.missing),), Elsewhere)

    @property
    def changed_fields(self) -> Query[ChangedField]:
        """The query of the fields that were changed, as far as the log tells."""
        return restored([before for before, now, _ in self.changed.values() if before.digest != now.digest])

    def findings(self, elsewhere: Sequence[Elsewhere], fields: Sequence[ChangedField]) -> Iterator[Finding]:
        """Each difference in words."""
        yield from self._of_changed({field.id: field for field in fields})
        yield from self._of_missing({entry.id: entry for entry in elsewhere})

    def _of_changed(self, fields: Mapping[int, ChangedField]) -> Iterator[Finding]:
        sealed = {leaf.digest: leaf for leaf, _, _ in self.changed.values()}
        for before, now, seal in self.changed.values():
            other = sealed.get(now.digest)
            if before.digest == now.digest:
                yield _finding("redated", before, seal, f"its time was {_time(before)} and is {_time(now)}")
            elif other is not None and other.id != before.id:
                yield _finding("swapped", before, seal, f"it has what entry {other.id} had when it was sealed")
            else:
                moved = "" if before.time == now.time else f"; its time was {_time(before)} and is {_time(now)}"
                field = fields.get(before.id)
                yield _finding("changed", before, seal, (str(field) if field else _digests(before, now)) + moved)

    def _of_missing(self, out_of_place: Mapping[int, Elsewhere]) -> Iterator[Finding]:
        present = {leaf.id: (leaf, number) for leaf, number in self.extra}
        by_content = {(leaf.time, leaf.digest): leaf for leaf, _ in self.extra}
        explained = set()
        for before, seal in self.missing.values():
            if before.id in present:
                now, _ = present[before.id]
                explained.add(now)
                if before.digest == now.digest:
                    yield _finding("redated", before, seal, f"its time was {_time(before)} and is {_time(now)}")
                else:
                    yield _finding("changed", before, seal, f"{_digests(before, now)}, its transaction too")
            elif (twin := by_content.get((before.time, before.digest))) is not None:
                explained.add(twin)
                yield _finding("renumbered", before, seal, f"its id is {twin.id} now")
            elif (entry := out_of_place.get(before.id)) is not None:
                yield _finding(
                    "changed", before, seal, f"its transaction is {entry.xact_id} and its time {entry.time} now"
                )
            else:
                yield _finding("deleted", before, seal, f"it is not in the log; its time was {_time(before)}")
        for now, seal in self.extra:
            if now not in explained:
                yield _finding("inserted", now, seal, f"seal {seal} does not have it; its time is {_time(now)}")


_WORDS: Final[dict[FindingKind, str]] = {
    "changed": "was changed",
    "deleted": "was deleted",
    "inserted": "was inserted",
    "redated": "was re-dated",
    "renumbered": "got another id",
    "swapped": "was exchanged",
}


def _finding(kind: FindingKind, leaf: Leaf, seal: int, detail: str) -> Finding:
    message = f"entry {leaf.id} {_WORDS[kind]}: {detail}"
    return Finding(kind, message, seal, str(leaf.id), leaf.timestamp)


def _digests(before: Leaf, now: Leaf) -> str:
    return f"the digest of its fields was {before.digest.hex()[:16]} and is {now.digest.hex()[:16]}"


def _time(leaf: Leaf) -> str:
    time: datetime | None = leaf.timestamp
    return "infinite" if time is None else f"{time:%Y-%m-%d %H:%M:%S.%f}Z"
