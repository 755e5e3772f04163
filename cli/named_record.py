"""The record that a text names, for example ``order 17``: its table is looked for among the audited ones."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Final

import typer
from psycopg import Connection

from svc_pg import audit
from svc_pg.audit.read.named_records import named, split_name
from svc_pg.database.table_names import TableName
from svc_pg.errors import NotFoundError, QueryError

from .json_text import printable
from .known_tables import tables_to_name

_MOST_PROBED: Final = 30
_MOST_NAMED: Final = 10


def named_record(conn: Connection[Any], text: str) -> tuple[str, str]:
    """The table and the key of the record that a text names.

    Raises QueryError if it may be a record of several tables, NotFoundError if the log knows none, and wrong usage if
    the text has no table and no key.
    """
    typed = split_name(text)
    if typed is None:
        raise typer.BadParameter("write a table and the key of a record: order 17", param_hint="RECORD")
    name, key = typed
    tables = tables_to_name(conn)
    [surest, *others] = named(tables, name) or [[str(TableName.parse(name))]]
    known = [table for table in surest[:_MOST_PROBED] if _has(conn, table, key)]
    match known:
        case [table]:
            return table, key
        case []:
            like = [each for group in others for each in group] or _like(tables, name, surest)
            hint = f"Other tables: {_listed(like)}." if like else None
            raise NotFoundError(f"the log knows no record {printable(key)} of {_listed(surest, 'or')}", hint=hint)
    raise QueryError(
        f"{printable(text)!r} may be a record of {_listed(known)}",
        hint=f"Name one of them: {known[0]} {printable(key)}",
    )


def _has(conn: Connection[Any], table: str, key: str) -> bool:
    return bool(audit.query().resource(table).record(key).only("id").limit(1).list(conn).data)


def _like(tables: Sequence[str], name: str, surest: Sequence[str]) -> list[str]:
    """The audited tables with a similar name."""
    by_name = {TableName.parse(table).table: table for table in tables if table not in surest}
    return [by_name[each] for each in get_close_matches(name.rpartition(".")[2], by_name, n=3)]


def _listed(tables: Sequence[str], word: str = "and") -> str:
    shown = [printable(table) for table in tables[:_MOST_NAMED]]
    more = len(tables) - len(shown)
    *first, last = [*shown, f"{more} more"] if more else shown
    return f"{', '.join(first)} {word} {last}" if first else last
