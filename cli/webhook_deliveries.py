"""The commands ``webhooks ...``, those for deliveries."""

from typing import Annotated

import typer

from svc_pg import Config
from svc_pg.maintenance import prune_deliveries
from svc_pg.webhooks import deliveries

from . import output
from .database import connect
from .json_text import printable
from .options import ConfigReference, DatabaseUrl, Json
from .steering import EndpointId, change, duration, one


def list_deliveries(
    *,
    endpoint: Annotated[str | None, typer.Option(help="Only those to this endpoint.")] = None,
    status: Annotated[str | None, typer.Option(help="Only pending, delivered, failed or canceled ones.")] = None,
    event: Annotated[str | None, typer.Option(help="Only those of this event.")] = None,
    since: Annotated[str | None, typer.Option(help="Created from then on: a duration such as 1h.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many, newest first.")] = 100,
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """List deliveries."""
    wanted = deliveries.query().limit(limit)
    wanted = wanted.endpoint(endpoint) if endpoint else wanted
    wanted = wanted.status(status) if status else wanted
    wanted = wanted.event(event) if event else wanted
    wanted = wanted.since(since) if since else wanted
    with connect(database_url) as conn:
        found = wanted.list(conn).deliveries
    if json:
        output.json_record(found)
        return
    for each in found:
        output.data(f"{each.id}  {each.event_name}  {each.status}  {each.attempts}/{each.max_attempts} attempts")
        words = [f"to {each.endpoint_id}", printable(each.last_error or "")]
        output.data("    " + "  ".join(filter(None, words)))


def retry(
    delivery: Annotated[str, typer.Argument(help="The delivery's id.", show_default=False)],
    *,
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Make a failed or canceled delivery due now."""
    change(deliveries.retry(delivery), database_url, as_json=json)


def recover(
    endpoint: EndpointId,
    *,
    since: Annotated[str | None, typer.Option(help="Created from then on: a duration such as 1h.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count them.")] = False,
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Try all failed and canceled deliveries of an endpoint again."""
    count, is_complete = 0, False
    with connect(database_url) as conn:
        while not is_complete:
            with conn.transaction():
                batch = one(conn, deliveries.recover(endpoint, since=since, dry_run=dry_run))
            count, is_complete = count + batch.count, batch.is_complete or dry_run
    if json:
        output.json_record({"count": count, "isDryRun": dry_run})
        return
    output.words(f"{count} deliveries would be tried again." if dry_run else f"{count} deliveries are due again.")


def prune(
    *,
    delivered: Annotated[str | None, typer.Option(help="How long delivered ones are kept; else as configured.")] = None,
    failed: Annotated[
        str | None, typer.Option(help="How long failed and canceled ones are; else as configured.")
    ] = None,
    database_url: DatabaseUrl = None,
    config: ConfigReference = None,
) -> None:
    """Delete finished deliveries that are older than they are kept, with their attempts and messages."""
    configured = Config.find(config).webhooks
    keep_delivered = configured.keep_delivered if delivered is None else duration(delivered)
    keep_failed = configured.keep_failed if failed is None else duration(failed)
    with connect(database_url) as conn:
        conn.autocommit = True
        count = prune_deliveries(conn, delivered=keep_delivered, failed=keep_failed)
    output.words(f"{count} deliveries and messages deleted.")
