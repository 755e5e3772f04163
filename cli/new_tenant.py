"""Check the tenant of a new object: refuse one that is unknown, and report the first object of a tenant."""

from typing import Any

from psycopg import Connection

from . import output
from .json_text import printable


def is_new(conn: Connection[Any], tenant: str) -> bool:
    """True if the tenant has nothing in the database yet. Raises NotFoundError and QueryError as for a link."""
    from svc_pg.console.sign_in import known_tenants  # here, because other commands need no web framework

    known_tenants.refuse_unknown(conn, tenant)
    return known_tenants.is_new(conn, tenant)


def tell(tenant: str) -> None:
    """Print that the tenant has nothing else yet."""
    output.words(f"Nothing else in this database is of the tenant {printable(tenant)}; is it spelt as you send it?")
