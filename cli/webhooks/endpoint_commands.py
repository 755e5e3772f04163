"""The commands ``webhooks ...`` for endpoints."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Final, Unpack

import typer

from svc_pg import Settings
from svc_pg.database.performing import run
from svc_pg.database.query import fetch_one
from svc_pg.formats import durations
from svc_pg.formats.plurals import counted
from svc_pg.webhooks.deliveries import delivery_queries as deliveries
from svc_pg.webhooks.endpoints import endpoint_health, reencryption
from svc_pg.webhooks.endpoints import endpoint_queries as endpoints
from svc_pg.webhooks.endpoints.endpoint_filters import EndpointFilter
from svc_pg.webhooks.endpoints.endpoint_health import EndpointHealth
from svc_pg.webhooks.endpoints.endpoint_rows import Endpoint
from svc_pg.webhooks.endpoints.endpoint_stats import EndpointStats, stats
from svc_pg.webhooks.secrets import KeyRing

from .. import output, records
from ..database import connect
from ..filter_options import filter_options
from ..json_text import printable
from ..lists import show_list
from ..named_ids import EndpointName, endpoint_id
from ..operator import change, operator
from ..options import After, Json, Limit, PostgresUrl, duration
from ..panels import paneled
from ..status import late_deliveries
from . import delivery_commands, endpoint_editing, filter_trial, message_commands, portal_link, replay
from .endpoint_editing import show_secret
from .format_delivery import show_delivery

PANELS: Final = {
    "Endpoints": "list show add update try-filter ping pause resume disable delete rotate-secret portal-link",
    "Deliveries": "deliveries delivery why retry recover cancel request",
    "Messages": "messages message replay",
    "Health": "health traffic",
    "Maintenance": "prune reencrypt",
}
"""The commands in the order of the help: by their subject, and those used most come first."""

app = typer.Typer()
_webhooks = typer.Typer(
    help="Manage webhook endpoints and their deliveries.", cls=paneled(PANELS), no_args_is_help=True
)
app.add_typer(_webhooks, name="webhooks")
for each in (endpoint_editing, filter_trial, delivery_commands, replay, message_commands, portal_link):
    _webhooks.add_typer(each.app)


@_webhooks.command("list")
@filter_options(EndpointFilter)
def list_(
    *,
    limit: Limit = 100,
    after: After = None,
    database_url: PostgresUrl = None,
    json: Json = False,
    **which: Unpack[EndpointFilter],
) -> None:
    """List endpoints."""
    wanted = endpoints.matching(**which).limit(limit)
    none = "No endpoint matches." if which else "No endpoints. Register one: svc-pg webhooks add"
    page = show_list(wanted, _endpoint, none=none, database_url=database_url, as_json=json, after=after)
    output.more(page.next_cursor)


def _endpoint(endpoint: Endpoint) -> Iterator[str]:
    tenant = f"  of {printable(endpoint.tenant)}" if endpoint.tenant else ""
    yield f"{endpoint.id}  {endpoint.status}  {', '.join(endpoint.events)}{tenant}"
    yield f"    {endpoint.url}"


@_webhooks.command()
def show(endpoint: EndpointName, *, database_url: PostgresUrl = None, json: Json = False) -> None:
    """Show an endpoint, its health and its deliveries of the last day."""
    key = endpoint_id(endpoint, database_url)
    with connect(database_url) as conn:
        row, health = fetch_one(conn, endpoints.get(key)), run(conn, stats(key))
    if json:
        records.show_json({"endpoint": row, "stats": health})
        return
    records.show(row)
    output.data("")
    records.show(_shown(health))


@_webhooks.command()
def health(
    *,
    everything: Annotated[bool, typer.Option("--all", help="Show the others too.")] = False,
    limit: Limit = 100,
    after: After = None,
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """Show endpoints that need attention: they fail, or their client certificate ends within 30 days.

    Late deliveries are shown too: due for more than a minute while no worker is seen, or for more than 15 minutes.
    Exits with 3 if an endpoint needs attention, or deliveries are late.
    """
    wanted = endpoint_health.matching(needs_attention=not everything).limit(limit)
    wanted = wanted if after is None else wanted.after(after)
    with connect(database_url) as conn:
        page = wanted.list(conn)
        failing = endpoint_health.matching(needs_attention=True).limit(1).list(conn).data
        backlog = late_deliveries.read_backlog(conn)
    is_well = not failing and not (backlog is not None and backlog.needs_attention)
    if json:
        late = late_deliveries.as_json(backlog)
        records.show_json({"endpoints": page.data, "nextCursor": page.next_cursor, "deliveries": late})
        output.more(page.next_cursor)
    else:
        for item in page.data:
            output.data(f"{item.endpoint_id}  {item.health}  {item.url}")
            output.data("    " + ", ".join(_symptoms(item)))
        output.more(page.next_cursor)
        if any(item.health == "broken" for item in page.data):
            output.words("To close a circuit breaker before its time: svc-pg webhooks resume ENDPOINT")
        late_deliveries.tell(backlog)
        if backlog is None:
            output.words("Late deliveries cannot be seen: the role may not read the queue, or the database is slow.")
        if is_well:
            output.words("No endpoint needs attention.")
    if not is_well:
        raise typer.Exit(3)


@_webhooks.command()
def pause(endpoint: EndpointName, *, database_url: PostgresUrl = None, json: Json = False) -> None:
    """Stop sending to an endpoint for now. Pending deliveries wait."""
    change(endpoints.pause(endpoint_id(endpoint, database_url)), database_url, as_json=json)


@_webhooks.command()
def resume(endpoint: EndpointName, *, database_url: PostgresUrl = None, json: Json = False) -> None:
    """Make a paused or disabled endpoint active again, and forget its failures."""
    change(endpoints.resume(endpoint_id(endpoint, database_url)), database_url, as_json=json)


@_webhooks.command()
def disable(
    endpoint: EndpointName,
    *,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="The reason, for people.")] = "disabled by hand",
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """Stop sending to an endpoint, and cancel its pending deliveries."""
    key = endpoint_id(endpoint, database_url)
    change(endpoints.disable(key, reason=reason), database_url, as_json=json)


@_webhooks.command()
def delete(endpoint: EndpointName, *, database_url: PostgresUrl = None, json: Json = False) -> None:
    """Delete an endpoint, and cancel its pending deliveries. All its deliveries stay on record."""
    key = endpoint_id(endpoint, database_url)
    change(endpoints.delete(key), database_url, as_json=json)
    output.words("It is deleted. This is what it was.")


@_webhooks.command()
def rotate_secret(
    endpoint: EndpointName,
    *,
    overlap: Annotated[
        timedelta, duration(meaning="How long the old secret signs as well; 0 ends it at once.", or_zero=True)
    ] = "24h",  # type: ignore[assignment]  # Typer parses it
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """Give an endpoint a new secret, and print it. It is not shown again."""
    new = endpoints.rotate_secret(
        endpoint_id(endpoint, database_url), keys=KeyRing.of(Settings.load()), overlap=overlap
    )
    with connect(database_url) as conn, operator(conn):
        show_secret(fetch_one(conn, new), as_json=json)


@_webhooks.command()
def ping(endpoint: EndpointName, *, database_url: PostgresUrl = None, json: Json = False) -> None:
    """Send the event webhook.ping to an endpoint."""
    change(deliveries.ping(endpoint_id(endpoint, database_url)), database_url, as_json=json, show=show_delivery)


@_webhooks.command()
def reencrypt(*, database_url: PostgresUrl = None) -> None:
    """Seal all secrets again, with the first key of SVC_ENCRYPTION_KEYS. The others can then be removed."""
    with connect(database_url) as conn:
        conn.autocommit = True
        count = reencryption.reencrypt(conn, KeyRing.of(Settings.load()))
    sealed = f"The secrets of {counted(count, 'endpoint')} are sealed anew"
    output.words(f"{sealed}; the others were sealed with the first key already.")


def _symptoms(health: EndpointHealth) -> Iterator[str]:
    if health.disabled_reason:
        yield printable(health.disabled_reason)
    if health.failing_since:
        why = f": {printable(health.last_failure)}" if health.last_failure else ""
        yield f"{counted(health.failure_streak, 'failure')} in a row since {records.text(health.failing_since)}{why}"
    if health.breaker_until and health.health == "broken":
        yield f"breaker open until {records.text(health.breaker_until)}"
    if health.throttled_until and health.health == "throttled":
        yield f"the receiver asked to wait until {records.text(health.throttled_until)}"
    if health.failed_deliveries:
        least = "at least " if health.failed_deliveries == endpoint_health.MOST_COUNTED else ""
        yield f"{least}{counted(health.failed_deliveries, 'delivery')} of the last day failed"
    if health.backlog_age:
        yield f"the first delivery is {durations.rounded(health.backlog_age.total_seconds())} late"
    if health.client_certificate_expires_at:
        yield f"client certificate ends {records.text(health.client_certificate_expires_at)}"
    last = health.last_success_at
    yield "no success yet" if last is None else f"last success {records.text(last)}"


def _shown(health: EndpointStats) -> dict[str, object]:
    return {
        "deliveries of the last day": ", ".join(f"{n} {status}" for status, n in health.deliveries.items()),
        "attempts": ", ".join(f"{n} {outcome}" for outcome, n in health.attempts.items()),
        "seconds an attempt": "" if health.p50 is None else f"p50 {health.p50:.3f}, p95 {health.p95:.3f}",
        "failures in a row": health.failure_streak,
        "failing since": health.failing_since,
        "breaker open until": health.breaker_until,
        "receiver asked to wait until": health.throttled_until,
        "last success": health.last_success_at,
        "last failure": health.last_failure_at,
        "its error": health.last_failure and printable(health.last_failure),
    }
