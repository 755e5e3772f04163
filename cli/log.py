"""The command ``log``."""

import os
from contextlib import suppress
from typing import Annotated, Unpack

import typer

from svc_pg.audit.log.entry import Entry
from svc_pg.audit.read.audit_filters import EntryFilter
from svc_pg.audit.read.follow import follow as follow_entries
from svc_pg.formats.json_writer import encode

from . import output
from .database import open_database
from .files.output_file import STANDARD_OUTPUT, explained, until_the_reader_leaves
from .filter_options import filter_options
from .format_entry import line
from .json_text import printable
from .known_tables import warn_of_unknown
from .lists import filled, tell_none
from .log_filters import AllDatabases, NoActor, selected
from .operator import reading
from .options import After, DatabaseUrl

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
    after: After = None,
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
    if follow and after is not None:
        raise typer.BadParameter("what is followed begins with the newest, so leave out --after", param_hint="--follow")
    show = _json_line if json else line
    with until_the_reader_leaves(), suppress(KeyboardInterrupt), reading("log"), open_database(database_url) as conn:
        warn_of_unknown(conn, which.get("resource"))
        page = None if follow else filled(conn, wanted, after=after)
        for entry in follow_entries(conn, wanted) if page is None else reversed(page.data):
            with explained(STANDARD_OUTPUT):
                typer.echo(show(entry), color=False if os.environ.get("NO_COLOR") else None)
        if page is not None and len(page.data) < limit and (page.next_cursor is not None or not json):
            if not page.data:
                tell_none(page, "No entries.", "entries")
            output.more(page.next_cursor)


def _json_line(entry: Entry) -> str:
    return printable(encode(entry).decode())
