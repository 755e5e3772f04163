"""The commands ``webhooks ...`` for messages and for traffic."""

from collections.abc import Iterator
from typing import Annotated, Unpack

import typer

from svc_pg.database.query import fetch_one
from svc_pg.formats import durations
from svc_pg.formats.plurals import counted
from svc_pg.webhooks.messages import message_queries
from svc_pg.webhooks.messages.message_queries import MessageFilter
from svc_pg.webhooks.traffic import traffic_queries
from svc_pg.webhooks.traffic.traffic_queries import STEPS, TimedTrafficBucket

from .. import output, records
from ..completion import one_of
from ..database import connect
from ..filter_options import filter_options
from ..json_text import printable
from ..lists import show_list
from ..named_ids import endpoint_id
from ..options import After, Between, Json, Limit, PostgresUrl, period_of, point_in_time
from .unsearched import tell_of_unsearched

app = typer.Typer()


@app.command("messages")
@filter_options(MessageFilter)
def list_messages(
    *,
    limit: Limit = 100,
    after: After = None,
    database_url: PostgresUrl = None,
    json: Json = False,
    **which: Unpack[MessageFilter],
) -> None:
    """List messages: the events that were sent."""
    wanted = message_queries.matching(**which).limit(limit)
    page = show_list(
        wanted,
        _message,
        none="No messages.",
        things="messages",
        database_url=database_url,
        as_json=json,
        after=after,
    )
    tell_of_unsearched(which.get("payload"), database_url)
    output.more(page.next_cursor)


def _message(message: message_queries.Message) -> Iterator[str]:
    of = f"  of {printable(message.tenant)}" if message.tenant else ""
    about = f"  {printable(message.summary)}" if message.summary else ""
    yield f"{message.id}  {message.event_name}  {records.text(message.created_at)}{of}{about}"


@app.command("message")
def show_message(
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="The message's id.", show_default=False)],
    *,
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """Show a message and its payload."""
    with connect(database_url) as conn:
        row = fetch_one(conn, message_queries.get(message))
    if json:
        records.show_json(row)
        return
    records.show(row)


@app.command("traffic")
def show_traffic(
    *,
    by: Annotated[
        str, typer.Option(metavar="STEP", help="By minute, hour or day.", autocompletion=one_of(*STEPS))
    ] = "hour",
    since: Annotated[
        str | None,
        point_in_time(meaning="The beginning. Default: the last hour by minute, day by hour, week by day."),
    ] = None,
    until: Annotated[str | None, point_in_time(meaning="The end, written as for --since. Default: now.")] = None,
    between: Between = None,
    endpoint: Annotated[str | None, typer.Option(metavar="ENDPOINT", help="Only deliveries to this endpoint.")] = None,
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """Show the number of deliveries sent over time, one for each message and endpoint, and their results."""
    start, end = period_of(between, since=since, until=until) or (
        None if each is None else durations.point_in_time(each) for each in (since, until)
    )
    key = None if endpoint is None else endpoint_id(endpoint, database_url)
    with connect(database_url) as conn:
        now = fetch_one(conn, traffic_queries.now()).time
        found = fetch_one(conn, traffic_queries.traffic(now=now, by=by, since=start, until=end, endpoint=key))
    if json:
        records.show_json(found)
        return
    about = "about " if found.is_estimate else ""
    for bucket in found.buckets:
        output.data(f"{records.text(bucket.at)}  {about}{_told(bucket)}")
    rate = "" if found.success_rate is None else f", {found.success_rate:.1%} of those whose time has come"
    output.words(f"{about}{counted(found.sent, 'delivery')} sent, {found.delivered} delivered{rate}.")


def _told(bucket: TimedTrafficBucket) -> str:
    took = "" if bucket.p50 is None else f", p50 {bucket.p50:.3f} s, p95 {bucket.p95:.3f} s"
    return (
        f"{bucket.sent} sent, {bucket.delivered} delivered, {bucket.failed} failed,"
        f" {bucket.failed_attempts} attempts failed{took}"
    )
