"""The inventory of tables, columns, indexes and constraints that migrations made: status tells which are missing."""

from dataclasses import dataclass
from typing import Any, Final, LiteralString

from psycopg import Connection

from svc_pg.query import Query, fetch
from svc_pg.schema.postgres.installation import Installation
from svc_pg.schema.status import InventoryKind

# Known by their names: another version of PostgreSQL may print a definition in other words. Additions by others are
# theirs. sql restores an object; tables and columns need a backup.
_PRESENT: Final[LiteralString] = """
with own as (
    select c.oid, c.relname from pg_class c
     where c.relnamespace = to_regnamespace('svc') and c.relkind in ('r', 'p') and not c.relispartition
),
present (kind, identity, of_table, sql) as (
    select 'table', 'svc.' || o.relname, o.relname, null from own o
    union all
    select 'column', format('%s of svc.%s', a.attname, o.relname), o.relname, null
      from own o join pg_attribute a on a.attrelid = o.oid and a.attnum > 0 and not a.attisdropped
    union all
    select 'index', i.indexrelid::regclass::text, o.relname, pg_get_indexdef(i.indexrelid) || ';'
      from own o join pg_index i on i.indrelid = o.oid
     where not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.conrelid = o.oid)
    union all
    select 'constraint', format('%s on svc.%s', k.conname, o.relname), o.relname,
           format('alter table svc.%I add constraint %I %s;', o.relname, k.conname, pg_get_constraintdef(k.oid))
      from own o join pg_constraint k on k.conrelid = o.oid and k.contype in ('p', 'u', 'c', 'f')
)
"""
_MISSING: Final = f"""{_PRESENT}
select r.kind, r.identity, r.sql
  from svc.installed_inventory r
 where not exists (select from present p where p.kind = r.kind and p.identity = r.identity)
   and (r.kind = 'table' or exists (select from own o where o.relname = r.of_table))
 order by r.kind = 'constraint', r.sql !~ ' PRIMARY KEY ', r.identity
"""  # noqa: S608 - constants
RECORD: Final = f"""
delete from svc.installed_inventory;
insert into svc.installed_inventory (kind, identity, of_table, sql) {_PRESENT}
select kind, identity, of_table, sql from present;
"""  # noqa: S608 - constants


@dataclass(frozen=True, slots=True)
class MissingObject:
    """A missing object; ``sql`` restores it, and is None if nothing but a backup can."""

    kind: InventoryKind
    identity: str
    sql: str | None


def missing(conn: Connection[Any], installation: Installation) -> list[MissingObject]:
    """The missing objects; of a missing table, only the table."""
    if not installation.has("installed_inventory"):
        return []
    return fetch(conn, Query(_MISSING, (), MissingObject))


def record(conn: Connection[Any]) -> None:
    """Record the objects that exist, after migrations."""
    conn.execute(RECORD)
