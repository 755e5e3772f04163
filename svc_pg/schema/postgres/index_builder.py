"""Build and drop indexes of the audit log while captures go on, partition by partition."""

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from psycopg import Connection, Error
from psycopg.errors import LockNotAvailable
from psycopg.sql import SQL, Composed, Identifier

from svc_pg.database.query import Query, fetch, scalar
from svc_pg.database.statements import statement
from svc_pg.errors import InstallError
from svc_pg.schema.postgres import log_indexes
from svc_pg.schema.postgres.log_indexes import METHODS, LogIndexes
from svc_pg.schema.postgres.transactions import transaction
from svc_pg.schema.status import Status

_LACKING: Final = statement("queries/schema/lacking_index_parts.sql")
_IS_OWNER: Final = """
select pg_catalog.pg_has_role(c.relowner, 'USAGE') from pg_catalog.pg_class c where c.oid = 'svc.audit_logs'::regclass
"""
_TRIES: Final = 100
_WAIT: Final = "set local lock_timeout = '200ms'"
_PAUSE: Final = timedelta(milliseconds=500)


@dataclass(frozen=True, slots=True)
class _Lacking:
    partition: str
    index: str
    is_there: bool
    method: str | None


def ensure(conn: Connection[Any], wanted: Collection[str], *, prune: bool) -> list[Status]:
    """Build the wanted indexes that are missing or not whole, and with ``prune`` drop the others; return the steps.

    ``conn`` must be outside a transaction, and is left so. Captures go on: no statement that they would wait for waits
    longer than a moment itself. Waits for older transactions. Raises InstallError; what was built stays, and the next
    call goes on.
    """
    with transaction(conn):
        present = log_indexes.present_indexes(conn)
    if present is None:
        return []
    steps = [step for step in log_indexes.compare(present, wanted) if prune or not step.needs_prune]
    if not steps:
        return []
    with _building(conn):
        for step in steps:
            _take(conn, step, present)
    return steps


def build_missing(conn: Connection[Any], wanted: Collection[str]) -> list[str]:
    """Build what an install in one transaction has left; return the names.

    Does nothing as a role that may not act as the log's owner. Raises InstallError.
    """
    return [step.identity for step in ensure(conn, wanted, prune=False)] if scalar(conn, _IS_OWNER) else []


def _take(conn: Connection[Any], step: Status, present: LogIndexes) -> None:
    if step.is_foreign:
        raise InstallError(
            f"{step.identity} has the name of an index of the log, and is none", hint=f"Execute: {step.sql}"
        )
    name = step.identity.removeprefix("svc.")
    if step.state == "orphan":
        _drop(conn, name)
        return
    end = name.removeprefix("audit_logs_")
    if end in present.found and present.found[end].method != METHODS[end]:
        _drop(conn, name)
    _build(conn, name, SQL(METHODS[end]))


@contextmanager
def _building(conn: Connection[Any]) -> Iterator[None]:
    """Statements outside transactions."""
    before = conn.autocommit
    conn.autocommit = True
    try:
        yield
    except Error as error:
        raise InstallError(
            f"an index of the log is not finished: {str(error).splitlines()[0]}",
            hint="Everything else is installed. Install again; it goes on with what is left.",
        ) from error
    finally:
        if not conn.closed:
            conn.autocommit = before


def _build(conn: Connection[Any], name: str, method: SQL) -> None:
    """Build an index, or what it lacks."""
    whole = Identifier("svc", name)
    create = SQL("create index if not exists {} on only svc.audit_logs {}")
    _patiently(conn, create.format(Identifier(name), method))
    for part in _lacking(conn, name):
        index = Identifier("svc", part.index)
        if part.method != method.as_string(None):
            if part.is_there:
                conn.execute(SQL("drop index concurrently {}").format(index))
            create = SQL("create index concurrently {} on {} {}")
            conn.execute(create.format(Identifier(part.index), Identifier("svc", part.partition), method))
        _patiently(conn, SQL("alter index {} attach partition {}").format(whole, index))


def _drop(conn: Connection[Any], name: str) -> None:
    """Drop an index, and first the parts that a build has left without it."""
    for part in _lacking(conn, name):
        if part.is_there:
            conn.execute(SQL("drop index concurrently {}").format(Identifier("svc", part.index)))
    _patiently(conn, SQL("drop index {}").format(Identifier("svc", name)))


def _lacking(conn: Connection[Any], name: str) -> list[_Lacking]:
    with transaction(conn):
        return fetch(conn, Query(_LACKING, (name, name), _Lacking))


def _patiently(conn: Connection[Any], statement: Composed) -> None:
    """Execute a statement that others would wait for as long as it waits: so it waits for a moment, many times."""
    for left in reversed(range(_TRIES)):
        try:
            with conn.transaction():
                conn.execute(_WAIT)
                conn.execute(statement)
        except LockNotAvailable:
            if not left:
                raise
            time.sleep(_PAUSE.total_seconds())
        else:
            return
