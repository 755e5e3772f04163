"""The commands ``webhooks ...`` for deliveries."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Annotated, Any

import typer
from psycopg import Connection

from svc_pg import Config, Settings, durations, webhooks
from svc_pg.query import Query, fetch_one
from svc_pg.webhooks import delivery_queries as deliveries
from svc_pg.webhooks import replay_queries
from svc_pg.webhooks.delivery_rows import STATUSES, Delivery
from svc_pg.webhooks.replay_queries import REPLAY_STATUSES, Replayed

from . import output, records
from .completion import events, one_of
from .database import connect
from .json_text import printable
from .lists import show_list
from .operator import EndpointId, acting_as_operator, change
from .options import After, ConfigReference, Json, Limit, PostgresUrl, duration, point_in_time

app = typer.Typer()

DeliveryId = Annotated[str, typer.Argument(metavar="DELIVERY", help="The delivery's id.", show_default=False)]
Since = Annotated[
    str | None, point_in_time(meaning="Only deliveries created since this time: 1h, 7d, or 2026-01-31T12:00:00Z.")
]
Tenant = Annotated[str | None, typer.Option(metavar="TENANT", help="Only messages of this tenant.")]
Transaction = Annotated[
    int | None,
    typer.Option(metavar="XACT", min=0, help="Only what this transaction sent: the xactId of audit entries."),
]


@app.command("deliveries")
def list_deliveries(
    *,
    endpoint: Annotated[str | None, typer.Option(metavar="ENDPOINT", help="Only deliveries to this endpoint.")] = None,
    status: Annotated[
        str | None,
        typer.Option(
            metavar="STATUS",
            help="Only pending, delivered, failed or canceled ones.",
            autocompletion=one_of(*STATUSES),
        ),
    ] = None,
    event: Annotated[
        str | None, typer.Option(metavar="EVENT", help="Only deliveries of this event.", autocompletion=events)
    ] = None,
    message: Annotated[str | None, typer.Option(metavar="MESSAGE", help="Only deliveries of this message.")] = None,
    tenant: Tenant = None,
    transaction: Transaction = None,
    since: Since = None,
    limit: Limit = 100,
    after: After = None,
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """List deliveries."""
    wanted = deliveries.matching(
        endpoint=endpoint,
        message=message,
        status=status,
        event=event,
        tenant=tenant,
        transaction=transaction,
        since=None if since is None else durations.point_in_time(since),
    ).limit(limit)
    page = show_list(wanted, _delivery, database_url=database_url, as_json=json, after=after)
    output.more(page.next_cursor)


def _delivery(delivery: Delivery) -> Iterator[str]:
    lost = f", {delivery.lost_attempts} lost" if delivery.lost_attempts else ""
    attempts = f"{delivery.attempts - delivery.lost_attempts}/{delivery.max_attempts} attempts{lost}"
    yield f"{delivery.id}  {delivery.event_name}  {delivery.status}  {attempts}"
    words = [f"to {delivery.endpoint_id}", printable(delivery.last_error or "")]
    yield "    " + "  ".join(filter(None, words))


@app.command()
def request(delivery: DeliveryId, *, database_url: PostgresUrl = None, json: Json = False) -> None:
    """Show the request of a delivery, signed as of now if SVC_ENCRYPTION_KEYS is set; sealed headers are only named."""
    settings = Settings.load()
    with connect(database_url) as conn:
        shown = webhooks.deliveries.request(conn, delivery, settings=settings if settings.encryption_keys else None)
    if json:
        records.show_json(shown)
        return
    output.data(f"{shown.method} {printable(shown.url or '')}")
    for header in shown.headers:
        output.data(f"{header.name}: {'(sealed)' if header.value is None else printable(header.value)}")
    output.data("")
    output.data(printable(shown.body or ""))


@app.command()
def retry(delivery: DeliveryId, *, database_url: PostgresUrl = None, json: Json = False) -> None:
    """Make a failed or canceled delivery due now, or one that waits for its next attempt."""
    change(deliveries.retry(delivery), database_url, as_json=json)


@app.command()
def cancel(delivery: DeliveryId, *, database_url: PostgresUrl = None, json: Json = False) -> None:
    """Cancel a pending delivery, or a failed one that blocks its key."""
    change(deliveries.cancel(delivery), database_url, as_json=json)


@app.command()
def recover(
    endpoint: EndpointId,
    *,
    since: Since = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count the deliveries.")] = False,
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """Make all failed and canceled deliveries of an endpoint due now, and those that wait for another attempt."""
    start = None if since is None else durations.point_in_time(since)
    count, is_done, is_complete = 0, False, False
    with connect(database_url) as conn:
        while not is_done:
            with conn.transaction():
                batch = fetch_one(conn, deliveries.recover(endpoint, since=start, dry_run=dry_run))
            count, is_complete = count + batch.count, batch.is_complete
            is_done = is_complete or dry_run  # a dry run would count the same deliveries again
    if json:
        records.show_json({"count": count, "isComplete": is_complete, "isDryRun": dry_run})
        return
    number = f"{count}" if is_complete else f"At least {count}"
    output.words(f"{number} deliveries would be tried again." if dry_run else f"{number} deliveries are due again.")


@app.command()
def replay(
    *,
    endpoint: Annotated[
        str, typer.Option(metavar="ENDPOINT", help="The endpoint that gets the messages.", show_default=False)
    ],
    since: Annotated[
        str | None, point_in_time(meaning="Messages sent since this time: 1h, 7d, or 2026-01-31T12:00:00Z.")
    ] = None,
    until: Annotated[str | None, point_in_time(meaning="Messages sent before this time. Default: now.")] = None,
    event: Annotated[
        str | None, typer.Option(metavar="EVENT", help="Only messages of this event.", autocompletion=events)
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(
            metavar="STATUS",
            help="Only delivered, failed or canceled deliveries, or missing ones: messages that the endpoint wants and"
            " never got.",
            autocompletion=one_of(*REPLAY_STATUSES),
        ),
    ] = None,
    new_ids: Annotated[
        bool, typer.Option("--new-ids", help="Send copies with ids of their own, which receivers do not recognize.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count the deliveries.")] = False,
    after: Annotated[
        str | None,
        typer.Option(metavar="CURSOR", help="Continue a replay that was interrupted, with the same options."),
    ] = None,
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """Deliver messages to an endpoint once more, or those that it never got."""
    batch = partial(
        replay_queries.replay,
        endpoint,
        since=None if since is None else durations.point_in_time(since),
        until=None if until is None else durations.point_in_time(until),
        event=event,
        status=status,
        new_ids=new_ids,
    )
    with connect(database_url) as conn, acting_as_operator(conn):
        with conn.transaction():
            start = fetch_one(conn, batch(after=after, batch=0)).next_cursor
        if not dry_run:
            expected = sum(part.count for part in _batches(conn, partial(batch, dry_run=True), start))
            output.words(f"{expected} deliveries. To continue after an interruption: --after {start}")
        count = 0
        for part in _batches(conn, partial(batch, dry_run=dry_run), start):
            count += part.count
            if part.next_cursor and not dry_run:
                output.words(f"{count} so far. To continue after an interruption: --after {part.next_cursor}")
    if json:
        records.show_json({"count": count, "isDryRun": dry_run})
        return
    output.words(f"{count} deliveries would be due." if dry_run else f"{count} deliveries are due.")


def _batches(conn: "Connection[Any]", batch: Callable[..., Query[Replayed]], after: str | None) -> Iterator[Replayed]:
    """Those after a cursor, each in a transaction of its own."""
    while after is not None:
        with conn.transaction():
            part = fetch_one(conn, batch(after=after))
        yield part
        after = part.next_cursor


@app.command()
def prune(
    *,
    delivered: Annotated[
        timedelta | None,
        duration(meaning="How long to keep delivered ones. Default: keep_delivered of the configuration."),
    ] = None,
    failed: Annotated[
        timedelta | None,
        duration(meaning="How long to keep failed and canceled ones. Default: keep_failed of the configuration."),
    ] = None,
    database_url: PostgresUrl = None,
    config: ConfigReference = None,
) -> None:
    """Delete old deliveries, with their attempts and messages."""
    from svc_pg.maintenance import prune_deliveries  # which knows how to install, as no other command here has to

    configured = Config.find(config).webhooks
    keep_delivered = configured.keep_delivered if delivered is None else delivered
    keep_failed = configured.keep_failed if failed is None else failed
    with connect(database_url) as conn:
        conn.autocommit = True
        count = prune_deliveries(conn, delivered=keep_delivered, failed=keep_failed)
    output.words(f"{count} deliveries and messages deleted.")
