"""Who may do what in schema ``svc``: nobody but its owner, unless granted here.

Default privileges of the installing role would open new tables to others, so every install resets what was granted.
"""

from typing import Any

from psycopg import Connection

from svc_pg.query import scalar

_REVOKE = """
with acl as (
    select 'schema svc' as object, nspacl as acl, nspowner as owner from pg_namespace where nspname = 'svc'
    union all
    select case relkind when 'S' then 'sequence ' else 'table ' end || c.oid::regclass, relacl, relowner
      from pg_class c where relnamespace = to_regnamespace('svc') and relkind in ('r', 'p', 'v', 'S')
    union all
    select 'function ' || p.oid::regprocedure, coalesce(proacl, acldefault('f', proowner)), proowner
      from pg_proc p where pronamespace = to_regnamespace('svc')
    union all
    select 'type ' || t.oid::regtype, coalesce(typacl, acldefault('T', typowner)), typowner
      from pg_type t where typnamespace = to_regnamespace('svc') and typtype = 'e'
)
select string_agg(distinct format(
           'revoke all on %s from %s', object, case grantee when 0 then 'public' else grantee::regrole::text end
       ), '; ')
  from acl cross join lateral aclexplode(acl) x(grantor, grantee, privilege, is_grantable)
 where grantee <> owner
"""


def reset(conn: Connection[Any]) -> None:
    """Take away what others than the owner were granted on any object in ``svc``."""
    if statements := scalar(conn, _REVOKE):
        conn.execute(statements.encode())
