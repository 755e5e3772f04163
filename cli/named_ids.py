"""The ids of endpoints and tenants that people name in other words."""

from typing import Annotated, Any, Final
from uuid import UUID

import typer
from psycopg import Connection

from svc_pg.database.conninfo import Conninfo
from svc_pg.database.query import fetch_one
from svc_pg.errors import QueryError
from svc_pg.status.webhooks_installed import webhooks_installed, with_webhooks

from . import output
from .database import address, connect
from .json_text import printable
from .optional_read import optional_read

EndpointName = Annotated[
    str,
    typer.Argument(
        metavar="ENDPOINT",
        help="The endpoint: its id, its description, its URL or its host.",
        show_default=False,
    ),
]
_TENANTS: Final = "select id::text, name from svc.tenants where id::text = %s or lower(name) = lower(%s) limit 10"
_IN_USE: Final = """
select exists (select from svc.webhook_endpoints e where e.tenant = %(tenant)s)
    or exists (select from svc.webhook_messages m where m.tenant = %(tenant)s)
    or exists (select from svc.console_tokens where tenant = %(tenant)s)
    or exists (select from svc.console_sessions where tenant = %(tenant)s)
"""


def endpoint_id(text: str, database_url: str | None) -> str:
    """The id of the endpoint that a text names. Raises NotFoundError and QueryError as ``id_of``."""
    if _is_id(text):
        return text
    from svc_pg.webhooks.endpoints.endpoint_names import id_of  # it loads cryptography, which the help does not need

    with connect(database_url) as conn:
        return id_of(conn, text)


def tenant_id(text: str, database_url: str | None) -> str:
    """The id of the tenant in svc.tenants that has this name; else the text, which is an id itself.

    An id that something of a tenant has goes before a name. Raises QueryError if several have the name, or only in
    other case.
    """
    if _is_id(text) or not isinstance(address(database_url), Conninfo):
        return text
    nothing: list[tuple[str, str]] = []
    with connect(database_url) as conn:
        found = optional_read(conn, lambda conn: _tenants(conn, text), nothing)
        if not found or text in [key for key, _ in found]:
            return text
        if optional_read(conn, lambda conn: _is_used(conn, text), otherwise=False):
            return text
    exact = [each for each in found if each[1] == text]
    if len(exact) != 1:
        listed = ", ".join(f"{key} ({name})" for key, name in exact or found)
        raise QueryError(f"{text!r} may be one of these tenants", hint=f"Write its id, or its name as it is: {listed}.")
    [(key, name)] = exact
    output.words(f"{printable(name)} is the tenant {key}.")
    return key


def _tenants(conn: Connection[Any], text: str) -> list[tuple[str, str]]:
    return conn.execute(_TENANTS, (text, text)).fetchall()


def _is_used(conn: Connection[Any], text: str) -> bool:
    statement = with_webhooks(_IN_USE, has_webhooks=fetch_one(conn, webhooks_installed()))
    [[is_used]] = conn.execute(statement, {"tenant": text}).fetchall()
    return bool(is_used)


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
