"""Reconcile audited tables with the log: compare the rows with the last images of their records."""

from collections.abc import Callable
from typing import Any, Final

from svc_pg.audit.log.audit_log import log_of
from svc_pg.audit.log.reconciliation import Pace, Progress, Reconciliation
from svc_pg.config import Config

_MOST: Final = 100
"""The default number of differences of each table that a report names."""


def reconcile(
    conn: Any,
    config: Config,
    *,
    table: str | None = None,
    repair: bool = False,
    after: str | None = None,
    nice_ratio: float = 0.0,
    most: int = _MOST,
    progress: Callable[[Progress], None] = lambda _: None,
    is_over: Callable[[], bool] = lambda: False,
) -> Reconciliation:
    """Compare the rows of each audited table, or of one, with the last images of their records in the log.

    Reports records that are missing in the log, that differ, and in which fields, and that are in the log only: what
    changed while no trigger told of it. ``config`` is the installed configuration. Values are compared as the log has
    them: a hashed column by its hash, a capped value by its digest, a removed one not at all. Nor are ignored columns,
    erased values, columns that the table has no longer, or tables without a key; of a table with ``record_when`` only
    rows count that an INSERT of now would record and the log does not know.

    It reads a table in pieces of 64 pages, and then the records of the log in pieces of 5000, each in one statement and
    a transaction of its own: entries of running transactions make no difference, no snapshot lives longer, and writers
    do not wait. It runs no code of a table's owner. A table that stays locked, was changed meanwhile or refuses for
    another reason ends the comparison of itself alone: its report names the ``problem``.

    After each piece, and at the end of each table, ``progress`` is called; if ``is_over`` then says so, the report
    ends, and ``after`` of it is the cursor with which another call goes on. ``most`` limits the named differences of
    each table. Each piece is followed by a rest of ``nice_ratio`` times its own duration, 10 seconds at most; so the
    comparison takes less of the server the busier that is.

    With ``repair`` the log gets entries that nobody has made, labelled ``found by reconciliation``: a SNAPSHOT of each
    row that it lacks or knows otherwise, with both images, and GONE for each record that it alone has, with the last
    one. Writers wait while those of a piece are written; if one of them is at work there for long, the table is
    ``postponed``. It needs the rights of an install.

    Each table that was compared wholly gets an entry about the result, a SNAPSHOT of ``svc.audit_logs`` labelled
    ``audit log reconciled``, if the role may write one.

    On SQLite, MySQL and MariaDB pieces are 500 rows by their key, and 1000 entries; a table whose triggers are not
    those of the configuration has a ``problem``, and a repair locks the rows that it writes about.

    ``conn`` must be outside a transaction, and may lead to a standby if the connected role owns the tables. The role
    needs select and update on them, the right to read the log, and, as a superuser does, to execute the functions of
    administrators. Raises ConfigError for another configuration than the installed one,
    UnknownTableError, QueryError for a cursor that is none or of a call with another ``repair``, AccessError if the
    role may not use the log, ConflictError for the repair of a standby or of a copy of a log, TransactionError and
    NotInstalledError.
    """
    pace = Pace(nice_ratio, most, repair, progress, is_over)
    return log_of(conn).reconcile(config, table=table, after=after, pace=pace)


async def areconcile(
    conn: Any,
    config: Config,
    *,
    table: str | None = None,
    repair: bool = False,
    after: str | None = None,
    nice_ratio: float = 0.0,
    most: int = _MOST,
    progress: Callable[[Progress], None] = lambda _: None,
    is_over: Callable[[], bool] = lambda: False,
) -> Reconciliation:
    """As ``reconcile``, on an async connection to PostgreSQL. Raises ConfigError on other databases."""
    pace = Pace(nice_ratio, most, repair, progress, is_over)
    return await log_of(conn).areconcile(config, table=table, after=after, pace=pace)
