"""Compare the objects that should be installed with those in the catalog, and with our record of them."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from svc_pg.rendering.schema_objects import OBJECT_KINDS, ObjectKind, SchemaObject, is_overload, sends_changes
from svc_pg.schema.status import State, Status

Key = tuple[ObjectKind, str]


@dataclass(frozen=True, slots=True)
class Found:
    """An object of ours in the catalog: the digest of its text there, and the statement that drops it.

    ``table`` is the table of a trigger, as entries name it; ``function`` is the function that it calls, in a database
    that has functions. ``recorded_as`` is the identity by which an object that moved with a renamed table was recorded;
    None or its own identity if it has not moved.
    """

    kind: ObjectKind
    identity: str
    sha256: str
    drop_sql: str
    table: str | None = None
    recorded_as: str | None = None
    is_disabled: bool = False
    function: str | None = None

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
    """The record of an installed object: the digests of our SQL, and of the catalog's text right after it ran.

    ``is_comparable`` is false if the text is from another version of the server.
    """

    kind: ObjectKind
    identity: str
    audited_table: str | None
    source_sha256: str
    catalog_sha256: str
    is_comparable: bool = True

    @property
    def key(self) -> Key:
        """The kind and the identity."""
        return self.kind, self.identity


def compare(
    wanted: Iterable[SchemaObject],
    found: Iterable[Found],
    recorded: Iterable[Recorded],
    *,
    covered: Collection[tuple[str, bool]] = (),
    rewrites: bool = False,
) -> list[Status]:
    """The state of every wanted object, in the given order, then all other objects of ours, as orphans.

    An orphan is superseded if wanted objects do the same for its table, also under its new name, or if the table is
    ``covered``: pairs of a table and true if its changes are sent. With ``rewrites`` the database itself changes the
    text of an object, for example when a column is renamed.
    """
    by_key = {item.key: item for item in found}
    notes = {note.key: note for note in recorded}
    items = {(item.kind, item.identity): item for item in wanted}
    states = [
        Status(
            kind=item.kind,
            identity=item.identity,
            state=_state(item, by_key.get(key), notes.get(key), rewrites=rewrites),
            sql=item.sql,
            audited_table=item.audited_table,
            item=item,
        )
        for key, item in items.items()
    ]
    orphans = [item for key, item in by_key.items() if key not in items]
    known = {item.recorded_key for item in by_key.values()}
    # recorded, but gone from the catalog: nothing to drop, but a record to forget
    orphans += [
        Found(note.kind, note.identity, "", "") for key, note in notes.items() if key not in items and key not in known
    ]
    if orphans:
        served = {(item.audited_table, sends_changes(item.identity)) for item in items.values() if item.audited_table}
        served |= set(covered)
        moved = _moved(by_key.values(), notes)
        # users before things used, and triggers first: their drop makes writers wait
        in_order = sorted(orphans, key=_order, reverse=True)
        states += [_orphan(item, _note(item, notes), served, moved) for item in in_order]
    return states


def _state(item: SchemaObject, found: Found | None, note: Recorded | None, *, rewrites: bool) -> State:
    if found is None:
        return "missing"
    if found.is_disabled:
        return "disabled"
    if note is None:
        return "tampered"
    is_outdated = note.source_sha256 != item.source_sha256
    if found.sha256 != note.catalog_sha256:
        return "outdated" if not note.is_comparable or (rewrites and is_outdated) else "tampered"
    return "outdated" if is_outdated else "ok"


def _note(item: Found, notes: Mapping[Key, Recorded]) -> Recorded | None:
    """The record of an object; for a trigger without one, the record of its function."""
    return notes.get(item.recorded_key) or (notes.get(("function", item.function)) if item.function else None)


def _moved(found: Iterable[Found], notes: Mapping[Key, Recorded]) -> dict[str, str]:
    """The renamed audited tables, with their present names, where most of their triggers are."""
    tables_now: dict[str, Counter[str]] = {}
    for item in found:
        if item.table and (note := _note(item, notes)) and note.audited_table:
            tables_now.setdefault(note.audited_table, Counter())[item.table] += 1
    return {table: names.most_common(1)[0][0] for table, names in tables_now.items() if table not in names}


def _order(item: Found) -> tuple[int, str]:
    return OBJECT_KINDS.index(item.kind), item.identity


def _orphan(
    item: Found, note: Recorded | None, served: Collection[tuple[str | None, bool]], moved: Mapping[str, str]
) -> Status:
    """The state of an unwanted object. A function or view without a record belongs to others."""
    table = note.audited_table if note else None if item.function else item.table
    moved_to = moved.get(table or "")
    sends = sends_changes(item.identity)
    return Status(
        kind=item.kind,
        identity=item.identity,
        state="orphan",
        sql=item.drop_sql,
        audited_table=table,
        is_foreign=note is None and item.kind != "trigger" and not is_overload(item.identity),
        is_superseded=(table, sends) in served or (moved_to, sends) in served,
        moved_to=moved_to,
        recorded_as=item.recorded_as if item.recorded_as != item.identity else None,
    )
