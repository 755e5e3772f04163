"""The commands ``webhooks ...`` that steer endpoints and look after the queue."""

import getpass
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Annotated, Any, Final

import typer
from psycopg import Connection

from svc_pg import Config, audit, durations
from svc_pg.errors import QueryError
from svc_pg.query import Query, fetch, scalar
from svc_pg.webhooks import deliveries, endpoints
from svc_pg.webhooks.endpoint_stats import EndpointStats, stats
from svc_pg.webhooks.endpoints import Endpoint, NewSecret
from svc_pg.webhooks.key_rotation import rotate_key

from . import output
from .options import ConfigReference, DatabaseUrl, Json, connect, encryption_keys, guard

EndpointId = Annotated[str, typer.Argument(metavar="ENDPOINT", help="The endpoint's id.", show_default=False)]

_PRUNE: Final = "select svc.webhook_prune(%s, %s)"


def add_to(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Steer webhook endpoints and their deliveries.", no_args_is_help=True)
    for name, command in _COMMANDS.items():
        group.command(name)(command)
    app.add_typer(group, name="webhooks")


def add(
    *,
    url: Annotated[str, typer.Option(help="Where to POST.", show_default=False)],
    event: Annotated[list[str], typer.Option(help='An event, "order.*" or "*"; repeat it for more.')],
    description: Annotated[str, typer.Option(help="A note for people.")] = "",
    tenant: Annotated[str | None, typer.Option(help="Only messages of this tenant.")] = None,
    header: Annotated[
        list[str] | None, typer.Option(help='Sent with every attempt, such as "Authorization: Bearer x".')
    ] = None,
    database_url: DatabaseUrl = None,
    config: ConfigReference = None,
    json: Json = False,
) -> None:
    """Register an endpoint and print its secret, this once."""
    new = endpoints.new(
        url=url,
        events=event,
        keys=encryption_keys(),
        guard=guard(Config.find(config)),
        description=description,
        tenant=tenant,
        headers=dict(_header(text) for text in header or ()),
    )
    with connect(database_url) as conn, _operator(conn):
        _print_secret(_one(conn, new.query), new, as_json=json)


def list_(
    *,
    status: Annotated[str | None, typer.Option(help="Only active, paused or disabled ones.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many, newest first.")] = 100,
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """List endpoints."""
    wanted = endpoints.query().limit(limit)
    with connect(database_url) as conn:
        found = (wanted.status(status) if status else wanted).list(conn).endpoints
    if json:
        output.json_record(found)
        return
    rows = [[each.id, each.status, each.url, ", ".join(each.events), each.tenant or ""] for each in found]
    output.table("", ["id", "status", "url", "events", "tenant"], rows, folding={"url", "events"})


def show(endpoint: EndpointId, *, database_url: DatabaseUrl = None, json: Json = False) -> None:
    """Show an endpoint, its health and what became of its deliveries of the last day."""
    with connect(database_url) as conn:
        found, health = _one(conn, endpoints.get(endpoint)), _one(conn, stats(endpoint))
    if json:
        output.json_record({"endpoint": found, "stats": health})
        return
    output.record(found)
    output.data("")
    output.record(_shown(health))


def pause(endpoint: EndpointId, *, database_url: DatabaseUrl = None, json: Json = False) -> None:
    """Send nothing to an endpoint for now; what is pending waits."""
    _change(endpoints.pause(endpoint), database_url, as_json=json)


def resume(endpoint: EndpointId, *, database_url: DatabaseUrl = None, json: Json = False) -> None:
    """Make a paused or disabled endpoint active again and forget its failures."""
    _change(endpoints.resume(endpoint), database_url, as_json=json)


def disable(
    endpoint: EndpointId,
    *,
    reason: Annotated[str, typer.Option(help="Why, for people.")] = "disabled by hand",
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Send nothing to an endpoint any more and cancel what is pending."""
    _change(endpoints.disable(endpoint, reason=reason), database_url, as_json=json)


def delete(endpoint: EndpointId, *, database_url: DatabaseUrl = None, json: Json = False) -> None:
    """Delete an endpoint and cancel what is pending for it; its deliveries stay on record."""
    _change(endpoints.delete(endpoint), database_url, as_json=json)


def rotate_secret(
    endpoint: EndpointId,
    *,
    overlap: Annotated[str, typer.Option(help="How long the secret before signs too; 0 for not at all.")] = "24h",
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Give an endpoint a new secret and print it, this once."""
    duration = timedelta(0) if overlap == "0" else _duration(overlap)
    new = endpoints.rotate_secret(endpoint, keys=encryption_keys(), overlap=duration)
    with connect(database_url) as conn, _operator(conn):
        _print_secret(_one(conn, new.query), new, as_json=json)


def ping(endpoint: EndpointId, *, database_url: DatabaseUrl = None, json: Json = False) -> None:
    """Send the event webhook.ping to an endpoint."""
    _change(deliveries.ping(endpoint), database_url, as_json=json)


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
    rows = [
        [each.id, each.event_name, each.status, f"{each.attempts}/{each.max_attempts}", each.last_error or ""]
        for each in found
    ]
    output.table("", ["id", "event", "status", "attempts", "last error"], rows, folding={"last error"})


def retry(
    delivery: Annotated[str, typer.Argument(help="The delivery's id.", show_default=False)],
    *,
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Make a failed or canceled delivery due now."""
    _change(deliveries.retry(delivery), database_url, as_json=json)


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
                batch = _one(conn, deliveries.recover(endpoint, since=since, dry_run=dry_run))
            count, is_complete = count + batch.count, batch.is_complete or dry_run
    if json:
        output.json_record({"count": count, "isDryRun": dry_run})
        return
    output.words(f"{count} deliveries would be tried again." if dry_run else f"{count} deliveries are due again.")


def prune(
    *,
    delivered: Annotated[str, typer.Option(help="How long delivered ones are kept.")] = "7d",
    failed: Annotated[str, typer.Option(help="How long failed and canceled ones are kept.")] = "30d",
    database_url: DatabaseUrl = None,
) -> None:
    """Delete finished deliveries that are older than they are kept, with their attempts and messages."""
    keep, count = (_duration(delivered), _duration(failed)), 0
    with connect(database_url) as conn:
        conn.autocommit = True
        while rows := scalar(conn, _PRUNE, keep):
            count += rows
    output.words(f"{count} deliveries and messages deleted.")


def rotate_encryption_key(*, database_url: DatabaseUrl = None) -> None:
    """Seal all secrets anew with the first key of SVC_ENCRYPTION_KEYS; then the others can go."""
    with connect(database_url) as conn:
        conn.autocommit = True
        count = rotate_key(conn, encryption_keys())
    output.words(f"The secrets of {count} endpoints are sealed anew.")


_COMMANDS: Final[dict[str, Callable[..., None]]] = {
    "add": add,
    "list": list_,
    "show": show,
    "pause": pause,
    "resume": resume,
    "disable": disable,
    "delete": delete,
    "rotate-secret": rotate_secret,
    "ping": ping,
    "deliveries": list_deliveries,
    "retry": retry,
    "recover": recover,
    "prune": prune,
    "rotate-key": rotate_encryption_key,
}


@contextmanager
def _operator(conn: "Connection[Any]") -> Iterator[None]:
    """The audit log names the user of this machine as the actor."""
    with audit.actor(conn, getpass.getuser(), context={"program": "svc-pg"}):
        yield


def _one(conn: "Connection[Any]", query: Query[Any]) -> Any:
    [row] = fetch(conn, query)
    return row


def _change(query: Query[Any], database_url: str | None, *, as_json: bool) -> None:
    with connect(database_url) as conn, _operator(conn):
        row = _one(conn, query)
    if as_json:
        output.json_record(row)
    else:
        output.record(row)


def _print_secret(endpoint: Endpoint, new: NewSecret, *, as_json: bool) -> None:
    shown = {"id": endpoint.id, "url": endpoint.url, "events": endpoint.events, "secret": new.secret}
    if as_json:
        output.json_record(shown)
        return
    output.record(shown)
    output.words("The secret is shown only now. Give it to the receiver, who verifies signatures with it.")


def _shown(health: EndpointStats) -> dict[str, object]:
    return {
        "deliveries of the last day": ", ".join(f"{n} {status}" for status, n in health.deliveries.value.items()),
        "attempts": ", ".join(f"{n} {outcome}" for outcome, n in health.attempts.value.items()),
        "seconds an attempt": "" if health.p50 is None else f"p50 {health.p50:.3f}, p95 {health.p95:.3f}",
        "failures in a row": health.failure_streak,
        "failing since": health.failing_since,
        "breaker open until": health.breaker_until,
        "last success": health.last_success_at,
        "last failure": health.last_failure_at,
    }


def _header(text: str) -> tuple[str, str]:
    name, separator, value = text.partition(":")
    if not separator:
        raise typer.BadParameter(f"{text!r} is not a header; write Name: value")
    return name.strip(), value.strip()


def _duration(text: str) -> timedelta:
    try:
        return durations.parse(text)
    except ValueError as error:
        raise QueryError(str(error)) from error
