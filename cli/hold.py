"""The command ``hold``."""

from typing import Annotated, Final

import typer
from psycopg import IsolationLevel

from svc_pg import audit
from svc_pg.formats.plurals import counted

from . import output, records
from .database import connect
from .json_text import printable
from .known_tables import warn_of_no_records, warn_of_unknown
from .operator import operator
from .options import After, Json, Limit, PostgresUrl

_LIST: Final = "list"

app = typer.Typer()


@app.command()
def hold(
    *,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table; or the word list, which shows the holds.")],
    key: Annotated[
        str | None,
        typer.Argument(
            metavar="KEY",
            help="The record's key; of several columns as in the log: '[3, 7]'. Default: all of the table.",
        ),
    ] = None,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Why it is held, or lifted, which is recorded.")
    ] = None,
    lift: Annotated[bool, typer.Option("--lift", help="Lift the hold instead.")] = False,
    show_all: Annotated[bool, typer.Option("--all", help="With list: also holds that were lifted.")] = False,
    limit: Limit = 50,
    after: After = None,
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """Hold a record and all records that refer to it, or a table, so that no entries of it are purged or erased."""
    if table == _LIST and key is None and reason is None and not lift:
        _show(limit, after, database_url, show_all=show_all, json=json)
        return
    change = audit.lift_hold if lift else audit.hold
    with connect(database_url) as conn:  # first, as a database without holds needs no reason
        if not reason:
            raise typer.BadParameter("write the reason, which is recorded", param_hint="--reason")
        conn.isolation_level = IsolationLevel.READ_COMMITTED  # for a hold, under any default of the database
        if key is None:
            warn_of_unknown(conn, [table])
        else:
            warn_of_no_records(conn, table)
        with operator(conn):
            number = change(conn, table, *([] if key is None else [key]), reason=reason)
            placed = None if lift else audit.holds().numbered(number).list(conn).data[0]
    if json:
        records.show_json({"id": number} | ({} if placed is None else {"connected": placed.connected}))
    elif placed is None:
        output.words(f"lifted hold {number}")
    else:
        output.words(f"placed hold {number} of {_what(placed)}")


def _show(limit: int, after: str | None, database_url: str | None, *, show_all: bool, json: bool) -> None:
    wanted = audit.holds(lifted=show_all).limit(limit)
    wanted = wanted if after is None else wanted.after(after)
    with connect(database_url) as conn:
        page = wanted.list(conn)
    if json:
        records.show_page(page)
        return
    for found in page.data:
        words = f"since {records.minute(found.held_at)}, by {found.held_by}: {found.reason}"
        if found.lifted_at is not None:
            words += f"; lifted {records.minute(found.lifted_at)}, by {found.lifted_by}: {found.lift_reason}"
        output.data(printable(f"{_what(found)}  {words}"))
    if not page.data:
        output.words("No holds.")
    output.more(page.next_cursor)


def _what(hold: audit.Hold) -> str:
    what = " ".join(filter(None, (hold.table_name, hold.record_id)))
    return what + (f", and what refers to it: {counted(hold.connected, 'record')}" if hold.connected else "")
