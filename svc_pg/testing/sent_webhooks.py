"""Read the sent webhooks that a connection sees, committed or not, without a worker and without HTTP."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from svc_pg.database.conninfo import Conninfo
from svc_pg.database.query import Query, RawJson, afetch, fetch, scalar
from svc_pg.database.statements import statement

_MOST: Final = 10_000
_SENT: Final = statement("queries/testing/sent_webhooks.sql")


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
