"""The command ``rebuild``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from svc_pg.audit.rebuild.rebuilding import rebuild as rebuild_rows
from svc_pg.formats.plurals import counted

from . import output
from .files.input_file import STANDARD_INPUT, opened_input
from .files.output_file import STANDARD_OUTPUT, opened_output, until_the_reader_leaves
from .options import exact_time, point_in_time
from .progress import entries_so_far

app = typer.Typer()


class _RowFormat(StrEnum):
    inserts = "inserts"
    copy = "copy"


@app.command()
def rebuild(
    source: Annotated[
        Path, typer.Option("--from", metavar="FILE", help="The export, of ndjson or json. - is standard input.")
    ],
    *,
    table: Annotated[
        str | None, typer.Option(help="The table to rebuild. Default: the only one of the export.", metavar="TABLE")
    ] = None,
    at: Annotated[
        str | None, point_in_time(meaning="The rows as they were at this time. Default: the last ones.")
    ] = None,
    form: Annotated[
        _RowFormat, typer.Option("--format", help="Write the rows as INSERT, or in a COPY that one INSERT reads.")
    ] = _RowFormat.inserts,
    into: Annotated[
        str | None, typer.Option(metavar="TABLE", help="The table that the SQL fills. Default: the same name.")
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column to leave out, for example a generated one."),
    ] = None,
    to: Annotated[
        Path,
        typer.Option(
            "--output",
            metavar="FILE",
            help="The file to write, in place of an old one when it is complete. - is standard output.",
        ),
    ] = STANDARD_OUTPUT,
) -> None:
    """Write a table's rows as SQL, from an export of the audit log, without a database."""
    if to != STANDARD_OUTPUT and source != STANDARD_INPUT and _is_same(source, to):
        raise typer.BadParameter("it would replace the export", param_hint="--output")
    time = exact_time(at, option="--at", why="no database tells how long ago it was")
    with (
        until_the_reader_leaves(),
        opened_input(source) as export,
        opened_output(to) as out,
        entries_so_far(lambda: None) as progress,
    ):
        findings = rebuild_rows(
            export, out, table=table, at=time, format=form.value, into=into, without=without or (), progress=progress
        )
    output.words(f"{counted(findings.rows, 'row')} from {counted(findings.entries, 'entry')}.")
    if findings.repeated:
        output.words(f"{counted(findings.repeated, 'entry')} came twice, and counted once.")
    for sentence in findings.sentences():
        output.words(f"note: {sentence}")


def _is_same(source: Path, to: Path) -> bool:
    return source.exists() and to.exists() and source.samefile(to)
