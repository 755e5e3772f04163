"""The endpoints, messages, sessions and tokens of tenants, also of tenants that no table has."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, LiteralString

from psycopg import AsyncConnection
from psycopg.sql import SQL

from svc_pg.console.sign_in.tenant_table import Tenants
from svc_pg.database.effects import Effects
from svc_pg.database.performing import ByIndexes, arun
from svc_pg.database.query import Query, afetch
from svc_pg.database.statements import statement
from svc_pg.formats.doc import Doc
from svc_pg.status.webhooks_installed import with_webhooks

MOST_ASKED: Final = 100
MOST_COUNTED: Final = 1_000
"""The messages that are counted of each tenant."""
MOST_COUNTED_TOGETHER: Final = 5_000
"""Those of all tenants for which is asked."""
MOST_UNLISTED: Final = 50
_MOST_MESSAGES: Final = 10_000

_USE: Final = statement("queries/console/tenant_use.sql")
_UNLISTED: Final = statement("queries/console/unlisted_tenants.sql")


@dataclass(frozen=True, slots=True)
class TenantUse:
    """The use of the service by one tenant."""

    id: Annotated[str, Doc("The id of the tenant.", "acme")]
    endpoints: Annotated[int, Doc("The number of its endpoints.", 3)]
    messages: Annotated[
        int, Doc("The number of its messages that are kept, up to 1,000; of several tenants up to 5,000 in all.", 120)
    ]
    sessions: Annotated[int, Doc("The number of its live sessions.", 1)]
    tokens: Annotated[int, Doc("The number of its live tokens.", 0)]


@dataclass(frozen=True, slots=True)
class TenantUses:
    """The use of each of these tenants."""

    data: Annotated[Sequence[TenantUse], Doc("The tenants.")]


@dataclass(frozen=True, slots=True)
class UnlistedTenants(TenantUses):
    """Tenants that are not in the table, by id."""

    is_complete: Annotated[bool, Doc("False if there are more.")]


async def use_of(conn: AsyncConnection[Any], ids: Sequence[str], *, has_webhooks: bool) -> TenantUses:
    """Count the use of these tenants, up to 100."""
    text = with_webhooks(_USE, has_webhooks=has_webhooks)
    return TenantUses(await arun(conn, _use(text, ids)))


def most_counted(asked: int) -> int:
    """The messages that are counted of each of so many tenants."""
    return min(MOST_COUNTED, MOST_COUNTED_TOGETHER // max(asked, 1))


def _use(text: LiteralString, ids: Sequence[str]) -> Effects[Sequence[TenantUse]]:
    wanted = {"ids": list(ids), "most": most_counted(len(ids))}
    found: Sequence[TenantUse] = yield ByIndexes(Query(text, wanted, TenantUse))
    return found


async def unlisted(conn: AsyncConnection[Any], tenants: Tenants, *, has_webhooks: bool) -> UnlistedTenants:
    """The first 50 tenants of endpoints, sessions, tokens, links and the newest 10,000 messages that have no row."""
    text: LiteralString = SQL(with_webhooks(_UNLISTED, has_webhooks=has_webhooks)).format(**tenants.names).as_string()
    found = await afetch(conn, Query(text, (_MOST_MESSAGES, MOST_UNLISTED + 1), _Id))
    counted = await use_of(conn, [each.id for each in found[:MOST_UNLISTED]], has_webhooks=has_webhooks)
    return UnlistedTenants(counted.data, is_complete=len(found) <= MOST_UNLISTED)


@dataclass(frozen=True, slots=True)
class _Id:
    id: str
