"""The tenant that an operator names for something new: refused if it is unknown, and told if it is the first of it."""

from typing import Any

from psycopg import Connection

from . import output
from .json_text import printable


def is_new(conn: Connection[Any], tenant: str) -> bool:
    """True if nothing in the database is of this tenant. Raises NotFoundError and QueryError as for a link."""
    from svc_pg.console.sign_in import known_tenants  # here, because other commands need no web framework

    known_tenants.refuse_unknown(conn, tenant)
    return known_tenants.is_new(conn, tenant)


def tell(tenant: str) -> None:
    """Say that nothing else is of this tenant."""
    output.words(f"Nothing else in this database is of the tenant {printable(tenant)}; is it spelt as you send it?")
