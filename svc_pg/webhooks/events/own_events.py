"""The events that svc-pg itself sends, and the data of each, as the functions in ``sql/webhooks`` make it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Generic, TypeVar

from svc_pg.formats.doc import Doc
from svc_pg.webhooks.field_docs import DELIVERY_ID, ENDPOINT_ID, MESSAGE_ID

Data = TypeVar("Data")


@dataclass(frozen=True, slots=True)
class Envelope(Generic[Data]):
    """The body of a request, the same in every attempt."""

    id: Annotated[str, MESSAGE_ID]
    type: Annotated[str, Doc("The name of the event.", "webhook.ping")]
    timestamp: Annotated[datetime, Doc("The time at which the transaction began that sent it.")]
    data: Annotated[Data, Doc("The facts of the event.")]


@dataclass(frozen=True, slots=True)
class PingData:
    """The endpoint that somebody wants to try."""

    endpoint_id: Annotated[str, ENDPOINT_ID]


@dataclass(frozen=True, slots=True)
class EndpointEventData(PingData):
    """The endpoint that the event is about."""

    url: Annotated[str, Doc("Its address, without user name and query.", "https://example.com/hooks")]


@dataclass(frozen=True, slots=True)
class EndpointFailingData(EndpointEventData):
    """The endpoint that fails."""

    since: Annotated[datetime, Doc("The time of the first failure.")]
    failures: Annotated[int, Doc("The number of failures in a row.", 10)]


@dataclass(frozen=True, slots=True)
class EndpointRecoveredData(EndpointEventData):
    """The endpoint that works again."""

    since: Annotated[datetime, Doc("The time of the first failure of the outage.")]


@dataclass(frozen=True, slots=True)
class EndpointDisabledData(EndpointEventData):
    """The endpoint that is disabled."""

    reason: Annotated[str, Doc("The reason for disabling it.", "the endpoint answered 410 Gone")]


@dataclass(frozen=True, slots=True)
class DeliveryExhaustedData(EndpointEventData):
    """The endpoint, and its deliveries that have no attempt left."""

    count: Annotated[int, Doc("The number of deliveries since the event before.", 3)]
    since: Annotated[datetime | None, Doc("The time of the event before; null if there was none.")]
    delivery_ids: Annotated[list[str], Doc("The ids of up to 20 of them.", [DELIVERY_ID.example])]
    error: Annotated[
        str | None, Doc("The error of the last one; null if it is not known.", "the endpoint answered 503")
    ]


@dataclass(frozen=True, slots=True)
class SealedData:
    """A copy of a seal, as a line of a file of copies has it."""

    number: Annotated[int, Doc("The number of the seal.", 9)]
    text: Annotated[str, Doc("The text of the seal: JSON that is signed.", '{"entries":12,"entry":"..."}')]
    signature: Annotated[str, Doc("Its Ed25519 signature in base64.", "bm90IGEgc2lnbmF0dXJl")]


@dataclass(frozen=True, slots=True)
class OwnEvent:
    """One event: its name, the sentence that the database has, the time of sending, and the class of its data."""

    name: str
    description: str
    sent: str
    data: type


OWN_EVENTS: Final[Sequence[OwnEvent]] = (
    OwnEvent(
        "webhook.ping",
        "Somebody tries an endpoint",
        "It is sent to the endpoint alone, whatever that subscribes to, with one attempt.",
        PingData,
    ),
    OwnEvent(
        "webhook.endpoint.failing",
        "An endpoint failed ten times in a row: the beginning of an outage",
        "It is sent when the circuit breaker opens: once an outage, and at most once a minute.",
        EndpointFailingData,
    ),
    OwnEvent(
        "webhook.endpoint.recovered",
        "An endpoint answered with success again: the end of an outage",
        "It is sent at the first success after webhook.endpoint.failing.",
        EndpointRecoveredData,
    ),
    OwnEvent(
        "webhook.endpoint.disabled",
        "An endpoint was disabled: by somebody, by its 410 Gone, or after days of failures",
        "It is sent once, when the endpoint is disabled.",
        EndpointDisabledData,
    ),
    OwnEvent(
        "webhook.delivery.exhausted",
        "Deliveries to an endpoint failed with no attempt left; at most once a minute",
        "Those that a minute leaves untold are told with the next result of the endpoint.",
        DeliveryExhaustedData,
    ),
    OwnEvent(
        "audit.sealed",
        "A seal of the audit log was made; the data is a copy of it",
        "It is sent in the transaction of each seal, in a database with webhooks, to endpoints without a tenant.",
        SealedData,
    ),
)
"""Those but for the ping go to endpoints that subscribe to them by name, or as ``webhook.*`` or ``audit.*``; ``*`` does
not subscribe to them.
"""
