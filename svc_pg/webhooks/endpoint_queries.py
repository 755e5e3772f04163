"""Queries that read and change endpoints: one statement each, which returns the endpoint after the change.

Running one raises NotFoundError if there is no such endpoint, and EndpointError if an event is not defined.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Literal, Self, get_args
from uuid import UUID

from svc_pg.errors import EndpointError, QueryError
from svc_pg.pagination import Keyset, Listing, decode
from svc_pg.query import Query
from svc_pg.webhooks.endpoint_fields import (
    check_limits,
    check_tenant,
    check_text,
    event_list,
    sealed_headers,
    sealed_secret,
)
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.ids import endpoint_key, new_id, no_endpoint
from svc_pg.webhooks.secrets import KeyRing
from svc_pg.webhooks.signing import new_secret

Status = Literal["active", "paused", "disabled"]

STATUSES: Final[tuple[Status, ...]] = get_args(Status)
OVERLAP: Final = timedelta(hours=24)

_COLUMNS: Final = """
id::text, url, description, tenant, events, status, disabled_reason, max_in_flight, timeout,
case when previous_secret_expires_at > now() then previous_secret_expires_at end as previous_secret_expires_at,
headers is not null as has_headers, created_at, updated_at
"""
_SELECT: Final = "select " + _COLUMNS + " from svc.webhook_endpoints e"  # noqa: S608 - constants
# an endpoint has its row of health from the start, so workers only update it
_INSERT: Final = """
with endpoint as (
    insert into svc.webhook_endpoints
        (id, url, description, tenant, events, secret, headers, max_in_flight, timeout)
    values (%s, %s, %s, %s, svc.webhook_known_events(%s), %s, %s, %s, %s) returning *
),
state as (insert into svc.webhook_endpoint_state (endpoint_id) select id from endpoint)
select
"""
_UPDATE: Final = """
update svc.webhook_endpoints
   set url = coalesce(%s, url), description = coalesce(%s, description),
       events = coalesce(svc.webhook_known_events(%s), events),
       headers = case when %s then %s
                      when substring(%s from '^[a-z]+://[^/?#]+') <> substring(url from '^[a-z]+://[^/?#]+') then null
                      else headers end,
       max_in_flight = coalesce(%s, max_in_flight), timeout = coalesce(%s, timeout),
       version = version + 1, updated_at = now()
 where id = %s
returning
"""
_ROTATE: Final = """
update svc.webhook_endpoints
   set previous_secret = secret, previous_secret_expires_at = now() + %s, secret = %s,
       version = version + 1, updated_at = now()
 where id = %s
returning
"""
_SET_STATUS: Final = "select " + _COLUMNS + " from svc.webhook_set_status(%s, %s, %s)"  # noqa: S608 - constants
_DELETE: Final = "select " + _COLUMNS + " from svc.webhook_delete_endpoint(%s)"  # noqa: S608 - constants


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A receiver of webhooks. ``events`` holds names, ``order.*`` and ``*``; ``timeout`` is that of one attempt.

    Secrets and custom headers are never read back: ``has_headers`` says that there are some, and
    ``previous_secret_expires_at`` until when the secret before a rotation signs too.
    """

    id: str
    url: str
    description: str
    tenant: str | None
    events: list[str]
    status: Status
    disabled_reason: str | None
    max_in_flight: int
    timeout: timedelta
    previous_secret_expires_at: datetime | None
    has_headers: bool
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class EndpointWithSecret(Endpoint):
    """An endpoint and its new secret, which can be read only now. Its repr does not show it."""

    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class EndpointQuery(Listing[Endpoint]):
    """A query of endpoints. Every method returns a new one; ``list`` or ``alist`` runs it."""

    def status(self, status: str) -> Self:
        """Endpoints in one state: active, paused or disabled."""
        if status not in STATUSES:
            raise QueryError(f"{status!r} is not a status", hint=f"Write one of {', '.join(STATUSES)}.")
        return self._where("status = %s", status)

    def tenant(self, tenant: str) -> Self:
        """Endpoints of one tenant."""
        return self._where("tenant = %s", tenant)

    def event(self, name: str) -> Self:
        """Endpoints that receive this event."""
        return self._where("events && svc.webhook_patterns(%s)", name)


_NEWEST: Final = Keyset(
    select=_SELECT,
    row=Endpoint,
    order=" order by e.id desc",
    beyond="id < %s",
    key=lambda endpoint: (endpoint.id,),
    read=lambda cursor: decode(cursor, UUID),
)


def query() -> EndpointQuery:
    """A query of endpoints, with no conditions yet."""
    return EndpointQuery(_NEWEST)


def matching(*, status: str | None = None, tenant: str | None = None, event: str | None = None) -> EndpointQuery:
    """A query of endpoints with a condition for each argument that is not None."""
    wanted = query()
    wanted = wanted if status is None else wanted.status(status)
    wanted = wanted if tenant is None else wanted.tenant(tenant)
    return wanted if event is None else wanted.event(event)


def get(endpoint_id: str) -> Query[Endpoint]:
    """One endpoint."""
    key = endpoint_key(endpoint_id)
    return Query(_SELECT + " where id = %s", (key,), Endpoint, absent=no_endpoint(key))


def create(
    *,
    url: str,
    events: Sequence[str],
    keys: KeyRing,
    guard: Guard,
    description: str = "",
    tenant: str | None = None,
    headers: Mapping[str, str] | None = None,
    max_in_flight: int = 8,
    timeout: timedelta = timedelta(seconds=15),
) -> Query[EndpointWithSecret]:
    """Register an endpoint.

    An endpoint with a ``tenant`` receives only that tenant's messages, one without receives all. ``headers`` are sent
    with every attempt, at most ``max_in_flight`` attempts are under way at a time, and each may take ``timeout`` (1 to
    60 s). Raises EndpointError if ``guard`` does not let workers call the URL.
    """
    check_limits(description=description, max_in_flight=max_in_flight, timeout=timeout)
    if tenant is not None:
        check_tenant(tenant)
    endpoint_id = new_id()
    secret = new_secret()
    sealed = sealed_secret(secret, keys, endpoint_id), sealed_headers(headers or {}, keys, endpoint_id)
    params = (endpoint_id, guard.check_url(url), description, tenant, event_list(events), *sealed)
    row = partial(EndpointWithSecret, secret=secret)
    return Query(_INSERT + _COLUMNS + " from endpoint", (*params, max_in_flight, timeout), row)


def update(
    endpoint_id: str,
    *,
    keys: KeyRing | None = None,
    guard: Guard,
    url: str | None = None,
    events: Sequence[str] | None = None,
    description: str | None = None,
    headers: Mapping[str, str] | None = None,
    max_in_flight: int | None = None,
    timeout: timedelta | None = None,
) -> Query[Endpoint]:
    """Change the fields that are not None; ``headers`` replace all headers, and need ``keys``. Raises as ``create``.

    If everything is None, nothing changes, not even the version.

    A URL of another origin loses the headers unless they are given again: they may be credentials for the old one.
    """
    if all(each is None for each in (url, events, description, headers, max_in_flight, timeout)):
        return get(endpoint_id)
    check_limits(description=description, max_in_flight=max_in_flight, timeout=timeout)
    key = endpoint_key(endpoint_id)
    if headers and keys is None:
        raise EndpointError(
            "custom headers cannot be stored without keys that seal them", hint="Pass settings, which hold them."
        )
    address = None if url is None else guard.check_url(url)
    params = (
        address,
        description,
        None if events is None else event_list(events),
        headers is not None,
        sealed_headers(headers, keys, key) if headers and keys else None,
        address,
        max_in_flight,
        timeout,
        key,
    )
    return Query(_UPDATE + _COLUMNS, params, Endpoint, absent=no_endpoint(key))


def pause(endpoint_id: str) -> Query[Endpoint]:
    """Send nothing for now; pending and new deliveries wait."""
    return Query(_SET_STATUS, (endpoint_key(endpoint_id), "paused", None), Endpoint)


def resume(endpoint_id: str) -> Query[Endpoint]:
    """Make a paused or disabled endpoint active and forget its failures. ``recover`` restores canceled deliveries."""
    return Query(_SET_STATUS, (endpoint_key(endpoint_id), "active", None), Endpoint)


def disable(endpoint_id: str, *, reason: str = "disabled by hand") -> Query[Endpoint]:
    """Stop sending: cancel pending deliveries, and take no more messages until ``resume``."""
    check_text("the reason", reason)
    return Query(_SET_STATUS, (endpoint_key(endpoint_id), "disabled", reason), Endpoint)


def delete(endpoint_id: str) -> Query[Endpoint]:
    """Delete an endpoint and cancel its pending deliveries; its deliveries stay on record."""
    return Query(_DELETE, (endpoint_key(endpoint_id),), Endpoint)


def rotate_secret(endpoint_id: str, *, keys: KeyRing, overlap: timedelta = OVERLAP) -> Query[EndpointWithSecret]:
    """Give it a new secret. During ``overlap`` the previous one signs too, so receivers can change over."""
    if not timedelta(0) <= overlap <= timedelta(days=30):
        raise EndpointError("the overlap of secrets is 0 to 30 days")
    key, secret = endpoint_key(endpoint_id), new_secret()
    sealed = sealed_secret(secret, keys, key)
    row = partial(EndpointWithSecret, secret=secret)
    return Query(_ROTATE + _COLUMNS, (overlap, sealed, key), row, absent=no_endpoint(key))
