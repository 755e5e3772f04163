"""The commands ``webhooks ...`` for deliveries."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Annotated, Any, Unpack

import typer
from psycopg import Connection

from svc_pg import Config, Settings
from svc_pg.database.effects import Effects
from svc_pg.database.performing import run
from svc_pg.database.query import fetch, fetch_one
from svc_pg.formats.plurals import counted
from svc_pg.webhooks.deliveries import delivery_queries as deliveries
from svc_pg.webhooks.deliveries import delivery_reasons, delivery_request
from svc_pg.webhooks.deliveries.delivery_filters import CreatedWithin, DeliveryFilter
from svc_pg.webhooks.deliveries.delivery_rows import BulkResult, Delivery
from svc_pg.webhooks.endpoints import endpoint_queries as endpoints
from svc_pg.webhooks.endpoints.endpoint_rows import Endpoint
from svc_pg.webhooks.secrets import KeyRing

from .. import output, records
from ..database import connect
from ..filter_options import filter_options, names
from ..json_text import printable
from ..lists import filled, tell_none
from ..named_ids import EndpointName, endpoint_id
from ..operator import acting_as_operator, change
from ..options import After, ConfigReference, Json, Limit, PostgresUrl, duration
from .format_delivery import advices, show_delivery, tell_of_breaker
from .unsearched import tell_of_unsearched

app = typer.Typer()

DeliveryId = Annotated[str, typer.Argument(metavar="DELIVERY", help="The delivery's id.", show_default=False)]
OneDelivery = Annotated[str | None, typer.Argument(metavar="DELIVERY", help="The delivery's id.", show_default=False)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count the deliveries.")]


@app.command("deliveries")
@filter_options(DeliveryFilter)
def list_deliveries(
    *,
    limit: Limit = 100,
    after: After = None,
    database_url: PostgresUrl = None,
    json: Json = False,
    **which: Unpack[DeliveryFilter],
) -> None:
    """List deliveries."""
    wanted = deliveries.matching(**which).limit(limit)
    with connect(database_url) as conn:
        page = filled(conn, wanted, after=after)
        named = {} if json else _endpoints(conn, page.data)
    if json:
        records.show_page(page)
    for delivery in () if json else page:
        show_delivery(delivery, named.get(delivery.endpoint_id))
    if not page.data and not json:
        tell_none(page, "No deliveries.", "deliveries")
    tell_of_unsearched(which.get("payload"), database_url)
    output.more(page.next_cursor)


def _endpoints(conn: Connection[Any], found: Sequence[Delivery]) -> dict[str, Endpoint]:
    ids = sorted({delivery.endpoint_id for delivery in found})
    if not ids:
        return {}
    return {each.id: each for each in endpoints.query().ids(ids).limit(len(ids)).list(conn)}


@app.command("delivery")
def show_one(delivery: DeliveryId, *, database_url: PostgresUrl = None, json: Json = False) -> None:
    """Show a delivery and its attempts."""
    with connect(database_url) as conn:
        row = fetch_one(conn, deliveries.get(delivery))
        attempts = fetch(conn, deliveries.attempts(delivery))
    if json:
        records.show_json({"delivery": row, "attempts": attempts})
        return
    records.show(row)
    for attempt in attempts:
        output.data("")
        records.show(attempt)
    if row.status == "pending":
        output.words(f"To see what it waits for: svc-pg webhooks why {row.id}")


@app.command("why")
def tell_why(delivery: DeliveryId, *, database_url: PostgresUrl = None, json: Json = False) -> None:
    """Tell in sentences what a delivery waits for, or how it has ended."""
    with connect(database_url) as conn:
        row = fetch_one(conn, deliveries.get(delivery))
        reasons = fetch(conn, delivery_reasons.why(delivery))
        endpoint = _endpoints(conn, [row]).get(row.endpoint_id)
    if json:
        records.show_json({"delivery": row, "reasons": reasons})
        return
    for reason in reasons:
        output.data(printable(reason.sentence))
    for advice in dict.fromkeys(advices(row, endpoint, reasons)):
        output.words(advice)


@app.command()
def request(delivery: DeliveryId, *, database_url: PostgresUrl = None, json: Json = False) -> None:
    """Show the request of a delivery, signed as of now if SVC_ENCRYPTION_KEYS is set; sealed headers are only named."""
    settings = Settings.load()
    keys = KeyRing.of(settings) if settings.encryption_keys else None
    with connect(database_url) as conn:
        sealed = fetch_one(conn, delivery_request.get(delivery))
    shown = delivery_request.delivery_post(sealed, keys=keys, is_signed=True)
    if json:
        records.show_json(shown)
    else:
        output.data(f"{shown.method} {printable(shown.url or '')}")
        for header in shown.headers:
            output.data(f"{header.name}: {'(sealed)' if header.value is None else printable(header.value)}")
        output.data("")
        output.data(printable(shown.body or ""))
    if keys is not None:
        delivery_request.signers(sealed, keys)  # an error if they do not open the secret: nothing is signed above


@app.command()
@filter_options(DeliveryFilter)
def retry(
    delivery: OneDelivery = None,
    *,
    dry_run: DryRun = False,
    database_url: PostgresUrl = None,
    json: Json = False,
    **which: Unpack[DeliveryFilter],
) -> None:
    """Make a failed or canceled delivery due now, or one that waits for its next attempt; or all that options select.

    With options, deliveries to endpoints that are disabled or deleted are left out.
    """

    def show(retried: Delivery) -> None:
        show_delivery(retried)
        tell_of_breaker(retried.endpoint_id, database_url)

    _check(delivery, which, dry_run=dry_run)
    if delivery is not None:
        change(deliveries.retry(delivery), database_url, as_json=json, show=show)
        return
    batch = partial(deliveries.matching(**which).retry, dry_run=dry_run)
    _change_many(batch, database_url, dry_run=dry_run, as_json=json, result="due again")


@app.command()
@filter_options(DeliveryFilter)
def cancel(
    delivery: OneDelivery = None,
    *,
    dry_run: DryRun = False,
    database_url: PostgresUrl = None,
    json: Json = False,
    **which: Unpack[DeliveryFilter],
) -> None:
    """Cancel a pending delivery, or a failed one that blocks its key; or all pending ones that the options select.

    With options, deliveries with an attempt under way are left out.
    """
    _check(delivery, which, dry_run=dry_run)
    if delivery is not None:
        change(deliveries.cancel(delivery), database_url, as_json=json, show=show_delivery)
        return
    batch = partial(deliveries.matching(**which).cancel, dry_run=dry_run)
    _change_many(batch, database_url, dry_run=dry_run, as_json=json, result="canceled")


def _check(delivery: str | None, which: DeliveryFilter, *, dry_run: bool) -> None:
    if (delivery is None) != bool(which) or (dry_run and not which):
        raise typer.BadParameter(f"pass the id of a delivery, or some of {names(DeliveryFilter)}")


@app.command()
@filter_options(CreatedWithin)
def recover(
    endpoint: EndpointName,
    *,
    dry_run: DryRun = False,
    database_url: PostgresUrl = None,
    json: Json = False,
    **which: Unpack[CreatedWithin],
) -> None:
    """Make all failed and canceled deliveries of an endpoint due now, and those that wait for another attempt."""
    key = endpoint_id(endpoint, database_url)
    batch = partial(deliveries.recover, key, **which, dry_run=dry_run)
    _change_many(batch, database_url, dry_run=dry_run, as_json=json, result="due again")
    if not json:
        tell_of_breaker(key, database_url)


def _change_many(
    batch: Callable[[], Effects[BulkResult]], database_url: str | None, *, dry_run: bool, as_json: bool, result: str
) -> None:
    """Change batch after batch, each in a transaction of its own, and print the number."""
    count, is_done, is_complete = 0, False, False
    with connect(database_url) as conn, acting_as_operator(conn):
        while not is_done:
            with conn.transaction():
                changed = run(conn, batch())
            count, is_complete = count + changed.count, changed.is_complete
            # a dry run would count the same deliveries again, and deliveries that others lock stay unchanged
            is_done = is_complete or dry_run or not changed.count
    if as_json:
        records.show_json({"count": count, "isComplete": is_complete, "isDryRun": dry_run})
        return
    least = "" if is_complete else "At least "
    verb = "would be" if dry_run else "is" if count == 1 else "are"
    output.words(f"{least}{counted(count, 'delivery')} {verb} {result}.")


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
    output.words(f"Deliveries and messages deleted: {count:,}.")
