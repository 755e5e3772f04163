"""The command ``ask``: who changed a record, when and what, and who was told of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer
from psycopg import Connection

from svc_pg import audit, webhooks
from svc_pg.audit import Entry
from svc_pg.formats import human_times
from svc_pg.webhooks.deliveries import Delivery
from svc_pg.webhooks.endpoints import Endpoint
from svc_pg.webhooks.messages import Message

from . import output, records
from .database import connect, log_instead
from .format_delivery import result_of
from .format_difference import ERASED, actor_text, differences
from .json_text import printable
from .known_tables import tell_other_names
from .named_record import named_record
from .options import After, Json, PostgresUrl

app = typer.Typer()

_MOST_SENT: Final = 20  # messages, and deliveries, of one transaction
_MOST_ENDPOINTS: Final = 1000


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message that a transaction sent, and its deliveries."""

    message: Message
    deliveries: Sequence[Delivery]


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
    limit: Annotated[int, typer.Option(min=1, max=100, metavar="N", help="The number of changes, newest first.")] = 10,
    after: After = None,
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """Tell who changed a record, when and what, and who was told of it by webhooks."""
    with connect(database_url, instead=log_instead()) as conn:
        table, key = named_record(conn, " ".join(record))
        tell_other_names(conn, table)
        changes = audit.query().resource(table).record(key).limit(limit)
        page = (changes if after is None else changes.after(after)).list(conn)
        sent = _sent_by(conn, page)
        endpoints = _endpoints_of(conn, sent.values())
    if json:
        shown = [each for messages in sent.values() for each in messages]
        records.show_json(
            {"table": table, "recordId": key, "changes": page.data, "sent": shown, "nextCursor": page.next_cursor}
        )
        return
    output.data(f"{printable(table)} {printable(key)}")
    told = set[str]()
    for entry in page:
        output.data(_change(entry))
        xact_id = entry.xact_id or ""
        for line in () if xact_id in told else _lines(sent.get(xact_id, ()), endpoints):
            output.data(f"    {line}")
        if len(sent.get(xact_id, ())) == _MOST_SENT and xact_id not in told:
            output.words(f"There may be more that it sent: svc-pg webhooks deliveries --transaction {xact_id}")
        told.add(xact_id)
    output.more(page.next_cursor)


def _sent_by(conn: Connection[Any], entries: Iterable[Entry]) -> Mapping[str, Sequence[SentMessage]]:
    """The messages of the transactions that wrote the entries, as the page of a record has them."""
    found: dict[str, Sequence[SentMessage]] = {}
    for xact_id in dict.fromkeys(entry.xact_id for entry in entries if entry.xact_id is not None):
        messages = webhooks.messages.list(conn, transaction=int(xact_id), limit=_MOST_SENT)
        deliveries = webhooks.deliveries.list(conn, transaction=int(xact_id), limit=_MOST_SENT)
        found[xact_id] = [
            SentMessage(message, [each for each in deliveries if each.message_id == message.id]) for message in messages
        ]
    return found


def _endpoints_of(conn: Connection[Any], sent: Iterable[Sequence[SentMessage]]) -> Mapping[str, Endpoint]:
    ids = {delivery.endpoint_id for messages in sent for each in messages for delivery in each.deliveries}
    some = sorted(ids)[:_MOST_ENDPOINTS]
    return {each.id: each for each in webhooks.endpoints.list(conn, ids=some, limit=len(some))} if some else {}


def _change(entry: Entry) -> str:
    parts = [
        human_times.second(entry.timestamp),
        actor_text(entry.actor_id, entry.db_user),
        entry.operation.ljust(8),
        *(f"[{printable(text)}]" for text in (entry.severity, entry.label) if text),
        ERASED if entry.is_erased else differences(entry),
        f"[entry {entry.id}]",
    ]
    return "  ".join(filter(None, parts))


def _lines(sent: Iterable[SentMessage], endpoints: Mapping[str, Endpoint]) -> Iterator[str]:
    for each in sent:
        if not each.deliveries:
            yield f"sent {printable(each.message.event_name)}, to nobody"
        for delivery in each.deliveries:
            yield f"sent {result_of(delivery, endpoints.get(delivery.endpoint_id))}"
