"""The state of one installed object, and the SQL that corrects it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, assert_never

from svc_pg.database.sql_products import ProductId, is_table_of_webhooks, product_of
from svc_pg.database.table_names import TableName
from svc_pg.rendering.schema_objects import ObjectKind, SchemaObject, Trigger, is_overload, name_of

State = Literal["ok", "missing", "outdated", "tampered", "disabled", "incomplete", "orphan"]
InventoryKind = Literal["table", "column", "index", "constraint"]
ForeignKind = Literal["rule", "trigger", "policy", "table", "column", "role", "setting", "type"]
OtherKind = Literal["role", "migration", "partition", "event", "event trigger", "access", "schema", "gap"]
Kind = ObjectKind | InventoryKind | ForeignKind | OtherKind


@dataclass(frozen=True, slots=True)
class Status:
    """An object and its state: one of ours, or a foreign one that ends or falsifies captures.

    ``state``: ``ok``; ``missing``; ``outdated``, if the configuration or svc-pg has changed since; ``tampered``, if
    others changed it; ``disabled``, for a trigger that does not fire; ``incomplete``, for a table with changes without
    an entry (kind ``gap``: a backfill mends the log); or ``orphan``, if the configuration does not name it. Our tables,
    columns, indexes and constraints are listed only if they are missing or tampered. ``sql``: the statement by which
    install corrects it; empty if only a backup can. ``audited_table``: the table whose changes it records or sends.
    ``is_foreign``: install keeps it, because others made it, or a person has to decide. ``is_superseded``: for an
    orphan; other objects now record or send the changes of its table, or do what it did. ``is_later``: for an index
    of the log; install builds it after its transactions, while captures go on. ``moved_to``: the name of its table
    now, if that was renamed. ``recorded_as``: its identity before its table was renamed, if that is another.
    ``is_of_dropped_table``: for an orphan; its table was dropped, so there is nothing to capture. ``is_left_out``: for
    an orphan; it is of a product that the configuration leaves out. ``note``: a limit of the table's capture that no
    state expresses.
    """

    kind: Kind
    identity: str
    state: State
    sql: str
    audited_table: str | None = None
    is_foreign: bool = False
    is_later: bool = False
    is_superseded: bool = False
    moved_to: str | None = None
    recorded_as: str | None = None
    note: str | None = None
    is_of_dropped_table: bool = False
    is_left_out: bool = False
    item: SchemaObject | None = None

    @property
    def action(self) -> Literal["keep", "create", "replace", "remove"]:
        """The action of install."""
        if self.is_foreign:
            return "keep"
        match self.state:
            case "ok":
                return "keep"
            case "missing":
                return "create"
            case "outdated" | "tampered" | "disabled" | "incomplete":
                return "replace"
            case "orphan":
                return "remove"
            case _:
                assert_never(self.state)

    @property
    def is_stray_overload(self) -> bool:
        """True if it is an overload, to be removed, to which calls of ours could resolve.

        Those of a product that is left out are needed until no table uses them.
        """
        is_removed = self.kind == "function" and self.action == "remove" and is_overload(self.identity)
        return is_removed and not self.is_left_out

    @property
    def product(self) -> ProductId | None:
        """The product of a function, a view, or a trigger of a table of ours that records nothing.

        None if every database has it, or if it is another object.
        """
        if self.audited_table is not None:
            return None
        if self.kind in ("function", "view"):
            return product_of(name_of(self.identity))
        if self.kind == "trigger":
            table = Trigger.parse(self.identity).table
            return "webhooks" if table.schema == "svc" and is_table_of_webhooks(table.table) else None
        return None

    @property
    def is_of_own_table(self) -> bool:
        """True if it records the changes of a table of ours."""
        return self.audited_table is not None and TableName.parse(self.audited_table).schema == "svc"

    @property
    def leaves_out(self) -> str | None:
        """The changes of the table that it does not record, for people; None if it records all."""
        return None if self.item is None else self.item.leaves_out

    @property
    def title(self) -> str | None:
        """The column that names the records of the table for people; None if it has none, or records nothing."""
        return None if self.item is None else self.item.title

    @property
    def needs_prune(self) -> bool:
        """True if the step removes capture, an event, an index of the log, or a product that is left out.

        Our own old functions and views are removed without prune, as is all that others supersede.
        """
        is_ours_alone = self.kind in ("function", "view") and self.audited_table is None and not self.is_left_out
        return self.action == "remove" and not self.is_superseded and not is_ours_alone


def in_order(found: Iterable[Status]) -> list[Status]:
    """Sort in the order of an install."""
    return sorted(found, key=_position)


def _position(entry: Status) -> int:
    """Removals come last, and those of tables first among them: their views call functions of the schema.

    Only stray overloads come first of all, because calls and functions could resolve to them; and event triggers,
    which the removals would fire.
    """
    if entry.action != "remove":
        return 1
    return 0 if entry.is_stray_overload or entry.kind == "event trigger" else 2 if entry.audited_table else 3


def steps_of(found: Iterable[Status]) -> list[Status]:
    """The steps of an install: all objects except those that it keeps."""
    return [state for state in found if state.action != "keep"]
