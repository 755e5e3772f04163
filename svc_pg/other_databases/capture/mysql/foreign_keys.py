"""The foreign keys of MySQL and MariaDB, whose actions fire no triggers, and the ways in which they change a table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from svc_pg.database.dbapi import DbApiConnection, rows
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConfigError

Event = Literal["DELETE", "UPDATE"]

_KEYS: Final = statement("mysql/queries/foreign_keys.sql")
_HINT: Final = 'Set cascades = "unrecorded" for it, and know that such changes are in no entry.'


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A foreign key that changes rows; ``columns`` pairs those of the child with those of the parent."""

    name: str
    child: TableName
    parent: TableName
    columns: Sequence[tuple[str, str]]
    on_update: str
    on_delete: str

    def action(self, event: Event) -> str:
        """The action when a row of the parent is deleted, or its key changes."""
        return self.on_delete if event == "DELETE" else self.on_update


@dataclass(frozen=True, slots=True)
class Way:
    """The foreign keys by which an event of one table changes rows of another, from above."""

    event: Event
    steps: Sequence[ForeignKey]

    @property
    def root(self) -> TableName:
        """The table of the statement that deletes or updates."""
        return self.steps[0].parent

    @property
    def sets_null(self) -> bool:
        """True if the rows' references become NULL; else the rows are deleted, or their references change."""
        return self.steps[-1].action(self.event) == "SET NULL"


def read_foreign_keys(conn: DbApiConnection) -> dict[TableName, list[ForeignKey]]:
    """The foreign keys of each child."""
    pairs: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for schema, name, *child, column, parent_schema, parent, referenced, on_update, on_delete in rows(conn, _KEYS):
        pairs.setdefault((schema, name, *child, parent_schema, parent, on_update, on_delete), []).append(
            (column, referenced)
        )
    keys: dict[TableName, list[ForeignKey]] = {}
    for (_, name, child_schema, child_table, *parent_name, on_update, on_delete), columns in pairs.items():
        key = ForeignKey(
            name, TableName(child_schema, child_table), TableName(*parent_name), columns, on_update, on_delete
        )
        keys.setdefault(key.child, []).append(key)
    return keys


def ways_to(table: TableName, keys: Mapping[TableName, Sequence[ForeignKey]]) -> list[Way]:
    """All ways by which rows of ``table`` are changed.

    Raises ConfigError for changes that no trigger of a table above can record: if a table refers to itself, if a
    reference that is set to NULL is itself referred to, and for ON UPDATE SET NULL.
    """
    found = []
    for key in keys.get(table, ()):
        if key.on_delete in ("CASCADE", "SET NULL"):
            found += [Way("DELETE", steps) for steps in _deletions(table, [key], keys)]
        if key.on_update == "SET NULL":
            raise _untold(table, f"foreign key {key.name} has ON UPDATE SET NULL")
        if key.on_update == "CASCADE":
            found += [Way("UPDATE", steps) for steps in _updates(table, [key], keys)]
    return found


def _deletions(
    table: TableName, steps: list[ForeignKey], keys: Mapping[TableName, Sequence[ForeignKey]]
) -> Iterator[list[ForeignKey]]:
    """The ways that begin with a deletion, each before the ways that extend it."""
    top = steps[0]
    if top.parent in [step.child for step in steps] and not (len(steps) == 1 and top.on_delete == "SET NULL"):
        raise _untold(table, f"foreign key {top.name} lets deletions come back to where they were")
    yield steps
    if top.parent == table:
        return
    for above in keys.get(top.parent, ()):
        if above.on_delete == "CASCADE":
            yield from _deletions(table, [above, *steps], keys)
        elif above.on_delete == "SET NULL" and top.on_update in ("CASCADE", "SET NULL") and _meets(above, top):
            raise _untold(table, f"foreign key {top.name} refers to what {above.name} sets to NULL")


def _updates(
    table: TableName, steps: list[ForeignKey], keys: Mapping[TableName, Sequence[ForeignKey]]
) -> Iterator[list[ForeignKey]]:
    """The ways that begin with a change of a key. The server itself refuses one that returns to its table."""
    top = steps[0]
    if top.parent in [step.child for step in steps]:
        return
    yield steps
    for above in keys.get(top.parent, ()):
        if _meets(above, top):
            if "SET NULL" in (above.on_update, above.on_delete):
                raise _untold(table, f"foreign key {top.name} refers to what {above.name} sets to NULL")
            if above.on_update == "CASCADE":
                yield from _updates(table, [above, *steps], keys)


def _meets(above: ForeignKey, below: ForeignKey) -> bool:
    """True if the lower key refers to a column that the upper one changes."""
    return bool({column for column, _ in above.columns} & {referenced for _, referenced in below.columns})


def _untold(table: TableName, reason: str) -> ConfigError:
    return ConfigError(f'table "{table}": {reason}, which cannot be recorded', hint=_HINT)
