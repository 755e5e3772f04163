"""The command ``ask``: who changed a record, when and what, and who was told of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer
from psycopg import Connection

from svc_pg import audit, webhooks
from svc_pg.audit import Entry
from svc_pg.database.query import fetch_one
from svc_pg.formats import human_times
from svc_pg.status.webhooks_installed import webhooks_installed
from svc_pg.webhooks.deliveries import Delivery
from svc_pg.webhooks.endpoints import Endpoint
from svc_pg.webhooks.messages import Message

from . import output, records
from .database import connect, log_instead
from .format_difference import ERASED, differences, who_text
from .json_text import printable
from .known_tables import tell_other_names
from .named_record import named_record
from .operator import reading
from .options import After, Json, PostgresUrl
from .webhooks.format_delivery import result_of

app = typer.Typer()

_MOST_CHANGES: Final = 50
_MOST_SENT: Final = 20  # messages, and deliveries, of one transaction: of all together up to a page of endpoints


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message, and its deliveries that are on record."""

    message: Message
    deliveries: Sequence[Delivery]


@dataclass(frozen=True, slots=True)
class Sent:
    """The messages that a transaction sent; if it is not complete, there are more of them, or more deliveries."""

    messages: Sequence[SentMessage]
    is_complete: bool


@app.command()
def ask(
    record: Annotated[
        list[str],
        typer.Argument(
            metavar="RECORD",
            help="A table, in the singular or the plural, and the key of a record: order 17, or sales.order 17.",
            show_default=False,
        ),
    ],
    *,
    limit: Annotated[
        int, typer.Option(min=1, max=_MOST_CHANGES, metavar="N", help="The number of changes, newest first.")
    ] = 10,
    after: After = None,
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """Tell who changed a record, when and what, and who was told of it by webhooks."""
    with reading("ask"), connect(database_url, instead=log_instead()) as conn:
        table, key = named_record(conn, " ".join(record))
        tell_other_names(conn, table)
        changes = audit.query().resource(table).record(key).limit(limit)
        page = (changes if after is None else changes.after(after)).list(conn)
        ids = dict.fromkeys(entry.xact_id for entry in page if entry.xact_id is not None)
        has_webhooks = fetch_one(conn, webhooks_installed())
        sent = {xact_id: _sent_by(conn, xact_id) for xact_id in ids} if has_webhooks else {}
        endpoints = _endpoints_of(conn, sent.values())
    if json:
        shown = [
            {"xactId": xact_id, "messages": each.messages, "isComplete": each.is_complete}
            for xact_id, each in sent.items()
        ]
        records.show_json(
            {"table": table, "recordId": key, "changes": page.data, "sent": shown, "nextCursor": page.next_cursor}
        )
        return
    output.data(f"{printable(table)} {printable(key)}")
    for entry in page:
        output.data(_change(entry))
        by_it = sent.pop(entry.xact_id or "", None)  # below the newest of its changes
        for line in _lines(by_it.messages, endpoints) if by_it else ():
            output.data(f"    {line}")
        if by_it and not by_it.is_complete:
            output.words(f"The transaction sent more: svc-pg webhooks deliveries --transaction {entry.xact_id}")
    output.more(page.next_cursor)


def _sent_by(conn: Connection[Any], xact_id: str) -> Sent:
    """The messages that the transaction sent, as the page of a record has it."""
    messages = webhooks.messages.list(conn, transaction=int(xact_id), limit=_MOST_SENT)
    deliveries = webhooks.deliveries.list(conn, transaction=int(xact_id), limit=_MOST_SENT)
    found = [SentMessage(each, [one for one in deliveries if one.message_id == each.id]) for each in messages]
    if deliveries.next_cursor is not None:  # others may have deliveries too
        found = [each for each in found if each.deliveries]
    return Sent(found, is_complete=messages.next_cursor is None and deliveries.next_cursor is None)


def _endpoints_of(conn: Connection[Any], sent: Iterable[Sent]) -> Mapping[str, Endpoint]:
    ids = sorted({delivery.endpoint_id for each in sent for one in each.messages for delivery in one.deliveries})
    return {each.id: each for each in webhooks.endpoints.list(conn, ids=ids, limit=len(ids))} if ids else {}


def _change(entry: Entry) -> str:
    return output.spaced(
        human_times.second(entry.timestamp),
        who_text(entry),
        entry.operation.ljust(8),
        *(f"[{printable(text)}]" for text in (entry.severity, entry.label) if text),
        ERASED if entry.is_erased else differences(entry),
        f"[entry {entry.id}]",
    )


def _lines(sent: Iterable[SentMessage], endpoints: Mapping[str, Endpoint]) -> Iterator[str]:
    for each in sent:
        if not each.deliveries:
            yield f"sent {printable(each.message.event_name)}, no delivery on record"
        for delivery in each.deliveries:
            yield f"sent {result_of(delivery, endpoints.get(delivery.endpoint_id))}"
