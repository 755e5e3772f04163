"""The connection through which a revision looks at its database, inside its own transaction, with any driver."""

from functools import partial
from typing import Any

import psycopg

from svc_pg.database.dialects import dialect_of, driver_connection
from svc_pg.database.relayed_connection import relayed


def revision_connection(bind: Any) -> Any:
    """Psycopg's connection behind SQLAlchemy's or Django's, or one that relays statements to another driver's.

    Of SQLite, MySQL and MariaDB it is the driver's own. Raises ConfigError for a database that svc-pg does not know.
    """
    if dialect_of(bind) != "postgresql":
        return driver_connection(bind)
    dbapi = bind.connection if hasattr(bind, "exec_driver_sql") else driver_connection(bind)
    driver = driver_connection(bind)
    return driver if isinstance(driver, psycopg.Connection) else relayed(partial(_executed, dbapi))


def _executed(dbapi: Any, statement: str) -> Any:
    cursor = dbapi.cursor()  # SQLAlchemy's makes async drivers sync, which their own would not
    cursor.execute(statement)
    return cursor
