"""The command ``export``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from svc_pg.audit.export import export as export_entries

from . import output
from .database import open_database
from .known_tables import warn_of_unknown
from .log_filters import Actor, Operation, Record, Since, Table, selected
from .options import DatabaseUrl, point_in_time
from .output_file import STANDARD_OUTPUT, opened, until_the_reader_leaves
from .progress import progress

app = typer.Typer()


class ExportFormat(StrEnum):
    """The format of an export."""

    json = "json"
    ndjson = "ndjson"
    csv = "csv"


@app.command()
def export(
    *,
    since: Since = None,
    until: Annotated[
        str | None, point_in_time(meaning="Only changes before this time, written as for --since.")
    ] = None,
    table: Table = None,
    record: Record = None,
    actor: Actor = None,
    operation: Operation = None,
    form: Annotated[ExportFormat, typer.Option("--format", help="The format to write.")] = ExportFormat.json,
    file: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The file to write; - is standard output.")
    ] = (STANDARD_OUTPUT),
    after: Annotated[
        str | None,
        typer.Option(metavar="CURSOR", help="Continue after this cursor, which the last export printed."),
    ] = None,
    unsettled: Annotated[
        bool,
        typer.Option(
            "--unsettled", help="Include the newest entries, although older ones may still appear among them."
        ),
    ] = False,
    database_url: DatabaseUrl = None,
) -> None:
    """Write entries of the audit log, the oldest first."""
    wanted = selected(since=since, until=until, table=table, record=record, actor=actor, operation=operation)
    with until_the_reader_leaves(), open_database(database_url) as conn, opened(file) as out, progress() as show:
        warn_of_unknown(conn, table)
        report = export_entries(
            conn,
            wanted,
            format=form.value,
            out=out,
            after=after,
            is_settled=not unsettled,
            progress=lambda entries: show(f"{entries:,} entries"),
        )
    words = f"{report.entries:,} entries."
    if not unsettled:
        words += f" To go on from here next time: --after {report.horizon}"
    if report.held_back:
        words += (
            f"\nLeft out: {report.held_back:,} newer ones, because a transaction that began before them is running, and"
            " its entries belong before theirs. --unsettled writes them."
        )
    output.words(words)
