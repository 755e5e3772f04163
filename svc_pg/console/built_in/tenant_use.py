"""The endpoints, messages, sessions and tokens of tenants, also of tenants that no table has."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from psycopg import AsyncConnection
from psycopg.sql import SQL

from svc_pg.console.sign_in.tenant_table import Tenants
from svc_pg.database.query import Query, afetch

MOST_ASKED: Final = 100
MOST_COUNTED: Final = 1000  # in the statement too
MOST_UNLISTED: Final = 50
_MOST_MESSAGES: Final = 10_000

_USE: Final = """
with asked as materialized (
    select t.id, t.position from pg_catalog.unnest(%(ids)s::text[]) with ordinality t(id, position)
),
endpoint as (
    select e.tenant as id, count(*) as n from svc.webhook_endpoints e where e.tenant = any (%(ids)s) group by e.tenant
),
session as (
    select s.tenant as id, count(*) as n from svc.console_sessions s
     where s.tenant = any (%(ids)s) and s.revoked_at is null and s.expires_at > now() group by s.tenant
),
token as (
    select k.tenant as id, count(*) as n from svc.console_tokens k
     where k.tenant = any (%(ids)s) and k.revoked_at is null and k.expires_at > now() group by k.tenant
)
select a.id, coalesce(e.n, 0)::integer as endpoints, m.n::integer as messages, coalesce(s.n, 0)::integer as sessions,
       coalesce(k.n, 0)::integer as tokens
  from asked a
  left join endpoint e on e.id = a.id
  left join session s on s.id = a.id
  left join token k on k.id = a.id
 cross join lateral (
    select count(*) as n from (select from svc.webhook_messages m where m.tenant = a.id limit 1000) f
 ) m
 order by a.position
"""
_UNLISTED: Final = """
select used.id
  from (
    select e.tenant as id from svc.webhook_endpoints e
    union select k.tenant from svc.console_tokens k where k.revoked_at is null and k.expires_at > now()
    union select s.tenant from svc.console_sessions s where s.revoked_at is null and s.expires_at > now()
    union select l.tenant from svc.console_portal_links l
           where l.opened_at is null and l.revoked_at is null and l.expires_at > now()
    union select m.tenant from (select tenant from svc.webhook_messages order by id desc limit %s) m
  ) used
 where used.id is not null and not exists (select from {table} t where t.{id}::text = used.id)
 order by used.id limit %s
"""


@dataclass(frozen=True, slots=True)
class TenantUse:
    """The numbers of endpoints, of messages that are kept, up to 1,000, and of live sessions and tokens."""

    id: str
    endpoints: int
    messages: int
    sessions: int
    tokens: int


@dataclass(frozen=True, slots=True)
class TenantUses:
    """The use of each of these tenants."""

    data: Sequence[TenantUse]


@dataclass(frozen=True, slots=True)
class UnlistedTenants(TenantUses):
    """As TenantUses, of tenants that are not in the table, by id. There are more unless ``is_complete``."""

    is_complete: bool


async def use_of(conn: AsyncConnection[Any], ids: Sequence[str]) -> TenantUses:
    """Count the use of these tenants, up to 100."""
    return TenantUses(await afetch(conn, Query(_USE, {"ids": list(ids)}, TenantUse)))


async def unlisted(conn: AsyncConnection[Any], tenants: Tenants) -> UnlistedTenants:
    """The first 50 tenants of endpoints, sessions, tokens, links and the newest 10,000 messages that have no row."""
    text: LiteralString = SQL(_UNLISTED).format(**tenants.names).as_string()
    found = await afetch(conn, Query(text, (_MOST_MESSAGES, MOST_UNLISTED + 1), _Id))
    counted = await use_of(conn, [each.id for each in found[:MOST_UNLISTED]])
    return UnlistedTenants(counted.data, is_complete=len(found) <= MOST_UNLISTED)


@dataclass(frozen=True, slots=True)
class _Id:
    id: str
