"""Delete rows in batches, each in a transaction of its own."""

from datetime import timedelta
from typing import Any, Final, LiteralString
from uuid import UUID

from psycopg import Connection

from svc_pg.database.query import scalar
from svc_pg.errors import TransactionError
from svc_pg.formats.plurals import counted

_BATCH: Final = 5000


def check_autocommit(conn: Connection[Any]) -> None:
    """Raise TransactionError if a connection is not in autocommit."""
    if not conn.autocommit:
        raise TransactionError(
            "the connection is not in autocommit", hint="Each batch is a transaction of its own: conn.autocommit = True"
        )


def in_batches(conn: Connection[Any], statement: LiteralString, params: tuple[object, ...]) -> int:
    """Run batches until one is not full: on a busy database some row has always just expired."""
    removed, rows = 0, _BATCH
    while rows >= _BATCH:
        rows = scalar(conn, statement, (*params, _BATCH))
        removed += rows
    return removed


def in_stretches(
    conn: Connection[Any], end: LiteralString, prune: LiteralString, params: tuple[object, ...], *, kept: timedelta
) -> int:
    """Go once through the ids that are older than ``kept``, so that rows that stay are not read again and again."""
    removed, after = 0, UUID(int=0)
    horizon = scalar(conn, "select svc.uuid7_at(now() - %s)", (kept,))
    while after is not None and after < horizon:
        until = scalar(conn, end, (after, _BATCH - 1))  # None: fewer than a batch are left
        removed += scalar(conn, prune, (*params, _BATCH, after, until))
        after = until
    return removed


def added(rows: int) -> str | None:
    """The number of added rows in words; None if there were none."""
    return f"added {counted(rows, 'row')}" if rows else None


def removed(rows: int) -> str | None:
    """The number of removed rows in words; None if there were none."""
    return f"removed {counted(rows, 'row')}" if rows else None
