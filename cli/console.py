"""The commands ``console init``, ``console sessions``, ``console revoke`` and ``serve``."""

import logging
import re
import signal
import socket
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final
from uuid import UUID

import typer

from svc_pg import Config
from svc_pg.conninfo import Conninfo
from svc_pg.errors import NotFoundError, SvcError
from svc_pg.settings import Settings

from . import output
from .database import connect, require_svc
from .json_text import printable
from .listening import base_url, listening
from .operator import operator
from .options import ConfigReference, DatabaseUrl, Json

if TYPE_CHECKING:
    import uvicorn

_PATH: Final = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)+")

_console = typer.Typer(help="Set the console up, and see who is signed in.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (init, sessions, revoke):
        _console.command()(command)
    app.add_typer(_console, name="console")
    app.command()(serve)


def init() -> None:
    """Make the connection token and print its hash, the key that signs sessions, as a line for the environment."""
    from svc_pg.console.tokens import new_connection_token  # it loads the web framework, as all below svc_pg.console

    token, token_hash = new_connection_token()
    output.data(f"SVC_CONSOLE_CONNECTION_TOKEN_HASH={token_hash}")
    output.words(
        f"""
The connection token, shown this once: {token}
No request carries it: it is what the line above can be made from again, by SHA-256.

Keep both as secrets: whoever reads one can sign sessions. Another hash ends all sessions.

Say who may sign in, and how the codes get to them, such as:
SVC_CONSOLE_ALLOWED_EMAILS='{{"ann@corp.example": "admin", "*@corp.example": "read"}}'
SVC_CONSOLE_SMTP_URL='smtp://user:password@mail.corp.example:587'
SVC_CONSOLE_MAIL_FROM='console@corp.example'

The lines suit an environment file, such as systemd's, and a shell: set -a; . ./svc.env; set +a"""
    )


def sessions(
    *,
    all_: Annotated[bool, typer.Option("--all", help="Also sessions that have ended, the newest thousand.")] = False,
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Show who is signed in to the console, the newest first."""
    from svc_pg.console.sign_in.sessions import query

    wanted = query().limit(1000) if all_ else query().limit(1000).state("live")
    with connect(database_url) as conn:
        found = wanted.list(conn).sessions
    if json:
        output.json_record(found)
        return
    for session in found:
        end = f"revoked by {printable(session.revoked_by)}" if session.revoked_by else _minute(session.expires_at)
        output.data(f"{session.session_id}  {printable(session.email)}  {session.permission}")
        output.data(f"    from {session.ip or 'unknown'}, {_minute(session.created_at)} until {end}")
    if not found:
        output.words("Nobody is signed in. Auto-approved sessions are not stored.")


def _minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}Z"


def revoke(
    session_id: Annotated[UUID, typer.Argument(metavar="ID", help="A session; console sessions shows them.")],
    *,
    database_url: DatabaseUrl = None,
) -> None:
    """End a session. The next call with its token is refused."""
    from svc_pg.console.sign_in import sessions as stored

    with connect(database_url) as conn, operator(conn):
        if not stored.revoke(conn, session_id):
            raise NotFoundError(f"no session has the id {session_id}", hint="List them: svc-pg console sessions --all")
    output.words(f"ended {session_id}")


def serve(
    *,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")] = 8000,
    webhooks_path: Annotated[str, typer.Option(help="Where the API of webhooks is, beside the console.")] = (
        "/api/webhooks"
    ),
    database_url: DatabaseUrl = None,
    config: ConfigReference = None,
) -> None:
    """Serve the console and the API of webhooks as a server of its own, until SIGTERM or Ctrl-C."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import Mount

    from svc_pg.console import Console, register_tenants, webhooks_app
    from svc_pg.console.prefix import PREFIX

    if not _PATH.fullmatch(webhooks_path):
        raise typer.BadParameter("write a path such as /api/webhooks", param_hint="--webhooks-path")
    if f"{webhooks_path}/".startswith(f"{PREFIX}/"):
        raise typer.BadParameter(
            f"all below {PREFIX} is the console's; write a path such as /api/webhooks", param_hint="--webhooks-path"
        )

    if database_url is not None:
        Conninfo.parse(database_url, name="--database-url")
    settings = Settings.load(**({} if database_url is None else {"database_url": database_url}))
    console = Console(settings, config=Config.find(config))
    register_tenants(console)
    require_svc(database_url)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    app = Starlette(routes=[Mount(webhooks_path, webhooks_app(console))], lifespan=console.lifespan)
    console.install(app)
    # X-Forwarded-For is read by the console itself, from SVC_CONSOLE_TRUSTED_PROXIES alone
    server = uvicorn.Server(uvicorn.Config(app, lifespan="on", ws="none", proxy_headers=False, server_header=False))
    with listening(host, port) as listener:
        url = base_url(host, listener)
        output.words(f"The console is at {url}{PREFIX}/, the API of webhooks at {url}{webhooks_path}/")
        _run(server, listener)


def _run(server: "uvicorn.Server", listener: socket.socket) -> None:
    """Being told to end is no failure: uvicorn repeats the signal when it has ended, for whoever handles it."""

    def end(_number: int, _frame: object) -> None:
        raise SystemExit(0)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    with suppress(SystemExit):
        server.run(sockets=[listener])
    if not server.started:
        raise SvcError("the console did not start; the log above says why")
