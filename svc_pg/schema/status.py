"""Look at a database: what is installed, what differs from the configuration, and what install would do about it."""

from dataclasses import dataclass
from typing import Any, Literal

from psycopg import Connection

from svc_pg.config import Config
from svc_pg.objects import SchemaObject
from svc_pg.schema import catalog, migrations
from svc_pg.schema.catalog import State
from svc_pg.schema.desired import Desired, desired
from svc_pg.schema.events import compare_events
from svc_pg.schema.transactions import transaction

Kind = Literal["migration", "function", "trigger", "event", "schema"]


@dataclass(frozen=True, slots=True)
class Status:
    """One migration, function, trigger or event type, and how it stands.

    ``state`` is ``ok``; ``missing``; ``outdated``, where the configuration or svc-pg has changed since; ``tampered``,
    where somebody else changed it; or ``orphan``, where the configuration does not name it. ``sql`` is what install
    executes to put it right, and ``audited_table`` the table whose changes it records. An orphan ``is_foreign`` where
    we did not make it, and ``is_superseded`` where its table is audited in another way now.
    """

    kind: Kind
    identity: str
    state: State
    sql: str
    audited_table: str | None = None
    is_foreign: bool = False
    is_superseded: bool = False
    item: SchemaObject | None = None

    @property
    def action(self) -> Literal["keep", "create", "replace", "remove"]:
        """What install does about it."""
        if self.state == "ok" or self.is_foreign:
            return "keep"
        if self.state == "missing":
            return "create"
        return "remove" if self.state == "orphan" else "replace"

    @property
    def needs_prune(self) -> bool:
        """Whether the step takes capture or an event away; our own old functions go without being asked for."""
        is_ours_alone = self.kind == "function" and self.audited_table is None
        return self.action == "remove" and not self.is_superseded and not is_ours_alone


def status(conn: Connection[Any], config: Config) -> list[Status]:
    """Everything that is or should be installed, with its state. Changes nothing.

    ``conn`` must be outside a transaction. Raises the errors of ``install`` that come before any change.
    """
    with transaction(conn):
        return look(conn, desired(conn, config))


def plan(conn: Connection[Any], config: Config) -> list[Status]:
    """What install would do, in its order; removals are last and only done with ``prune``. Changes nothing."""
    return [step for step in status(conn, config) if step.action != "keep"]


def look(conn: Connection[Any], wanted: Desired) -> list[Status]:
    """As ``status``, inside a transaction that pins the search_path."""
    pending = set(migrations.pending(conn))
    found = [
        Status("migration", str(migration), "missing" if migration in pending else "ok", migration.sql)
        for migration in migrations.released()
    ]
    objects = [
        Status(
            kind=entry.kind,
            identity=entry.identity,
            state=entry.state,
            sql=entry.item.sql if entry.item else entry.drop_sql or "",
            audited_table=entry.audited_table,
            is_foreign=entry.kind == "function" and entry.state == "orphan" and not entry.is_recorded,
            is_superseded=entry.state == "orphan" and entry.audited_table in wanted.tables,
            item=entry.item,
        )
        for entry in catalog.compare(conn, wanted.objects)
    ]
    events = [Status("event", event.name, event.state, event.sql) for event in compare_events(conn, wanted.events)]
    everything = [*found, *(entry for entry in objects if not entry.audited_table), *events]
    everything += [entry for entry in objects if entry.audited_table]
    return sorted(everything, key=lambda entry: entry.action == "remove")
