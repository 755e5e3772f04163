"""The commands ``webhooks add`` and ``worker``."""

import asyncio
import logging
import signal
from datetime import timedelta
from typing import Annotated

import typer

from svc_pg import Config
from svc_pg.webhooks import endpoints

from . import output
from .options import ConfigReference, DatabaseUrl, Json, connect, conninfo, encryption_keys, guard

_webhooks = typer.Typer(help="Manage webhook endpoints.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    _webhooks.command("add")(add)
    _webhooks.callback()(lambda: None)
    app.add_typer(_webhooks, name="webhooks")
    app.command()(worker)


def add(
    *,
    url: Annotated[str, typer.Option(help="Where to POST.", show_default=False)],
    event: Annotated[list[str], typer.Option(help='An event, "order.*" or "*"; repeat it for more.')],
    description: Annotated[str, typer.Option(help="A note for people.")] = "",
    tenant: Annotated[str | None, typer.Option(help="Only messages of this tenant.")] = None,
    database_url: DatabaseUrl = None,
    config: ConfigReference = None,
    json: Json = False,
) -> None:
    """Register an endpoint and print its secret, this once."""
    allowed = guard(Config.find(config))
    keys = encryption_keys()
    with connect(database_url) as conn:
        endpoint, secret = endpoints.create(
            conn, url=url, events=event, keys=keys, guard=allowed, description=description, tenant=tenant
        )
    if json:
        output.json_data({"id": endpoint.id, "url": endpoint.url, "events": endpoint.events, "secret": secret})
        return
    output.data(
        f"id      {endpoint.id}\nurl     {endpoint.url}\nevents  {', '.join(endpoint.events)}\nsecret  {secret}"
    )
    output.words("The secret is shown only now. Give it to the receiver, who verifies signatures with it.")


def worker(
    *,
    concurrency: Annotated[int, typer.Option(min=1, max=1000, help="POSTs at a time.")] = 50,
    interval: Annotated[
        int, typer.Option(min=10, help="Milliseconds between polls where the worker cannot listen.")
    ] = 2000,
    listen_url: Annotated[
        str | None, typer.Option(help="A direct connection to listen on, where --database-url is a pooler's.")
    ] = None,
    database_url: DatabaseUrl = None,
    config: ConfigReference = None,
) -> None:
    """Deliver webhooks until SIGTERM or Ctrl-C; then finish what is under way."""
    from svc_pg.webhooks.worker import Worker  # it loads aiohttp, which other commands do not need

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    runner = Worker(
        conninfo(database_url),
        keys=encryption_keys(),
        config=Config.find(config),
        concurrency=concurrency,
        interval=timedelta(milliseconds=interval),
        listen_conninfo=listen_url,
    )

    async def run() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, runner.stop)
        await runner.run()

    asyncio.run(run())
