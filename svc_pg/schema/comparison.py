"""Compare the objects that should be installed with those that are, and with our record of them.

For databases whose objects are triggers and views alone: SQLite, MySQL and MariaDB.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from svc_pg.rendering.schema_objects import ObjectKind, SchemaObject
from svc_pg.schema.status import State, Status

Key = tuple[ObjectKind, str]


@dataclass(frozen=True, slots=True)
class Found:
    """An object of ours in the catalog: the digest of its text there, and the statement that drops it.

    ``table`` is the one that a trigger is on, as entries name it. ``recorded_as`` is the identity by which an object
    that moved with a renamed table was recorded; None or its own identity if it has not moved.
    """

    kind: ObjectKind
    identity: str
    sha256: str
    drop_sql: str
    table: str | None = None
    recorded_as: str | None = None

    @property
    def key(self) -> Key:
        """The kind and the identity."""
        return self.kind, self.identity

    @property
    def recorded_key(self) -> Key:
        """The kind and the identity by which it was recorded, if it was."""
        return self.kind, self.recorded_as or self.identity


@dataclass(frozen=True, slots=True)
class Recorded:
    """The record of an installed object: the digests of our SQL, and of the catalog's text right after it ran."""

    kind: ObjectKind
    identity: str
    audited_table: str | None
    source_sha256: str
    catalog_sha256: str

    @property
    def key(self) -> Key:
        """The kind and the identity."""
        return self.kind, self.identity


def compare(wanted: Iterable[SchemaObject], found: Iterable[Found], recorded: Iterable[Recorded]) -> list[Status]:
    """The state of every wanted object, in the given order, then all other objects of ours, as orphans.

    An orphan is superseded if its table, also under its new name, is among those audited now.
    """
    by_key = {item.key: item for item in found}
    notes = {note.key: note for note in recorded}
    wanted_by_key: dict[Key, SchemaObject] = {(item.kind, item.identity): item for item in wanted}
    states = [
        Status(
            kind=item.kind,
            identity=item.identity,
            state=_state(item, by_key.get(key), notes.get(key)),
            sql=item.sql,
            audited_table=item.audited_table,
            item=item,
        )
        for key, item in wanted_by_key.items()
    ]
    served = {item.audited_table for item in wanted_by_key.values() if item.audited_table}
    moved = _moved(by_key.values(), notes)
    found_notes = {item.recorded_key for item in by_key.values()}
    orphans = [item for key, item in by_key.items() if key not in wanted_by_key]
    lost = [note for key, note in notes.items() if key not in wanted_by_key and key not in found_notes]
    for item in orphans:
        note = notes.get(item.recorded_key)
        table = note.audited_table if note else item.table
        recorded_as = item.recorded_as if item.recorded_as != item.identity else None
        states.append(_orphan(item.key, table, item.drop_sql, served, moved, recorded_as))
    # recorded, but gone from the catalog: nothing to drop, but a record to forget
    states += [_orphan(note.key, note.audited_table, "", served, moved) for note in lost]
    return states


def _state(item: SchemaObject, found: Found | None, note: Recorded | None) -> State:
    if found is None:
        return "missing"
    if note is None:
        return "tampered"
    if note.source_sha256 != item.source_sha256:  # also if the database rewrote it, for a renamed column
        return "outdated"
    return "ok" if note.catalog_sha256 == found.sha256 else "tampered"


def _moved(found: Iterable[Found], notes: Mapping[Key, Recorded]) -> dict[str, str]:
    """The audited tables that were renamed, with their names now: most of their triggers are there."""
    tables_now: dict[str, Counter[str]] = {}
    for item in found:
        note = notes.get(item.recorded_key)
        if note and note.audited_table and item.table:
            tables_now.setdefault(note.audited_table, Counter())[item.table] += 1
    return {table: names.most_common(1)[0][0] for table, names in tables_now.items() if table not in names}


def _orphan(
    key: Key,
    table: str | None,
    drop_sql: str,
    served: set[str],
    moved: Mapping[str, str],
    recorded_as: str | None = None,
) -> Status:
    kind, identity = key
    moved_to = moved.get(table or "")
    return Status(
        kind=kind,
        identity=identity,
        state="orphan",
        sql=drop_sql,
        audited_table=table,
        is_superseded=table in served or moved_to in served,
        moved_to=moved_to,
        recorded_as=recorded_as,
    )
