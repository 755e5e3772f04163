"""Queries that read and change endpoints: one statement each, which returns the endpoint after the change.

Running one raises NotFoundError if there is no endpoint with the id, and EndpointError if an event is not defined.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final, LiteralString, Self, Unpack
from uuid import UUID

from svc_pg.database.filters import applied
from svc_pg.database.pagination import Keyset, Listing, decode
from svc_pg.database.query import Query
from svc_pg.database.statements import statement
from svc_pg.database.stretches import filled
from svc_pg.errors import EndpointError, QueryError
from svc_pg.webhooks.endpoints.endpoint_fields import (
    Changes,
    Options,
    check_tenant,
    check_text,
    columns,
    in_json,
)
from svc_pg.webhooks.endpoints.endpoint_filters import EndpointFilter
from svc_pg.webhooks.endpoints.endpoint_health import NEEDS_ATTENTION
from svc_pg.webhooks.endpoints.endpoint_rows import COLUMNS, STATUSES, Endpoint, EndpointWithSecret
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.ids import endpoint_key, filter_key, new_id, no_endpoint
from svc_pg.webhooks.secrets import SECRET_COLUMN, SIGNING_KEY_COLUMN, KeyRing
from svc_pg.webhooks.signing.signing_keys import new_secret, new_signing_key, public_key

OVERLAP: Final = timedelta(hours=24)

_DEFAULTS: Final[Options] = {
    "description": "",
    "max_in_flight": 8,
    "timeout": timedelta(seconds=15),
    "ordering": "none",
    "signatures": ["v1"],
}
_SELECT: Final = "select " + COLUMNS + " from svc.webhook_endpoints e"  # noqa: S608 - constants
# the columns that svc.webhook_changed_endpoint may change
_CHANGING: Final[LiteralString] = """
url, url_by, description, events, filter, ordering, signatures, signing_key, previous_signing_key, public_key, headers,
tls, client_certificate_expires_at, max_in_flight, rate_per_second, timeout
"""
# an endpoint has its row of health from the start, so workers only update it
_INSERT: Final[LiteralString] = (
    "with endpoint as (insert into svc.webhook_endpoints (id, tenant, secret, "  # noqa: S608 - constants
    + _CHANGING
    + ") select id, tenant, secret, "
    + _CHANGING
    + "from svc.webhook_changed_endpoint(null, %s) returning *),"
    " state as (insert into svc.webhook_endpoint_state (endpoint_id) select id from endpoint) select "
    + COLUMNS
    + " from endpoint"
)
_UPDATE: Final[LiteralString] = (
    "update svc.webhook_endpoints e set version = version + 1, updated_at = now(), ("  # noqa: S608 - constants
    + _CHANGING
    + ") = (select "
    + _CHANGING
    + "from svc.webhook_changed_endpoint(e, %s)) where id = %s returning "
    + COLUMNS
)
_ROTATE: Final = statement("queries/webhooks/rotate_secret.sql").replace("{columns}", COLUMNS)
_SET_STATUS: Final = "select " + COLUMNS + " from svc.webhook_set_status(%s, %s, %s)"  # noqa: S608 - constants
_DELETE: Final = "select " + COLUMNS + " from svc.webhook_delete_endpoint(%s)"  # noqa: S608 - constants

_ILL: Final = filled(NEEDS_ATTENTION, endpoint="e", id="e.id")
_CALLED: Final[LiteralString] = "strpos(lower(e.description || ' ' || split_part(e.url, '?', 1)), lower(%s)) > 0"


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

    def text(self, words: str) -> Self:
        """Endpoints with this text in their description or URL, except in the URL's query, which may hold a token."""
        return self._where(_CALLED, words)

    def needs_attention(self, wanted: bool) -> Self:  # noqa: FBT001 - the value of a filter
        """Endpoints that need attention, or, if that is not wanted, all."""
        return self._where(_ILL) if wanted else self

    def ids(self, ids: Sequence[str]) -> Self:
        """These endpoints."""
        return self._where("id = any(%s)", [filter_key(each) for each in ids])

    def event(self, name: str) -> Self:
        """Endpoints that receive this event."""
        return self._where("events operator(pg_catalog.&&) svc.webhook_patterns(%s)", name)


_NEWEST: Final = Keyset(
    select=_SELECT,
    row=Endpoint,
    order=" order by e.id desc",
    beyond="id < %s",
    reverse_order=" order by e.id",
    before="id > %s",
    key=lambda endpoint: (endpoint.id,),
    read=lambda cursor: decode(cursor, UUID),
)


def query() -> EndpointQuery:
    """A query of endpoints, with no conditions yet."""
    return EndpointQuery(_NEWEST)


def matching(**wanted: Unpack[EndpointFilter]) -> EndpointQuery:
    """A query of endpoints with a condition for each filter that is not None. Raises QueryError."""
    return applied(query(), EndpointFilter, wanted)


def get(endpoint_id: str) -> Query[Endpoint]:
    """One endpoint."""
    key = endpoint_key(endpoint_id)
    return Query(_SELECT + " where id = %s", (key,), Endpoint, absent=no_endpoint(key))


def locked(endpoint_id: str) -> Query[Endpoint]:
    """One endpoint, locked against other changes until the end of the transaction."""
    key = endpoint_key(endpoint_id)
    return Query(_SELECT + " where id = %s for no key update", (key,), Endpoint, absent=no_endpoint(key))


def create(
    *,
    url: str,
    events: Sequence[str],
    keys: KeyRing,
    guard: Guard,
    tenant: str | None = None,
    **options: Unpack[Options],
) -> Query[EndpointWithSecret]:
    """Register an endpoint.

    An endpoint with a ``tenant`` receives only that tenant's messages, one without receives all. Raises EndpointError
    if ``guard`` does not let workers call a URL that ``url_by`` gave.
    """
    if tenant is not None:
        check_tenant(tenant)
    endpoint_id, secret = new_id(), new_secret()
    fields: Changes = {**_DEFAULTS, **options, "url": url, "events": events}
    values = columns(fields, endpoint_id=endpoint_id, keys=keys, guard=guard) | {
        "id": str(endpoint_id),
        "tenant": tenant,
        "secret": in_json(keys.seal(secret, owner=str(endpoint_id), column=SECRET_COLUMN)),
    }
    return Query(_INSERT, (json.dumps(values),), partial(EndpointWithSecret, secret=secret))


def update(
    endpoint_id: str, *, keys: KeyRing | None = None, guard: Guard, **changes: Unpack[Changes]
) -> Query[Endpoint]:
    """Change the given fields; ``headers``, ``tls`` and v1a need ``keys``. Raises as ``create``.

    If none is given, nothing changes, not even the version.

    A URL of another origin loses the headers and the TLS material unless they are given again: they may be credentials
    for the old one.
    """
    key = endpoint_key(endpoint_id)
    if not changes:
        return get(endpoint_id)
    values = columns(changes, endpoint_id=key, keys=keys, guard=guard)
    return Query(_UPDATE, (json.dumps(values), key), Endpoint, absent=no_endpoint(key))


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
    """Give an endpoint a new secret, and a new key pair if it has one.

    During ``overlap`` the previous ones sign too, so receivers can change over.
    """
    if not timedelta(0) <= overlap <= timedelta(days=30):
        raise EndpointError("the overlap of secrets is 0 to 30 days", field="overlap")
    key, secret, signing_key = endpoint_key(endpoint_id), new_secret(), new_signing_key()
    sealed_secret = keys.seal(secret, owner=str(key), column=SECRET_COLUMN)
    sealed_key = keys.seal(signing_key, owner=str(key), column=SIGNING_KEY_COLUMN)
    parameters = (overlap, sealed_secret, sealed_key, public_key(signing_key), key)
    return Query(_ROTATE, parameters, partial(EndpointWithSecret, secret=secret), absent=no_endpoint(key))
