"""The command ``export``."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Unpack

import typer

from svc_pg.audit.exports.exporting import expected
from svc_pg.audit.exports.exporting import export as export_entries
from svc_pg.audit.log.export_fields import ExportReport
from svc_pg.audit.read.audit_filters import EntryFilter
from svc_pg.audit.reads.reading import collecting
from svc_pg.formats.plurals import counted

from . import output
from .database import open_database
from .files.output_file import STANDARD_OUTPUT, opened_output, until_the_reader_leaves
from .filter_options import filter_options
from .known_tables import warn_of_unknown
from .log_filters import AllDatabases, NoActor, selected
from .operator import reading, record_export
from .options import DatabaseUrl
from .progress import entries_so_far

app = typer.Typer()


class ExportFormat(StrEnum):
    """The format of an export."""

    json = "json"
    ndjson = "ndjson"
    csv = "csv"
    parquet = "parquet"


@app.command()
@filter_options(EntryFilter)
def export(
    *,
    no_actor: NoActor = False,
    all_databases: AllDatabases = False,
    form: Annotated[
        ExportFormat | None,
        typer.Option(
            "--format", show_default=False, help="The format to write. Default: json, or ndjson with --follow."
        ),
    ] = None,
    to: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="The file to write, in place of an old one when it is complete; with --follow, to append to. "
            "- is standard output.",
        ),
    ] = STANDARD_OUTPUT,
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
    follow: Annotated[bool, typer.Option("--follow", help="Write new entries as they appear, until Ctrl-C.")] = False,
    cursor: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --follow, the file that tells the next run how far this one came."),
    ] = None,
    rebind: Annotated[
        bool,
        typer.Option("--rebind", help="With --cursor, go on from there with other filters than those of the last run."),
    ] = False,
    database_url: DatabaseUrl = None,
    **which: Unpack[EntryFilter],
) -> None:
    """Write entries of the audit log, the oldest first."""
    _check(form, to, which, unsettled=unsettled, follow=follow, cursor=cursor, rebind=rebind)
    wanted = selected(which, no_actor=no_actor, all_databases=all_databases)
    with until_the_reader_leaves(), reading("export"), open_database(database_url) as conn:
        warn_of_unknown(conn, which.get("resource"))
        if follow:
            from .export_following import follow as follow_entries  # it needs a system that locks files

            with entries_so_far(lambda: None) as progress:
                entries = follow_entries(
                    conn, wanted, to=to, cursor=cursor, after=after, is_rebound=rebind, progress=progress
                )
            output.words(f"{counted(entries, 'entry')}.")
            return
        with opened_output(to) as out, entries_so_far(lambda: expected(conn, wanted, after=after)) as progress:
            record_export(conn, wanted)
            with collecting("export", {}):  # it is recorded already
                report = export_entries(
                    conn,
                    wanted,
                    format=(form or ExportFormat.json).value,
                    out=out,
                    after=after,
                    is_settled=not unsettled,
                    progress=progress,
                )
    _tell(report, unsettled=unsettled)


def _check(
    form: ExportFormat | None,
    to: Path,
    which: EntryFilter,
    *,
    unsettled: bool,
    follow: bool,
    cursor: Path | None,
    rebind: bool,
) -> None:
    """Refuse options that have no meaning together."""
    if not follow and cursor is not None:
        raise typer.BadParameter("--cursor needs --follow; an export continues with --after")
    if rebind and cursor is None:
        raise typer.BadParameter("--rebind needs --cursor")
    if follow and form not in (None, ExportFormat.ndjson):
        raise typer.BadParameter(f"--follow writes ndjson, because a file of {form} has an end")
    if follow and "until" in which:
        raise typer.BadParameter("--follow has no end, so leave out --until and --between")
    if follow and unsettled:
        raise typer.BadParameter("--follow writes what is settled, so leave out --unsettled")
    if form is ExportFormat.parquet and to == STANDARD_OUTPUT and sys.stdout.isatty():
        raise typer.BadParameter("parquet is not for a terminal: name a file with --to")


def _tell(report: ExportReport, *, unsettled: bool) -> None:
    words = f"{counted(report.entries, 'entry')}."
    if not unsettled:
        words += f" To go on from here next time: --after {report.horizon}"
    if report.held_back:
        words += (
            f"\nLeft out: {counted(report.held_back, 'newer entry')}, because a transaction that began earlier is"
            " running, and its entries belong before. --unsettled leaves nothing out."
        )
    output.words(words)
