"""The command ``log``."""

import os
from contextlib import suppress
from typing import Annotated, Any, Unpack

import typer

from svc_pg.audit.log.entry import Entry
from svc_pg.audit.read.audit_filters import EntryFilter
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.audit.read.follow import follow as follow_entries
from svc_pg.formats.json_writer import encode

from . import output
from .database import open_database
from .files.output_file import STANDARD_OUTPUT, explained, until_the_reader_leaves
from .filter_options import filter_options
from .format_entry import line
from .json_text import printable
from .known_tables import warn_of_unknown
from .log_filters import AllDatabases, NoActor, selected
from .operator import reading
from .options import DatabaseUrl

app = typer.Typer()


@app.command()
@filter_options(EntryFilter)
def log(
    *,
    no_actor: NoActor = False,
    all_databases: AllDatabases = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="The number of entries to start with.")] = 20,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Show new entries as they appear, until Ctrl-C.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON object a line.")] = False,
    database_url: DatabaseUrl = None,
    **which: Unpack[EntryFilter],
) -> None:
    """Show the newest entries of the audit log, the newest last."""
    wanted = selected(which, no_actor=no_actor, all_databases=all_databases).limit(limit)
    if follow and "until" in which:
        raise typer.BadParameter(
            "what is followed has no end, so leave out --until and --between", param_hint="--follow"
        )
    show = _json_line if json else line
    with until_the_reader_leaves(), suppress(KeyboardInterrupt), reading("log"), open_database(database_url) as conn:
        warn_of_unknown(conn, which.get("resource"))
        found = None if follow else _newest(conn, wanted)
        for entry in follow_entries(conn, wanted) if found is None else reversed(found):
            with explained(STANDARD_OUTPUT):
                typer.echo(show(entry), color=False if os.environ.get("NO_COLOR") else None)
        if found == [] and not json:
            output.words("No entries.")


def _newest(conn: Any, wanted: AuditQuery) -> list[Entry]:
    """The newest entries, as many as asked for: a page looks at a stretch of the log, and the next one goes on."""
    page = wanted.list(conn)
    found = [*page.data]
    while len(found) < wanted.size and page.next_cursor is not None:
        page = wanted.limit(wanted.size - len(found)).after(page.next_cursor).list(conn)
        found += page.data
    return found


def _json_line(entry: Entry) -> str:
    return printable(encode(entry).decode())
