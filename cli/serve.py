"""The command ``serve``."""

import asyncio
import logging
import re
import signal
import socket
from contextlib import suppress
from typing import Annotated, Final

import typer
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route

from svc_pg import Config
from svc_pg.console import Console, register_tenants, webhooks_app
from svc_pg.console.pages.site import PATH as PAGES_PATH
from svc_pg.console.transport.prefix import PREFIX
from svc_pg.database import addresses
from svc_pg.database.conninfo import Conninfo
from svc_pg.errors import SvcError
from svc_pg.settings import Settings

from . import output
from .client_connections import ANSWERED, BoundedProtocol
from .console.address import HOST_VARIABLE, PORT, PORT_VARIABLE, PORTS
from .database import conninfo
from .installation import require_svc
from .listening import base_url, listening
from .options import ConfigReference, PostgresUrl

app = typer.Typer()

_GRACE_SECONDS: Final = 5  # Docker kills after 10, and mail under way ends too
_PATH: Final = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)+")


@app.command()
def serve(
    *,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", envvar=HOST_VARIABLE, help="The address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            min=PORTS[0], max=PORTS[-1], metavar="N", envvar=PORT_VARIABLE, help="The port; 0 takes a free one."
        ),
    ] = PORT,
    webhooks_path: Annotated[str, typer.Option(metavar="PATH", help="The path of the webhooks API.")] = (
        "/api/webhooks"
    ),
    audit_log: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Show the audit log of this database, of any kind. Default: SVC_AUDIT_LOG_URL, or that of the database"
            " itself.",
            show_default=False,
        ),
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Write nothing, for example on a standby; refuse all changes.")
    ] = False,
    database_url: PostgresUrl = None,
    config: ConfigReference = None,
) -> None:
    """Serve the console and the webhooks API, until SIGTERM or Ctrl-C.

    Requests under way then have 5 seconds to end.
    """
    if not _PATH.fullmatch(webhooks_path):
        raise typer.BadParameter("write a path such as /api/webhooks", param_hint="--webhooks-path")
    if f"{webhooks_path}/".startswith(f"{PREFIX}/"):
        raise typer.BadParameter(
            f"all below {PREFIX} is the console's; write a path such as /api/webhooks", param_hint="--webhooks-path"
        )

    conninfo(database_url)
    settings = Settings.load(**({} if database_url is None else {"database_url": database_url}))
    console = Console(settings, config=Config.find(config), audit_log=audit_log, is_read_only=read_only)
    register_tenants(console)
    has_webhooks = require_svc(database_url, is_written=not read_only)
    _require_log(audit_log, settings)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    routes = [Route(path, _lead_to_console) for path in ("/", PREFIX)]
    site = Starlette(routes=[*routes, Mount(webhooks_path, webhooks_app(console))], lifespan=console.lifespan)
    console.install(site)
    # X-Forwarded-For is read by the console itself, from SVC_CONSOLE_TRUSTED_PROXIES alone
    server = uvicorn.Server(
        uvicorn.Config(
            site,
            http=BoundedProtocol,
            lifespan="on",
            ws="none",
            proxy_headers=False,
            server_header=False,
            limit_concurrency=ANSWERED,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
    )
    # that requests are canceled at the end is said once, not with a traceback for each
    logging.getLogger("uvicorn.error").addFilter(lambda record: not _is_canceled(record))
    logging.getLogger("uvicorn.access").addFilter(_without_query)
    with listening(host, port) as listener:
        url = base_url(host, listener)
        api = f", the API of webhooks at {url}{webhooks_path}/" if has_webhooks else ""
        output.words(f"The console is at {url}{PREFIX}/{api}")
        _run(server, listener)


async def _lead_to_console(request: Request) -> Response:
    """The way to the pages, from addresses that are not the console's."""
    return RedirectResponse(f"{request.scope.get('root_path', '')}{PREFIX}{PAGES_PATH}", 307)


def _require_log(audit_log: str | None, settings: Settings) -> None:
    """Raise SvcError if the audit log is in another database of PostgreSQL, which cannot be read."""
    url = audit_log or (settings.audit_log_url and settings.audit_log_url.get_secret_value())
    if url and isinstance(addresses.parse(url, name="--audit-log"), Conninfo):
        try:
            require_svc(url)
        except SvcError as error:
            raise SvcError(f"the audit log's database: {error.message}", hint=error.hint) from error


def _is_canceled(record: logging.LogRecord) -> bool:
    return record.exc_info is not None and isinstance(record.exc_info[1], asyncio.CancelledError)


def _without_query(record: logging.LogRecord) -> bool:
    """Leave the query out of the log line of a request: it may hold the token of a link, or the words of a search."""
    match record.args:
        case (client, method, str(target), version, status):
            record.args = (client, method, target.partition("?")[0], version, status)
    return True


def _run(server: uvicorn.Server, listener: socket.socket) -> None:
    """Run until a signal, which counts as success: uvicorn repeats the signal at its end, for other handlers."""

    def end(_number: int, _frame: object) -> None:
        raise SystemExit(0)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    with suppress(SystemExit):
        server.run(sockets=[listener])
    if not server.started:
        raise SvcError("the console did not start; the log above says why")
