"""Read the net changes of a transaction or an entry, and the facts of the changed tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from svc_pg.audit.log.entry import Operation
from svc_pg.database.query import Query, RawJson
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName

_NET_CHANGES: Final = """
select table_name, record_id, before_data, after_data, changed_fields, redacted_fields, moved_from, moved_to,
       is_in_order, is_of_another_table, later_entry::text as later_entry, later_operation, later_fields
  from svc.audit_net_changes(%s, %s, %s)
"""
_FACTS: Final = statement("queries/audit/changed_tables.sql")


@dataclass(frozen=True, slots=True)
class NetChange:
    """A record before and after; None if it was not there. A record_id of None is a TRUNCATE, or a row without key.

    ``later_entry`` is a later change of the same fields, or the row's later INSERT or DELETE. If it
    ``is_of_another_table``, its table was renamed, and another one has the name now.
    """

    table_name: str
    record_id: str | None
    before_data: RawJson | None
    after_data: RawJson | None
    changed_fields: list[str] | None
    redacted_fields: list[str] | None
    moved_from: str | None
    moved_to: str | None
    is_in_order: bool
    is_of_another_table: bool
    later_entry: str | None
    later_operation: Operation | None
    later_fields: list[str] | None


@dataclass(frozen=True, slots=True)
class Referring:
    """A foreign key: ``columns`` of ``table`` refer to the columns ``of`` another one.

    If it ``deletes``, the deletion of a row deletes or changes the rows that refer to it.
    """

    table: TableName
    columns: list[str]
    of: list[str]
    deletes: bool


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A table as it is now.

    ``fixed`` columns are GENERATED ALWAYS AS IDENTITY, which no UPDATE may set. ``referring`` are the foreign keys to
    it.
    """

    schema: str
    table: str
    columns: list[str]
    virtual: list[str]
    generated: list[str]
    fixed: list[str]
    json_columns: list[str]
    key: list[str]
    referring: Sequence[Referring]

    @property
    def name(self) -> TableName:
        """The table's name."""
        return TableName(self.schema, self.table)


def net_changes(
    *, transaction: int | None = None, entry: int | None = None, leave: Sequence[str] = ()
) -> Query[NetChange]:
    """The changes of a transaction or of one entry, by record, without the changes of the fields in ``leave``."""
    return Query(_NET_CHANGES, (transaction, entry, list(leave)), NetChange)


def facts_of(tables: Sequence[TableName]) -> Query[TableFacts]:
    """The facts of these tables, as far as they exist."""
    return Query(_FACTS, ([name.schema for name in tables], [name.table for name in tables]), _facts)


def _facts(*, referring: RawJson, **members: Any) -> TableFacts:
    keys = [
        Referring(TableName(key["schema"], key["table"]), key["columns"], key["of"], key["deletes"])
        for key in referring.value
    ]
    return TableFacts(**members, referring=keys)
