"""The indexes of searches in the audit log, which the configuration asks for: built while captures go on."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from psycopg import Connection, Error
from psycopg.sql import SQL, Identifier

from svc_pg.config.audit import Search
from svc_pg.errors import InstallError
from svc_pg.query import Query, fetch

DROP: Final = "drop index if exists svc.audit_logs_contains, svc.audit_logs_text"
"""Drop all of them: one needs a function of ours."""

_METHODS: Final[dict[Search, LiteralString]] = {
    "contains": "using gin (before_data jsonb_path_ops, after_data jsonb_path_ops)",
    "text": "using gin (svc.audit_words(before_data, after_data, description))",
}
# An index that broke off while it was built is there and not valid
_LACKING: Final = """
select c.relname::text as partition, pg_catalog.concat(c.relname, '_', %s::text) as index,
       to_regclass(pg_catalog.concat('svc.', c.relname, '_', %s::text)) is not null as is_left_over
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


def name(search: str) -> str:
    """The name of the index."""
    return f"svc.audit_logs_{search}"


def ensure(conn: Connection[Any], wanted: Sequence[Search], present: Mapping[str, bool], *, prune: bool) -> list[str]:
    """Build the wanted indexes, partition by partition, and with ``prune`` drop the others; return their names.

    ``present`` tells for each existing index whether it is complete. Writes go on: only the index of the parent table,
    which is empty, waits for those under way. Waits for all transactions that are older. ``conn`` must be outside a
    transaction. Raises InstallError; what was built stays, and the next call goes on.
    """
    lacking = [search for search in wanted if not present.get(search, False)]
    unwanted = sorted(search for search in present if search not in wanted and prune)
    if not lacking and not unwanted:
        return []
    with _autocommit(conn):
        try:
            for search in lacking:
                _build(conn, search)
            for other in unwanted:
                conn.execute(SQL("drop index {}").format(_identifier(f"audit_logs_{other}")))
        except Error as error:
            raise InstallError(
                f"the index of searches is not finished: {str(error).splitlines()[0]}",
                hint="Everything else is installed. Install again; it goes on with what is left.",
            ) from error
    return [name(search) for search in (*lacking, *unwanted)]


def _build(conn: Connection[Any], search: Search) -> None:
    method = SQL(_METHODS[search])
    whole = _identifier(f"audit_logs_{search}")
    create = SQL("create index if not exists {} on only svc.audit_logs {}")
    conn.execute(create.format(Identifier(f"audit_logs_{search}"), method))
    for part in fetch(conn, Query(_LACKING, (search, search, name(search)), _Lacking)):
        index = _identifier(part.index)
        if part.is_left_over:
            conn.execute(SQL("drop index concurrently {}").format(index))
        conn.execute(
            SQL("create index concurrently {} on {} {}").format(
                Identifier(part.index), _identifier(part.partition), method
            )
        )
        conn.execute(SQL("alter index {} attach partition {}").format(whole, index))


def _identifier(name: str) -> Identifier:
    return Identifier("svc", name)


@contextmanager
def _autocommit(conn: Connection[Any]) -> Iterator[None]:
    before = conn.autocommit
    conn.autocommit = True
    try:
        yield
    finally:
        if not conn.closed:
            conn.autocommit = before
