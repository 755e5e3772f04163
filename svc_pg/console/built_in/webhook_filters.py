"""Filters of the lists of webhooks: deliveries and messages."""

from typing import Final

from svc_pg.console.documentation import JsonSchema
from svc_pg.console.parameters import FilterParameter, point_in_time, whole_number
from svc_pg.webhooks.messages.message_queries import MessageQuery

_NUMBER: Final[JsonSchema] = {"type": "string", "pattern": "^[0-9]{1,18}$"}


def transaction_number(text: str) -> int:
    """The number of a transaction. Raises ValueError."""
    if len(text) > 18:
        raise ValueError("write up to 18 digits")
    return whole_number(text)


MESSAGE_FILTERS: Final[dict[str, FilterParameter[MessageQuery]]] = {
    "event": FilterParameter(MessageQuery.event, "messages of one event"),
    "tenant": FilterParameter(MessageQuery.tenant, "messages of one tenant"),
    "transaction": FilterParameter(
        lambda query, text: query.transaction(transaction_number(text)),
        "messages that one transaction sent, by the xactId of entries in the audit log",
        _NUMBER,
    ),
    "since": FilterParameter(
        lambda query, text: query.since(point_in_time(text)),
        "messages sent from then on: RFC 3339, or a duration such as 1h",
    ),
    "until": FilterParameter(lambda query, text: query.until(point_in_time(text)), "messages sent before then"),
    "ids": FilterParameter(
        lambda query, text: query.ids(text.split(",")), "these messages, with commas between their ids"
    ),
}
