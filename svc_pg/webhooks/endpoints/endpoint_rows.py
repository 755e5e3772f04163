"""Endpoints as queries return them."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, LiteralString, get_args

from svc_pg.webhooks.endpoints.endpoint_fields import Ordering, Signature, Status
from svc_pg.webhooks.http.guard import UrlBy

STATUSES: Final[tuple[Status, ...]] = get_args(Status)

COLUMNS: Final[LiteralString] = """
id::text, url, url_by, description, tenant, events, filter, ordering, status, disabled_reason, max_in_flight,
rate_per_second, timeout, signatures, public_key,
case when previous_secret_expires_at > now() then previous_secret_expires_at end as previous_secret_expires_at,
headers is not null as has_headers, tls is not null as has_tls, client_certificate_expires_at, version, created_at,
updated_at
"""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A receiver of webhooks. ``events`` holds names, ``order.*`` and ``*``; ``timeout`` is the limit of one attempt.

    ``url_by`` is the giver of the URL: "operator", or "customer", whose URLs lead to public addresses alone. Secrets,
    keys, custom headers and TLS material are never read back: ``has_headers`` and ``has_tls`` say that there are some.
    ``previous_secret_expires_at`` is the time until which the secret before a rotation signs too. ``public_key``
    verifies the signatures v1a, if it has them. ``version`` rises with each change.
    """

    id: str
    url: str
    url_by: UrlBy
    description: str
    tenant: str | None
    events: list[str]
    filter: str | None
    ordering: Ordering
    status: Status
    disabled_reason: str | None
    max_in_flight: int
    rate_per_second: int | None
    timeout: timedelta
    signatures: list[Signature]
    public_key: str | None
    previous_secret_expires_at: datetime | None
    has_headers: bool
    has_tls: bool
    client_certificate_expires_at: datetime | None
    version: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class EndpointWithSecret(Endpoint):
    """An endpoint and its new secret, which can be read only now. Its repr does not show it."""

    secret: str = field(repr=False)
