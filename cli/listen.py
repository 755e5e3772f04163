"""The command ``listen``."""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Annotated, Final

import typer
import uvicorn
from rich.console import Console
from rich.highlighter import JSONHighlighter
from rich.text import Text

from svc_pg.database.query import RawJson
from svc_pg.formats.json_writer import encode
from svc_pg.webhooks.signing import check_secret

from . import json_text, output
from .listening import base_url, listening
from .receiver import Arrival, receiver

app = typer.Typer()

_LONGEST: Final = 2000  # characters of a body that is not JSON
_console = Console(highlight=False, soft_wrap=True)


@app.command()
def listen(
    *,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="The port; 0 takes a free one.")] = 8080,
    secret: Annotated[
        list[str] | None,
        typer.Option(
            envvar="SVC_WEBHOOK_SECRET",
            metavar="whsec_...",
            help="The secret or public key that webhooks add printed. Repeat it if any of several may match.",
        ),
    ] = None,
    status: Annotated[
        int, typer.Option(min=200, max=599, metavar="N", help="The status that answers an accepted webhook.")
    ] = 204,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON object a line.")] = False,
) -> None:
    """Receive webhooks on this machine, verify them and show them, until Ctrl-C. For development."""
    secrets = secret or []
    if secrets:
        check_secret(secrets)
    site = receiver(secrets, status=status, on_arrival=partial(_print, _json_line if json else _text))
    # always h11: it shows header values that other parsers refuse
    server = uvicorn.Server(uvicorn.Config(site, http="h11", lifespan="off", log_level="warning", access_log=False))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # it ends like Ctrl-C
    with suppress(KeyboardInterrupt), listening(host, port) as listener:
        _introduce(f"{base_url(host, listener)}/", is_verifying=bool(secrets))
        server.run(sockets=[listener])


def _introduce(url: str, *, is_verifying: bool) -> None:
    output.words(f"Listening on {url} until Ctrl-C.")
    if is_verifying:
        return
    output.words(
        "Without a secret nothing is verified. Register this receiver, and start again with the secret it gets:\n"
        f"  svc-pg webhooks add --url {url} --event '*'\n"
        "  svc-pg listen --secret whsec_...\n"
        "An address of your own machine needs, below [webhooks] in svc-pg.toml: allow_http = true and"
        ' allow_cidrs = ["127.0.0.0/8"]'
    )


def _print(show: Callable[[Arrival], str], arrival: Arrival) -> None:
    try:
        typer.echo(show(arrival))
    except BrokenPipeError:  # the reader, for example head, has left: this is the end, and no error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        signal.raise_signal(signal.SIGINT)


def _json_line(arrival: Arrival) -> str:
    members = {
        "receivedAt": arrival.received_at,
        "deliveryId": arrival.delivery_id,
        "event": arrival.event,
        "isVerified": arrival.is_verified,
        "reason": arrival.reason,
        "status": arrival.status,
        "body": RawJson(arrival.body) if arrival.is_json else arrival.body,
    }
    return json_text.one_line(encode(members, errors="backslashreplace").decode())


def _text(arrival: Arrival) -> str:
    parts = [
        Text(f"{arrival.received_at.astimezone():%H:%M:%S}", "dim"),
        Text(json_text.printable(arrival.event) or "(no event)", "bold"),
        Text(json_text.printable(arrival.delivery_id) or "(no id)"),
        _verification(arrival),
    ]
    with _console.capture() as captured:  # printed by _print, which notices a reader that left
        _console.print(Text("  ").join(parts))
        _console.print(_body(arrival), end="")
    return captured.get()


def _verification(arrival: Arrival) -> Text:
    if arrival.is_verified is None:
        return Text("not verified", "yellow")
    if arrival.is_verified:
        return Text("verified", "green")
    return Text(f"refused: {json_text.printable(arrival.reason or '')}", "bold red")


def _body(arrival: Arrival) -> Text:
    if arrival.is_json:
        return JSONHighlighter()(json_text.indented(arrival.body))
    cut = "…" if len(arrival.body) > _LONGEST else ""
    return Text(json_text.printable(arrival.body[:_LONGEST]) + cut)
