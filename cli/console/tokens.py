"""The commands ``console token add``, ``console token list`` and ``console token revoke``."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Final

import typer

from svc_pg.console.sign_in import api_tokens, known_tenants
from svc_pg.errors import NotFoundError
from svc_pg.formats import durations
from svc_pg.settings import Permission

from .. import new_tenant, output, records
from ..confirming import Yes, end_once, over
from ..database import connect
from ..json_text import printable
from ..lists import show_list
from ..named_ids import tenant_id
from ..operator import operator
from ..options import After, Json, PostgresUrl, duration

tokens = typer.Typer(help="Manage the tokens of programs that call the console.", no_args_is_help=True)

_LIFETIME: Final = durations.text(api_tokens.LIFETIME)


@tokens.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The program; the log names it as token:NAME.")],
    *,
    permission: Annotated[Permission, typer.Option(help="What the program may do.")] = "read",
    tenant: Annotated[str | None, typer.Option(metavar="TENANT", help="Limit it to what is this tenant's.")] = None,
    expires: Annotated[timedelta, duration(meaning="How long it lasts, at most 3650d.")] = _LIFETIME,  # type: ignore[assignment]  # Typer parses it
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """Make a token, and print it. It is not shown again."""
    tenant = None if tenant is None else tenant_id(tenant, database_url)
    with connect(database_url) as conn, operator(conn):
        if tenant is not None:
            known_tenants.refuse_unknown(conn, tenant)
        made = api_tokens.add(conn, name, permission=permission, tenant=tenant, lifetime=expires)
    if json:
        records.show_json(made)
        return
    output.data(made.token)
    if tenant is not None and made.is_new_tenant:
        new_tenant.tell(tenant)
    output.words(f"The token of {name}, shown this once, good until {records.minute(made.expires_at)}.")


@tokens.command(name="list")
def list_(
    *,
    all_: Annotated[bool, typer.Option("--all", help="Include tokens that have ended.")] = False,
    after: After = None,
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """List the tokens of programs, the newest first, up to 1,000."""
    wanted = api_tokens.query().limit(1000)
    none = "No program has a token. Make one: svc-pg console token add NAME"
    wanted = wanted if all_ else wanted.state("live")
    page = show_list(wanted, _token, none=none, database_url=database_url, as_json=json, after=after)
    output.more(page.next_cursor, has_limit=False)


def _token(token: api_tokens.ApiToken) -> Iterator[str]:
    tenant = f" of tenant {printable(token.tenant)}" if token.tenant else ""
    end = (
        f"revoked by {printable(token.revoked_by)}" if token.revoked_by else f"until {records.minute(token.expires_at)}"
    )
    yield f"{token.id}  {token.name}  {token.permission}{tenant}"
    yield f"    made by {printable(token.created_by)}, {end}, {_use(token)}"


@tokens.command()
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of a live token, or an id.")],
    *,
    yes: Yes = False,
    database_url: PostgresUrl = None,
) -> None:
    """End a token. The next call with it is refused."""
    with connect(database_url) as conn:
        wanted = api_tokens.query().named(name)
        found = wanted.list(conn).data
        if not found:
            raise NotFoundError(f"no token is {name}", hint="List them: svc-pg console token list --all")
        [token] = found
        end = over(token.revoked_by, is_live=bool(wanted.state("live").list(conn).data))
        end_once(conn, _words(token), end, yes=yes, end=lambda: api_tokens.revoke(conn, token.id))


def _words(token: api_tokens.ApiToken) -> str:
    tenant = f" of the tenant {printable(token.tenant)}" if token.tenant else ""
    return f"the token {token.name}, {token.permission}{tenant}, {_use(token)}"


def _use(token: api_tokens.ApiToken) -> str:
    return f"last used {records.minute(token.last_used_at)}" if token.last_used_at else "never used"
