"""Register endpoints: who wants which events, and the secret that signs them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import Any, Final
from uuid import UUID

from psycopg import Connection

from svc_pg.errors import EndpointError
from svc_pg.query import Query, fetch, scalar
from svc_pg.webhooks.guard import Guard
from svc_pg.webhooks.secrets import KeyRing
from svc_pg.webhooks.signing import new_secret

# What a sealed value is bound to, beside its endpoint's id
SECRET_COLUMN: Final = "webhook_endpoints.secret"  # noqa: S105 - the name of a column
PREVIOUS_SECRET_COLUMN: Final = "webhook_endpoints.previous_secret"  # noqa: S105 - the name of a column
HEADERS_COLUMN: Final = "webhook_endpoints.headers"

_PATTERN = re.compile(r"\*|[a-z0-9_-]+(\.[a-z0-9_-]+)*(\.\*)?")
# health belongs to an endpoint from the start, so that workers only update it
_INSERT: Final = """
with endpoint as (
    insert into svc.webhook_endpoints (id, url, description, tenant, events, secret)
    values (%s, %s, %s, %s, %s, %s) returning *
),
state as (insert into svc.webhook_endpoint_state (endpoint_id) select id from endpoint)
select id::text, url, description, tenant, events, status, timeout, created_at, updated_at from endpoint
"""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A receiver of webhooks. ``events`` holds names, ``order.*`` and ``*``; ``timeout`` is that of one attempt."""

    id: str
    url: str
    description: str
    tenant: str | None
    events: list[str]
    status: str
    timeout: timedelta
    created_at: datetime
    updated_at: datetime


def create(
    conn: Connection[Any],
    *,
    url: str,
    events: Sequence[str],
    keys: KeyRing,
    guard: Guard,
    description: str = "",
    tenant: str | None = None,
) -> tuple[Endpoint, str]:
    """Register an endpoint; return it and its secret, which cannot be read again. Never commits.

    An endpoint with a ``tenant`` receives only that tenant's messages, one without receives all. Raises EndpointError
    where the URL is not one that ``guard`` lets workers call, or an event is not defined.
    """
    address = guard.check_url(url)
    _check_events(conn, events)
    endpoint_id: UUID = scalar(conn, "select svc.uuid7()")
    secret = new_secret()
    sealed = keys.seal(secret, owner=str(endpoint_id), column=SECRET_COLUMN)
    params = (endpoint_id, address, description, tenant, list(dict.fromkeys(events)), sealed)
    [endpoint] = fetch(conn, Query(_INSERT, params, Endpoint))
    return endpoint, secret


def _check_events(conn: Connection[Any], events: Sequence[str]) -> None:
    if not events:
        raise EndpointError("an endpoint needs at least one event", hint='Name events, or "*" for all.')
    known: list[str] = scalar(conn, "select coalesce(array_agg(name order by name), '{}') from svc.webhook_event_types")
    for event in events:
        if not _PATTERN.fullmatch(event):
            raise EndpointError(f"{event!r} is not an event", hint='Write a name, "order.*" or "*".')
        if "*" not in event and event not in known:
            near = get_close_matches(event, known, n=1)
            listed = f"Known: {', '.join(known)}." if known else "None is; define some in the configuration."
            raise EndpointError(
                f'event "{event}" is not defined', hint=f'Did you mean "{near[0]}"?' if near else listed
            )
