"""Tell the triggers of a SQLite database the current actor, on connections of sqlite3, pysqlite3 and aiosqlite.

The triggers ask as they write a row, so statements, transactions and savepoints cost nothing and leave nothing behind.
The actor is that of the thread or task that runs the statement. Threads that share a connection of sqlite3 must take
turns, as Python's documentation says: one that runs a statement waits for the interpreter when the triggers ask.
"""

import sqlite3
from typing import Any, TypeVar

from svc_pg.database.dialects import dialect_of, driver_connection
from svc_pg.errors import ConfigError
from svc_pg.other_databases.actors.sqlite import answer, answer_async

Target = TypeVar("Target")


def with_audit(conn: Target) -> Target:
    """Let a connection tell the current actor, and return it. Idempotent.

    A connection of aiosqlite need not be open yet. Raises ConfigError if ``trusted_schema`` is off; a connection of
    aiosqlite raises it at its first statement. If it is switched off later, writes to audited tables fail.
    """
    if dialect_of(conn) != "sqlite":
        raise ConfigError(f"{type(conn).__name__} is not a connection to SQLite")
    driver: Any = driver_connection(conn)
    if hasattr(driver, "_execute"):
        answer_async(driver)
    else:
        answer(driver)
    return conn


def is_audited(conn: Any) -> bool:
    """True if a connection of sqlite3 is ``with_audit``. Reads no table, so a transaction gets no lock by it."""
    try:
        conn.execute("select svc_context()").close()
    except sqlite3.OperationalError:  # no such function
        return False
    return True
