"""The filters of endpoints, whose conditions are the methods of the same names in EndpointQuery."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from svc_pg.database.filters import Selects
from svc_pg.webhooks.endpoints.endpoint_fields import Status


class EndpointFilter(TypedDict, total=False):
    """Conditions on endpoints; an endpoint must meet all that are not None.

    An endpoint ``needs_attention`` if it fails, or if its client certificate ends within 30 days. ``text`` is a part of
    the description or the URL.
    """

    status: Annotated[Status | None, Selects(words="endpoints in this state", word="State")]
    tenant: Annotated[str | None, Selects(words="endpoints of this tenant", example="acme")]
    event: Annotated[str | None, Selects(words="endpoints that get this event", example="order.created")]
    text: Annotated[
        str | None,
        Selects(
            words="endpoints with these letters in their description or URL, but for the URL's query", example="shop"
        ),
    ]
    needs_attention: Annotated[
        bool, Selects(words="endpoints that fail, or whose client certificate ends within 30 days")
    ]
    ids: Annotated[Sequence[str] | None, Selects(words="these endpoints", is_id=True)]
