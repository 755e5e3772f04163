"""Set the current actor on connections of PyMySQL and mysqlclient to MySQL and MariaDB.

The actor is variables of the session. Before a statement runs for another actor than the one before, also for nobody,
one SET is sent; for the same actor again there is no round trip. So the next user of the connection never counts as the
previous one, in transactions, savepoints and autocommit alike. Other drivers have this through SQLAlchemy.
"""

from typing import Any, Final, TypeVar

from svc_pg.audit.context import Actor, current_actor
from svc_pg.database.dialects import dialect_of, driver_connection
from svc_pg.database.swap_class import become
from svc_pg.errors import ConfigError
from svc_pg.other_databases.actors.mysql import set_actor

Target = TypeVar("Target")

UNKNOWN: Final = object()


def with_audit(conn: Target) -> Target:
    """Set the current actor before each statement of a connection, and return it. Idempotent.

    Raises ConfigError if it is of another driver.
    """
    if dialect_of(conn) != "mysql":
        raise ConfigError(f"{type(conn).__name__} is not a connection to MySQL or MariaDB")
    driver = driver_connection(conn)
    if not sends_by_query(driver):
        raise ConfigError(
            f"with_audit does not know how {type(driver).__module__} sends statements",
            hint="Use PyMySQL, mysqlclient, SQLAlchemy's engine with_audit, or audit.actor(conn, ...).",
        )
    become(driver, _AuditedConnection)
    return conn


def sends_by_query(conn: Any) -> bool:
    """True if every cursor of the connection sends its statements by ``conn.query``, as PyMySQL and mysqlclient do."""
    send = getattr(getattr(conn, "cursorclass", None), "_query", None)
    return "query" in getattr(getattr(send, "__code__", None), "co_names", ())


def is_audited(conn: object) -> bool:
    """True if a connection is ``with_audit``."""
    return isinstance(conn, _AuditedConnection)


class _AuditedConnection:
    _svc_set_for: Actor | object | None = UNKNOWN
    """The session's actor; UNKNOWN until it was set."""

    def query(self, query: Any, *args: Any, **options: Any) -> Any:
        given: Any = super()
        actor = current_actor()
        if actor != self._svc_set_for:
            self._svc_set_for = UNKNOWN
            given.query(set_actor(actor))
            self._svc_set_for = actor
        return given.query(query, *args, **options)

    def connect(self, *args: Any, **options: Any) -> Any:
        """Connect anew, as ping does: the new session has no actor."""
        self._svc_set_for = UNKNOWN
        given: Any = super()
        return given.connect(*args, **options)
