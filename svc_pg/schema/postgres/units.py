"""The units of an install: transactions that hold the install lock, tried again if others are in the way."""

from collections.abc import Callable
from typing import Any, TypeVar

from psycopg import Connection, Error

from svc_pg.schema.install_waits import TRIES
from svc_pg.schema.postgres import diagnosis
from svc_pg.schema.postgres.transactions import Patience, locked

Result = TypeVar("Result")


def in_unit(
    conn: Connection[Any],
    patience: Patience,
    work: Callable[[], Result],
    *,
    table: str | None = None,
    tries: int = TRIES,
) -> Result:
    """Do ``work`` in a transaction that holds the install lock; try again if others are in the way."""
    while True:
        tries -= 1
        try:
            with locked(conn, patience):
                return work()
        except Error as error:
            if not (tries and isinstance(error, diagnosis.PASSING)):
                raise diagnosis.diagnose(conn, error, table=table) from error
