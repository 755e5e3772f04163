"""The changes of a script, as values, for databases whose objects are triggers alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from svc_pg.errors import InstallError
from svc_pg.rendering.schema_objects import SchemaObject, Trigger
from svc_pg.rendering.sql_text import Sql
from svc_pg.schema.comparison import Key
from svc_pg.schema.migration_files import Migration, by_name
from svc_pg.schema.status import Status


class Fingerprint(NamedTuple):
    """A migration or trigger with the fingerprint of its source before and after the script; None if it is not there.

    If the script runs again after its own downgrade, objects that the downgrade kept have ``source_after`` already.
    """

    kind: str
    identity: str
    source_before: str | None
    source_after: str | None


class Removal(NamedTuple):
    """A trigger to remove, and the identity by which it is recorded: another, if its table was renamed."""

    trigger: Trigger
    recorded_as: str

    @classmethod
    def of(cls, step: Status) -> "Removal":
        """The removal of the trigger of a step."""
        return cls(Trigger.parse(step.identity), step.recorded_as or step.identity)


@dataclass(frozen=True, slots=True)
class Change:
    """Migrations to run, triggers to remove, and triggers to make."""

    migrations: Sequence[Migration]
    removals: Sequence[Removal]
    items: Sequence[SchemaObject]
    fingerprints: Sequence[Fingerprint]


def change_of(steps: Sequence[Status], released: Iterable[Migration], notes: Mapping[Key, str]) -> Change:
    """The change of these steps of an install. ``notes`` are the recorded fingerprints of sources."""
    known = by_name(released)
    migrations = [known[step.identity] for step in steps if step.kind == "migration"]
    triggers = [step for step in steps if step.kind == "trigger"]
    fingerprints = [Fingerprint("migration", str(each), None, each.sha256) for each in migrations]
    for step in triggers:
        identity = step.recorded_as or step.identity
        after = step.item.source_sha256 if step.item else None
        fingerprints.append(Fingerprint("trigger", identity, notes.get(("trigger", identity)), after))
    items = [step.item for step in triggers if step.item is not None]
    removals = [Removal.of(step) for step in triggers if step.item is None]
    return Change(migrations, removals, items, fingerprints)


def reversal_of(
    steps: Sequence[Status], kept: Iterable[SchemaObject], replaced: Sequence[SchemaObject], *, is_first: bool
) -> Change:
    """Remove the objects that the steps created, except those in ``kept``; for a later script only whole captures.

    ``replaced`` are the triggers as they are before the steps. They come back, because those of the script would make
    every write fail if the next downgrade drops a column that they name.
    """
    stays = {item.identity for item in kept}
    made = [
        Removal.of(step)
        for step in steps
        if step.item is not None and step.action == "create" and step.identity not in stays
        if is_first or step.audited_table
    ]
    return Change([], made, replaced, [])


def replaced_by(
    steps: Iterable[Status], notes: Mapping[Key, str], definitions: Mapping[str, str]
) -> list[SchemaObject]:
    """The triggers of tables that the steps replace, as they are now; ``definitions`` are their SQL by identity."""
    found = []
    for step in steps:
        note = notes.get(("trigger", step.identity))
        if step.item is None or step.state != "outdated" or not step.audited_table or note is None:
            continue
        if step.identity in definitions:
            found.append(replace(step.item, sql=definitions[step.identity], recorded_sha256=note))
    return found


def removal_of(found: Sequence[Status], table: str, quoted: Sql) -> tuple[Change, Change]:
    """The removal of the triggers that read a table, and its reversal.

    Raises InstallError if the table has no capture, or one that differs from the configuration: the reversal could not
    bring it back.
    """
    items = [step for step in found if step.item and (step.audited_table == table or quoted.text in step.item.sql)]
    if not items:
        raise InstallError(f"table {table} is not audited here", hint="Name an audited table, with its schema.")
    if any(step.state != "ok" for step in items):
        raise InstallError(f"the capture of {table} is not as the configuration says", hint="Run: svc-pg install")
    made = [step.item for step in items if step.item is not None]
    removed = [Fingerprint("trigger", item.identity, item.source_sha256, None) for item in made]
    restored = [Fingerprint("trigger", item.identity, None, item.source_sha256) for item in made]
    return Change([], list(map(Removal.of, items)), [], removed), Change([], [], made, restored)
