"""Read the net changes of a transaction or an entry, and the facts of the changed tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from svc_pg.audit.log.entry import Operation
from svc_pg.database.query import Query, RawJson
from svc_pg.database.table_names import TableName

_NET_CHANGES: Final = """
select table_name, record_id, before_data, after_data, changed_fields, redacted_fields, moved_from, moved_to,
       is_in_order, is_of_another_table, later_entry::text as later_entry, later_operation, later_fields
  from svc.audit_net_changes(%s, %s)
"""
_FACTS: Final = """
select n.nspname as schema, c.relname as "table",
       array(select a.attname::text from pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated <> 'v'
              order by a.attnum) as columns,
       array(select a.attname::text from pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = 'v') as virtual,
       array(select a.attname::text from pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = 's') as generated,
       array(select a.attname::text from pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attidentity = 'a') as fixed,
       array(select a.attname::text from pg_attribute a join pg_type t on t.oid = a.atttypid
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                and (t.typname in ('json', 'jsonb') or t.typtype = 'd' and t.typcategory = 'U')) as json_columns,
       coalesce((
           select pg_catalog.array_agg(a.attname::text order by k.position)
             from (
               select i.indkey, i.indnkeyatts from pg_index i
                where i.indrelid = c.oid and i.indisunique and i.indpred is null and i.indexprs is null
                order by i.indisprimary desc, i.indnkeyatts, i.indexrelid limit 1
             ) i
            cross join lateral pg_catalog.unnest(i.indkey::smallint[]) with ordinality k(attnum, position)
             join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
            where k.position <= i.indnkeyatts
       ), '{}') as key,
       (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
                   'schema', cn.nspname, 'table', cc.relname, 'deletes', f.confdeltype <> all ('{a,r}'),
                   'columns', array(select a.attname
                                      from pg_catalog.unnest(f.conkey) with ordinality k(attnum, position)
                                      join pg_attribute a on a.attrelid = f.conrelid and a.attnum = k.attnum
                                     order by k.position),
                   'of', array(select a.attname from pg_catalog.unnest(f.confkey) with ordinality k(attnum, position)
                                 join pg_attribute a on a.attrelid = f.confrelid and a.attnum = k.attnum
                                order by k.position)) order by f.oid), '[]')
          from pg_constraint f join pg_class cc on cc.oid = f.conrelid join pg_namespace cn on cn.oid = cc.relnamespace
         where f.confrelid = c.oid and f.contype = 'f' and f.conparentid = 0::oid) as referring
  from rows from (pg_catalog.unnest(%s::text[]), pg_catalog.unnest(%s::text[])) wanted(schema, "table")
  join pg_namespace n on n.nspname = wanted.schema
  join pg_class c on c.relnamespace = n.oid and c.relname = wanted."table" and c.relkind in ('r', 'p')
"""


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


def net_changes(*, transaction: int | None = None, entry: int | None = None) -> Query[NetChange]:
    """The changes of a transaction or of one entry, by record."""
    return Query(_NET_CHANGES, (transaction, entry), NetChange)


def facts_of(tables: Sequence[TableName]) -> Query[TableFacts]:
    """The facts of these tables, as far as they exist."""
    return Query(_FACTS, ([name.schema for name in tables], [name.table for name in tables]), _facts)


def _facts(*, referring: RawJson, **members: Any) -> TableFacts:
    keys = [
        Referring(TableName(key["schema"], key["table"]), key["columns"], key["of"], key["deletes"])
        for key in referring.value
    ]
    return TableFacts(**members, referring=keys)
