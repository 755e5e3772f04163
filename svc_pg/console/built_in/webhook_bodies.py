"""Request bodies of the webhook routes."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Final, Literal, TypeVar, cast
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field, create_model

from svc_pg.console.http.body import RequestBody, without_defaults
from svc_pg.console.http.parameters import NUMBER, point_in_time
from svc_pg.database.filters import Kind, ListFilter, filters_of
from svc_pg.webhooks.deliveries.delivery_filters import CreatedWithin, DeliveryFilter, ReplayFilter
from svc_pg.webhooks.deliveries.delivery_query import BULK
from svc_pg.webhooks.deliveries.replay_queries import ReplayBy
from svc_pg.webhooks.endpoints.endpoint_fields import Changes, Ordering, Signature
from svc_pg.webhooks.field_docs import EVENT_NAME, NOTE, URL
from svc_pg.webhooks.http.guard import UrlBy
from svc_pg.webhooks.http.tls import Tls

Body = TypeVar("Body", bound=RequestBody)

ENDPOINT_EXAMPLE: Final = {
    "url": "https://example.com/hooks",
    "events": ["order.created"],
    "filter": '$.amount > 100 && $.currency == "EUR"',
    "ratePerSecond": 50,
    "signatures": ["v1", "v1a"],
}


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("contains the character NUL, which PostgreSQL cannot store")
    return text


def _readable_time(text: str) -> str:
    point_in_time(text)
    return text


Text = Annotated[str, Field(max_length=1000), AfterValidator(_without_nul)]
PointInTime = Annotated[str, AfterValidator(_readable_time)]


_PEM: Final = "-----BEGIN CERTIFICATE-----\n..."


class TlsMaterial(RequestBody):
    """Authorities to trust, and the client certificate to show, in PEM."""

    ca_bundle: str | None = Field(
        default=None, description="The authorities to trust in place of the system's.", examples=[_PEM]
    )
    client_certificate: str | None = Field(
        default=None, description="With those between it and its authority.", examples=[_PEM]
    )
    client_key: str | None = Field(
        default=None,
        description="The private key of the certificate, not encrypted.",
        examples=["-----BEGIN PRIVATE KEY-----\n..."],
    )


class EndpointOptions(RequestBody):
    """The fields that an endpoint has at its registration, and that may change."""

    description: str = Field(default="", description=NOTE.words, examples=[NOTE.example])
    headers: dict[str, str] = Field(
        default={}, description="Sent with every attempt; up to 8 KiB, not read back.", examples=[{"X-Shop": "7"}]
    )
    filter: str | None = Field(
        default=None,
        description="An SQL/JSON path predicate; only messages whose payload meets it are sent.",
        examples=['$.amount > 100 && $.currency == "EUR"'],
    )
    ordering: Ordering = Field(default="none", description='"key" and "strict" send the messages of a key in order.')
    max_in_flight: int = Field(default=8, ge=1, le=1000, description="Attempts under way at a time.", examples=[8])
    rate_per_second: int | None = Field(
        default=None, ge=1, le=10000, description="Attempts that begin in a second.", examples=[50]
    )
    timeout: float = Field(default=15, ge=1, le=60, description="Seconds an attempt may take.", examples=[15])
    signatures: list[Signature] = Field(
        default=["v1"], min_length=1, description='"v1" by a secret, "v1a" by a key pair.'
    )
    tls: TlsMaterial | None = Field(default=None, description="For private receivers; it cannot be read back.")
    url_by: UrlBy = Field(
        default="operator", description='Who gave the URL: a "customer", whose URLs lead to public addresses alone.'
    )

    def options(self) -> Changes:
        """The fields that the body has."""
        given = self.model_dump(exclude_unset=True, exclude={"tenant"})
        if "timeout" in given:
            given["timeout"] = timedelta(seconds=self.timeout)
        if self.tls is not None:
            given["tls"] = Tls(**self.tls.model_dump())
        return cast(Changes, given)


class CreateEndpointRequest(EndpointOptions):
    """An endpoint to register."""

    url: str = Field(
        description="The address to POST to: https and public, unless the configuration allows others.",
        examples=[URL.example],
    )
    events: list[str] = Field(description='Names of events, "order.*" or "*".', examples=[["order.*"]])
    tenant: str | None = Field(default=None, description="Only messages of this tenant.", examples=["acme"])


class UpdateEndpointRequest(EndpointOptions):
    """Changes of an endpoint; fields that are left out stay. ``headers`` and ``tls`` replace the former ones.

    null removes the filter, the rate or the TLS material. Another origin of the URL loses headers and TLS material
    unless they are given too.
    """

    model_config = ConfigDict(json_schema_extra=without_defaults)

    url: str = Field(default_factory=str, description="The new address.", examples=[URL.example])
    events: list[str] = Field(default_factory=list, description="The new list.", examples=[["order.*"]])


class DisableEndpointRequest(RequestBody):
    """The reason for disabling an endpoint."""

    reason: str = Field(
        default="disabled by hand", description="For people: its disabledReason.", examples=["Moved to another host"]
    )


class RotateSecretRequest(RequestBody):
    """The seconds for which the previous secret and key pair sign too."""

    overlap: float = Field(
        default=86400, ge=0, le=30 * 86400, description="For so many seconds they sign too.", examples=[86400]
    )


class DryRun(RequestBody):
    """A change of many."""

    dry_run: bool = Field(default=False, description="Only count them.")


_TYPES: Final[Mapping[Kind, Any]] = {
    "text": Text,
    "texts": list[Text],
    "id": UUID,
    "ids": Annotated[list[UUID], Field(max_length=BULK)],
    "number": Annotated[str, Field(pattern=NUMBER)],
    "time": PointInTime,
    "flag": bool,
}


def body_of(name: str, declaration: type, base: type[Body], doc: str) -> type[Body]:
    """A body with a field for each filter that a TypedDict declares, which ``chosen`` reads."""
    fields: dict[str, Any] = {
        each.name: (
            (Literal[tuple(each.choices)] if each.kind == "choice" else _TYPES[each.kind]) | None,
            Field(
                default=None,
                alias=each.api,
                description=f"{each.words[0].upper()}{each.words[1:]}.",
                examples=_examples(each),
            ),
        )
        for each in filters_of(declaration).values()
    }
    return create_model(name, __base__=base, __doc__=doc, **fields)


def _examples(wanted: ListFilter) -> list[Any] | None:
    if not wanted.example:
        return None
    return [[wanted.example]] if wanted.kind in ("ids", "texts") else [wanted.example]


def chosen(declaration: type, body: RequestBody) -> dict[str, Any]:
    """The values of the filters that a body has."""
    given = {each: getattr(body, each.name) for each in filters_of(declaration).values()}
    return {each.name: _value(each, value) for each, value in given.items() if value is not None}


def _value(wanted: ListFilter, value: Any) -> object:
    if isinstance(value, list):
        return [str(each) for each in value]
    return value if isinstance(value, bool) else wanted.read(str(value))


ChangeDeliveriesRequest: Final = body_of(
    "ChangeDeliveriesRequest",
    DeliveryFilter,
    DryRun,
    "The deliveries to change: all that meet each condition that is given; at least one is.",
)


RecoverEndpointRequest: Final = body_of(
    "RecoverEndpointRequest", CreatedWithin, DryRun, "The deliveries of an endpoint to try again."
)


class _ReplayOptions(DryRun):
    by: ReplayBy = Field(
        default="sent",
        description="The time for since and until: finished is when a delivery failed or was canceled.",
    )
    new_ids: bool = Field(default=False, description="Send copies with ids of their own.")
    after: Text | None = Field(
        default=None, description="The nextCursor of the batch before, with the same options.", examples=["eyJpZCI6N30"]
    )


ReplayMessagesRequest: Final = body_of(
    "ReplayMessagesRequest",
    ReplayFilter,
    _ReplayOptions,
    "The messages to deliver to an endpoint once more; since or after is needed.",
)


class SendEventRequest(RequestBody):
    """An event to send."""

    event: Text = Field(description=EVENT_NAME.words, examples=[EVENT_NAME.example])
    payload: object = Field(description="Any JSON; delivered as it was written.", examples=[{"id": 7}])
    tenant: Text | None = Field(
        default=None, description="Only its endpoints, and those without a tenant, get it.", examples=["acme"]
    )
    delay: float = Field(
        default=0, ge=0, le=365 * 86400, description="Seconds to wait before the first attempt.", examples=[60]
    )
    key: Text | None = Field(
        default=None,
        description="Numbers the messages of this key in the order of commits; at most 255 bytes.",
        examples=["order-7"],
    )
