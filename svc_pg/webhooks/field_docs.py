"""The descriptions of fields that several classes of webhooks have."""

from typing import Final

from svc_pg.formats.doc import Doc

ENDPOINT_ID: Final = Doc("The id of the endpoint.", "0198d3f1-6a5e-7c40-9f5b-2c1d7e8a9b10")
URL: Final = Doc("The address of the receiver.", "https://example.com/hooks")
NOTE: Final = Doc("A note for people.", "Orders of the shop")
ENDPOINT_TENANT: Final = Doc("The tenant whose messages it gets; null if it gets those of all.", "acme")
DISABLED_REASON: Final = Doc("The reason for disabling it; null unless it is disabled.", "disabled by hand")
CERTIFICATE_END: Final = Doc("The end of its client certificate; null if it has none.")
FAILURE_STREAK: Final = Doc("The number of failures since the last success.", 3)
FAILING_SINCE: Final = Doc("The time of the first of them; null if there is none.")
BREAKER_UNTIL: Final = Doc("The time until which its circuit breaker sends nothing; null if that is closed.")
THROTTLED_UNTIL: Final = Doc("The time until which its receiver asked to send nothing; null if it did not.")
LAST_SUCCESS_AT: Final = Doc("The time of the last success, within 10 seconds; null if there was none.")
LAST_FAILURE_AT: Final = Doc("The time of the last failure; null if there was none.")
LAST_FAILURE: Final = Doc("The error of the last failure; null if there was none.", "the endpoint answered 503")
MESSAGE_ID: Final = Doc(
    "The id of the message: `id` in the body of its requests.", "0198d3f0-2b1c-7a55-8d0e-4f6a1b2c3d4e"
)
DELIVERY_ID: Final = Doc(
    "The id of the delivery: the header `webhook-id` of its requests.", "0198d3f1-7d20-7e11-a3c4-5b6d7e8f9a01"
)
EVENT_NAME: Final = Doc("The name of the event.", "order.created")
MESSAGE_TENANT: Final = Doc("The tenant of the message; null if it has none.", "acme")
IDEMPOTENCY_KEY: Final = Doc("The key by which the sender made it once; null if it gave none.", "order-7-created")
KEY: Final = Doc("The key whose messages have an order; null if it has none.", "order-7")
SEQUENCE: Final = Doc("The number of the message among those of its tenant and key, from 1 and without gaps.", 2)
COPY_OF: Final = Doc("The id of the original, if it is the copy of a replay; else null.", str(MESSAGE_ID.example))
XACT_ID: Final = Doc("The transaction that sent it: its entries in the audit log are the cause.", "7301")
SENT: Final = Doc("The number of deliveries that were sent.", 120)
DELIVERED: Final = Doc("The number of those that are delivered.", 117)
FAILED: Final = Doc("The number of those that have no attempt left.", 1)
LATE: Final = Doc("The number of those that are pending after their time.", 2)
FAILED_ATTEMPTS: Final = Doc("The number of attempts without success so far.", 5)
MEDIAN: Final = Doc("The median of the attempts, in seconds; null if there was none.", 0.12)
P95: Final = Doc("The 95th percentile of the attempts, in seconds; null if there was none.", 0.84)
IS_ESTIMATE: Final = Doc("True if the numbers come from a sample.")
