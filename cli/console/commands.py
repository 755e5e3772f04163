"""The commands ``console init``, ``openapi``, ``sign-in``, ``sessions`` and ``revoke``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer
from psycopg import Connection

from svc_pg.console.http.tokens import new_connection_token
from svc_pg.console.sign_in import known_tenants, portal_links, shell_links
from svc_pg.console.sign_in import sessions as stored
from svc_pg.console.transport.client_addresses import browser
from svc_pg.console.transport.prefix import PREFIX
from svc_pg.database.query import fetch, fetch_one
from svc_pg.errors import NotFoundError
from svc_pg.formats.plurals import counted
from svc_pg.settings import Settings

from .. import output, records
from ..confirming import Yes, confirm, end_once, over
from ..database import connect
from ..files.output_file import STANDARD_OUTPUT, opened_output, until_the_reader_leaves
from ..json_text import printable
from ..lists import show_list
from ..named_ids import tenant_id
from ..operator import operator
from ..options import After, Json, PostgresUrl
from .address import Url, base_of, warn_of
from .tokens import tokens
from .views import views

app = typer.Typer()
_console = typer.Typer(help="Set the console up, and manage its sessions.", no_args_is_help=True)
_console.add_typer(tokens, name="token")
_console.add_typer(views, name="view")
app.add_typer(_console, name="console")


@_console.command()
def init() -> None:
    """Make a connection token, and print the key that signs sessions as a line for the environment."""
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


@_console.command()
def openapi(
    *,
    to: Annotated[
        Path, typer.Option(metavar="FILE", help="The file to write, in place of an old one. - is standard output.")
    ] = STANDARD_OUTPUT,
) -> None:
    """Print the OpenAPI document of the console's API, as JSON. Needs no settings, no server and no database."""
    from svc_pg.console.published_document import published_text  # the whole console, which others do not need

    with until_the_reader_leaves(), opened_output(to) as out:
        out.write(published_text().encode())


@_console.command()
def sign_in(
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="An address of SVC_CONSOLE_ALLOWED_EMAILS.")],
    *,
    url: Url = None,
    database_url: PostgresUrl = None,
) -> None:
    """Print a link that signs a person in, once, within ten minutes, if there is no mail.

    Needs the settings of the console. Opening the link is not enough: its page has the button that signs in.
    """
    settings = Settings.load(**({} if database_url is None else {"database_url": database_url}))
    base = base_of(url)
    with connect(database_url) as conn, operator(conn):
        link = shell_links.make(conn, email, settings)
    output.data(f"{base}{PREFIX}/ui/sign-in/link?token={link.token}")
    output.words(
        f"Good once, until {records.minute(link.expires_at)}, for {link.email} with the permission {link.permission}."
    )
    warn_of(base)


@_console.command()
def sessions(
    *,
    all_: Annotated[bool, typer.Option("--all", help="Include sessions that have ended.")] = False,
    after: After = None,
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """List the sessions of the console, the newest first, up to 1,000."""
    wanted = stored.query().limit(1000)
    none = "Nobody is signed in. Auto-approved sessions are not stored."
    wanted = wanted if all_ else wanted.state("live")
    page = show_list(wanted, _session, none=none, database_url=database_url, as_json=json, after=after)
    output.more(page.next_cursor, has_limit=False)


def _session(session: stored.SessionRecord) -> Iterator[str]:
    end = f"revoked by {printable(session.revoked_by)}" if session.revoked_by else records.minute(session.expires_at)
    yield f"{session.session_id}  {printable(session.email)}  {session.permission}"
    yield f"    from {session.ip or 'unknown'}, {records.minute(session.created_at)} until {end}"


@_console.command()
def revoke(
    session_id: Annotated[
        UUID | None, typer.Argument(metavar="ID", help="The id of a session or of a link to the portal.")
    ] = None,
    *,
    tenant: Annotated[
        str | None, typer.Option(metavar="TENANT", help="All that lets somebody in for it: links, sessions and tokens.")
    ] = None,
    yes: Yes = False,
    database_url: PostgresUrl = None,
) -> None:
    """End a session, an unopened link to the portal, or all of a tenant. The next call is refused."""
    tenant = None if tenant is None else tenant_id(tenant, database_url)
    with connect(database_url) as conn:
        match session_id, tenant:
            case None, str():
                _end_access(conn, tenant, yes=yes)
            case UUID(), None:
                _end(conn, session_id, yes=yes)
            case _:
                raise typer.BadParameter("write an id, or --tenant")


def _end(conn: Connection[Any], session_id: UUID, *, yes: bool) -> None:
    words, end = _found(conn, session_id)
    end_once(conn, words, end, yes=yes, end=lambda: stored.revoke(conn, session_id))


def _found(conn: Connection[Any], session_id: UUID) -> tuple[str, str | None]:
    """A session or a link in words, and its end, if it has ended. Raises NotFoundError."""
    for session in stored.query().id(session_id).list(conn):
        tenant = f" of the tenant {printable(session.tenant)}" if session.tenant else ""
        source = f"from {session.ip or 'unknown'} with {browser(session.user_agent)}"
        words = f"of {printable(session.email)}, {session.permission}{tenant}, {source}"
        is_live = bool(stored.query().id(session_id).state("live").list(conn).data)
        end = over(session.revoked_by, is_live=is_live)
        return f"the session {session_id} {words}, since {records.minute(session.created_at)}", end
    for link in fetch(conn, portal_links.get(session_id)):
        words = f"to the portal of the tenant {printable(link.tenant)}, made by {printable(link.created_by)}"
        return f"the link {session_id} {words}", over(link.revoked_by, is_live=link.is_waiting)
    raise NotFoundError(f"no session or link has the id {session_id}", hint="List them: svc-pg console sessions --all")


def _end_access(conn: Connection[Any], tenant: str, *, yes: bool) -> None:
    words = _access(fetch_one(conn, known_tenants.access(tenant)), tenant)
    conn.commit()
    confirm(f"End {words}?", yes=yes)
    with operator(conn):
        ended = known_tenants.end_access(conn, tenant)
    conn.commit()
    output.words(f"ended {_access(ended, tenant)}")


def _access(access: known_tenants.Access, tenant: str) -> str:
    links, sessions = counted(access.links, "link"), counted(access.sessions, "session")
    return f"{links}, {sessions} and {counted(access.tokens, 'token')} of the tenant {printable(tenant)}"
