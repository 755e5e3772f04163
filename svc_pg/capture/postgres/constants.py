"""Refuse constants in conditions that would run code of others while PostgreSQL parses them.

The text of an array, range or row becomes a value when it is parsed, and the domains inside check it: by functions of
whoever made them, with the rights of the installer.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection

from svc_pg.errors import ConfigError
from svc_pg.query import Query, fetch
from svc_pg.table_names import TableName

# A text that may begin as that of an array, range or row; a backslash or UESCAPE may hide how it begins
_CONTAINER: Final = re.compile(r"""['$]\s*[{\[(]|\\|uescape""", re.IGNORECASE)
_DOMAINS: Final = """
with recursive part (type) as (  -- all types inside the rows of the table
    select c.reltype
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = %s and c.relname = %s
    union
    select inside.type
      from part p join pg_type t on t.oid = p.type
     cross join lateral (
        values (t.typbasetype), (t.typelem)
        union all
        select a.atttypid from pg_attribute a where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped
        union all
        select r.rngsubtype
          from pg_range r
         where r.rngtypid = t.oid or t.typtype = 'm' and (to_jsonb(r) ->> 'rngmultitypid')::oid = t.oid
     ) inside (type)
)
select t.oid::regtype::text as name, o.rolname::text as owner
  from part p join pg_type t on t.oid = p.type and t.typtype = 'd'
  join pg_roles o on o.oid = t.typowner and not o.rolsuper and o.rolname <> current_user
 order by 1
 limit 1
"""


@dataclass(frozen=True, slots=True)
class _Domain:
    name: str
    owner: str


def check_constants(conn: Connection[Any], table: TableName, condition: str) -> None:
    """Raise ConfigError if a constant of the condition may be checked by a domain of somebody else."""
    if not _CONTAINER.search(condition):
        return
    for domain in fetch(conn, Query(_DOMAINS, tuple(table), _Domain)):
        raise ConfigError(
            f'table "{table}": a condition has the text of an array, range or row, which domain {domain.name} of role'
            f' "{domain.owner}" might check with your rights',
            hint="Write array['a', 'b']::type[] or row('a', 'b')::type: PostgreSQL checks these when it runs them.",
        )
