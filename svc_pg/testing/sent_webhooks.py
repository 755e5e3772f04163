"""Read the sent webhooks that a connection sees, committed or not, without a worker and without HTTP."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from svc_pg.database.conninfo import Conninfo
from svc_pg.database.query import Query, RawJson, afetch, fetch, scalar

_MOST: Final = 10_000
# In a transaction the ids are in no order within a millisecond; its commands are
_SENT: Final = """
select m.id::text, m.event_name as event, m.payload, m.tenant, m.key, m.idempotency_key,
       coalesce((select pg_catalog.json_agg(e.url order by e.id)
                   from svc.webhook_deliveries d join svc.webhook_endpoints e on e.id = d.endpoint_id
                  where d.message_id = m.id), '[]') as endpoints
  from svc.webhook_messages m
 where (%(event)s::text is null or m.event_name = %(event)s)
   and (%(since)s::text is null or not txid_visible_in_snapshot(m.xact_id, %(since)s::text::txid_snapshot))
 order by m.created_at, m.xact_id, m.cmin::text::bigint, m.ctid
 limit %(most)s
"""


@dataclass(frozen=True, slots=True)
class SentWebhook:
    """A webhook as ``send`` or a rule for changes stored it.

    ``payload`` is parsed; numbers with a fraction are Decimal. ``endpoints`` are the URLs of its receivers.
    """

    event: str
    payload: Any
    endpoints: Sequence[str] = ()
    tenant: str | None = None
    key: str | None = None
    idempotency_key: str | None = None
    id: str = ""


def sent(where: Any, event: str | None = None, *, since: str | None = None) -> list[SentWebhook]:
    """The webhooks that were sent, or those of one event, in the order of sending; 10,000 at most.

    ``where`` is the address of a database, or a connection of psycopg, SQLAlchemy or Django, which sees also what its
    own transaction has sent. ``since`` is what ``mark`` has returned. Raises NotInstalledError.
    """
    if isinstance(where, str):
        with psycopg.connect(Conninfo.parse(where).bounded) as conn:
            return fetch(conn, _query(event, since))
    return fetch(where, _query(event, since))


async def asent(conn: Any, event: str | None = None, *, since: str | None = None) -> list[SentWebhook]:
    """As ``sent``, for an async connection of psycopg or SQLAlchemy."""
    return await afetch(conn, _query(event, since))


def mark(address: str) -> str:
    """A point in the order of commits: ``sent(address, since=...)`` leaves out webhooks committed before it."""
    with psycopg.connect(Conninfo.parse(address).bounded) as conn:
        found: str = scalar(conn, "select txid_current_snapshot()::text")
    return found


def _query(event: str | None, since: str | None) -> Query[SentWebhook]:
    return Query(_SENT, {"event": event, "since": since, "most": _MOST}, _webhook)


def _webhook(*, payload: RawJson, endpoints: RawJson, **columns: Any) -> SentWebhook:
    return SentWebhook(payload=payload.value, endpoints=tuple(endpoints.value), **columns)
