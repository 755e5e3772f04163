"""The forms in which psycopg reads times and intervals, whatever a server, a database or a role has set."""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Connection

READABLE: Final = "set_config('datestyle', 'iso', {0}), set_config('intervalstyle', 'postgres', {0})"
"""Expressions of SQL that choose them, with whether for the transaction only."""
_FOR_THE_SESSION: Final = "select " + READABLE.replace("{0}", "false")


def choose(conn: "Connection[Any]") -> None:
    """Choose them for the session of a new connection, which stays outside a transaction."""
    if not _are_chosen(conn):
        with conn.transaction():
            conn.execute(_FOR_THE_SESSION)


async def achoose(conn: "AsyncConnection[Any]") -> None:
    """As ``choose``, for an async connection."""
    if not _are_chosen(conn):
        async with conn.transaction():
            await conn.execute(_FOR_THE_SESSION)


def _are_chosen(conn: "Connection[Any] | AsyncConnection[Any]") -> bool:
    """As the server has told with the connection; a pooler that tells nothing has the defaults."""
    told = conn.info.parameter_status
    return (told("DateStyle") or "ISO").startswith("ISO") and (told("IntervalStyle") or "postgres") == "postgres"
