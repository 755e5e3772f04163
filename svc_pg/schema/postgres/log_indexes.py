"""Build indexes of the audit log while captures go on, partition by partition."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection, Error
from psycopg.sql import SQL, Identifier

from svc_pg.database.query import Query, fetch
from svc_pg.errors import InstallError

# An index that broke off while it was built is there and not valid
_LACKING: Final = """
select c.relname::text as partition, pg_catalog.replace(%s::text, 'audit_logs', c.relname) as index,
       to_regclass(pg_catalog.format('svc.%%I', pg_catalog.replace(%s::text, 'audit_logs', c.relname))) is not null
           as is_left_over
  from pg_inherits p join pg_class c on c.oid = p.inhrelid
 where p.inhparent = 'svc.audit_logs'::regclass::oid
   and not exists (
       select from pg_inherits i join pg_index x on x.indexrelid = i.inhrelid
        where i.inhparent = %s::regclass::oid and x.indrelid = p.inhrelid
   )
 order by p.inhrelid
"""


@dataclass(frozen=True, slots=True)
class _Lacking:
    partition: str
    index: str
    is_left_over: bool


@contextmanager
def building(conn: Connection[Any]) -> Iterator[None]:
    """Build outside transactions. Raises InstallError if PostgreSQL refuses; the next install continues."""
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


def build(conn: Connection[Any], name: str, method: SQL, *, anew: bool = False) -> None:
    """Build the index ``name``, for example ``audit_logs_text``, or its missing parts; with ``anew`` drop it first.

    Writes go on: only the index of the parent table, which is empty, waits for those under way. Waits for all older
    transactions.
    """
    whole = _identifier(name)
    if anew:
        conn.execute(SQL("drop index if exists {}").format(whole))
    create = SQL("create index if not exists {} on only svc.audit_logs {}")
    conn.execute(create.format(Identifier(name), method))
    for part in fetch(conn, Query(_LACKING, (name, name, f"svc.{name}"), _Lacking)):
        index = _identifier(part.index)
        if part.is_left_over:
            conn.execute(SQL("drop index concurrently {}").format(index))
        conn.execute(
            SQL("create index concurrently {} on {} {}").format(
                Identifier(part.index), _identifier(part.partition), method
            )
        )
        conn.execute(SQL("alter index {} attach partition {}").format(whole, index))


def drop(conn: Connection[Any], name: str) -> None:
    """Drop an index of the log."""
    conn.execute(SQL("drop index {}").format(_identifier(name)))


def _identifier(name: str) -> Identifier:
    return Identifier("svc", name)
