"""Check the fields of an endpoint, and seal the secret ones."""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from svc_pg.errors import EndpointError
from svc_pg.storable_texts import is_storable
from svc_pg.webhooks.http.guard import check_custom_headers
from svc_pg.webhooks.secrets import KeyRing

# A sealed value is bound to one of these and its endpoint's id. The previous secret stays bound to SECRET_COLUMN.
SECRET_COLUMN: Final = "webhook_endpoints.secret"  # noqa: S105 - the name of a column
HEADERS_COLUMN: Final = "webhook_endpoints.headers"

_MAX_HEADERS: Final = 32
_MAX_CHARACTERS: Final = 1000


def sealed_secret(secret: str, keys: KeyRing, endpoint_id: UUID) -> bytes:
    """The secret as its column holds it."""
    return keys.seal(secret, owner=str(endpoint_id), column=SECRET_COLUMN)


def sealed_headers(headers: Mapping[str, str], keys: KeyRing, endpoint_id: UUID) -> bytes | None:
    """The headers as their column holds them: None if there are none. Raises EndpointError if they may not be sent."""
    if not headers:
        return None
    if len(headers) > _MAX_HEADERS:
        raise EndpointError(f"there are {len(headers)} headers", hint=f"At most {_MAX_HEADERS} are accepted.")
    check_custom_headers(headers)
    return keys.seal(json.dumps(dict(headers)), owner=str(endpoint_id), column=HEADERS_COLUMN)


def check_limits(
    *, description: str | None = None, max_in_flight: int | None = None, timeout: timedelta | None = None
) -> None:
    """Raise EndpointError if a given value is out of bounds."""
    if description is not None:
        check_text("the description", description)
    if max_in_flight is not None and not 1 <= max_in_flight <= 1000:
        raise EndpointError("max_in_flight is 1 to 1000")
    if timeout is not None and not timedelta(seconds=1) <= timeout <= timedelta(seconds=60):
        raise EndpointError("the timeout of an attempt is 1 to 60 s")


def check_tenant(tenant: str) -> None:
    """Raise EndpointError if no tenant can have this name."""
    check_text("the tenant", tenant)
    if not tenant:
        raise EndpointError("the tenant is empty", hint="Leave it out to receive the messages of all tenants.")


def check_text(what: str, text: str) -> None:
    """Raise EndpointError if a text is too long, or PostgreSQL cannot store it."""
    if len(text) > _MAX_CHARACTERS:
        raise EndpointError(f"{what} has {len(text)} characters", hint=f"At most {_MAX_CHARACTERS} are accepted.")
    if not is_storable(text):
        raise EndpointError(
            f"{what} contains NUL or a lone surrogate", hint="PostgreSQL cannot store it; leave it out."
        )


def event_list(events: Sequence[str]) -> list[str]:
    """The events as the database takes them; it refuses undefined ones itself. Raises EndpointError."""
    for event in events:
        check_text("an event", event)
    return list(events)
