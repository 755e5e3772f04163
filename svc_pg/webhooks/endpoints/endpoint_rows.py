"""Endpoints as queries return them."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Final, LiteralString, get_args

from svc_pg.formats.doc import Doc
from svc_pg.webhooks.endpoints.endpoint_fields import Ordering, Signature, Status
from svc_pg.webhooks.field_docs import CERTIFICATE_END, DISABLED_REASON, ENDPOINT_ID, ENDPOINT_TENANT, NOTE, URL
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
    """A receiver of webhooks. Secrets, keys, custom headers and TLS material are never read back."""

    id: Annotated[str, ENDPOINT_ID]
    url: Annotated[str, URL]
    url_by: Annotated[
        UrlBy, Doc("The giver of the URL: operator, or customer, whose URLs lead to public addresses alone.")
    ]
    description: Annotated[str, NOTE]
    tenant: Annotated[str | None, ENDPOINT_TENANT]
    events: Annotated[
        list[str], Doc("The events that it gets: names, patterns such as `order.*`, or `*`.", ["order.*"])
    ]
    filter: Annotated[
        str | None,
        Doc(
            "An SQL/JSON path predicate that the payload of a message must meet; null if all meet it.", "$.amount > 100"
        ),
    ]
    ordering: Annotated[
        Ordering,
        Doc(
            "The order of the messages of a key: none, key (one at a time) or strict (a failed one also blocks its"
            " key)."
        ),
    ]
    status: Annotated[Status, Doc("Its state: active, paused (deliveries wait) or disabled (deliveries are canceled).")]
    disabled_reason: Annotated[str | None, DISABLED_REASON]
    max_in_flight: Annotated[int, Doc("The most attempts under way at a time.", 8)]
    rate_per_second: Annotated[
        int | None, Doc("The most attempts that begin within a second; null if there is no limit.", 50)
    ]
    timeout: Annotated[timedelta, Doc("The limit of the duration of an attempt.", 15.0)]
    signatures: Annotated[
        list[Signature], Doc("The signatures of an attempt: v1 by a secret, v1a by a key pair.", ["v1"])
    ]
    public_key: Annotated[
        str | None,
        Doc("The public key that verifies v1a; null without v1a.", "whpk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
    ]
    previous_secret_expires_at: Annotated[
        datetime | None,
        Doc("The time until which the secret and the key pair before a rotation sign too; null if none does."),
    ]
    has_headers: Annotated[bool, Doc("True if it has custom headers, which are not read back.")]
    has_tls: Annotated[bool, Doc("True if it has TLS material, which is not read back.")]
    client_certificate_expires_at: Annotated[datetime | None, CERTIFICATE_END]
    version: Annotated[int, Doc("Rises with each change; the header ETag has it too.", 3)]
    created_at: Annotated[datetime, Doc("The time of its registration.")]
    updated_at: Annotated[datetime, Doc("The time at which somebody last changed it.")]


@dataclass(frozen=True, slots=True)
class EndpointWithSecret(Endpoint):
    """An endpoint and its new secret, which can be read only now."""

    secret: Annotated[
        str, Doc("The secret that signs, which can be read only now.", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    ] = field(repr=False)
