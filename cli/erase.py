"""The command ``erase``."""

from typing import Annotated

import typer

from svc_pg import audit
from svc_pg.audit.keep.erasure import MOST_ROWS
from svc_pg.formats.plurals import counted

from . import output, records
from .confirming import Yes, confirm
from .database import connect
from .json_text import printable
from .known_tables import warn_of_no_records
from .operator import acting_as_operator
from .options import DatabaseUrl, Json, Key, Table

app = typer.Typer()


@app.command()
def erase(
    table: Table,
    key: Key,
    *,
    yes: Yes = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be erased.")] = False,
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Erase a record from the log, and all records that refer to it by the configuration's rules.

    The rows of the tables stay: delete them first, or their deletion is recorded again.
    """
    with connect(database_url) as conn, acting_as_operator(conn):
        warn_of_no_records(conn, table)
        report = audit.erase(conn, table, key, dry_run=True)
        if not (json and (dry_run or yes)):  # nobody agrees to what is not shown
            _show(report, "would erase" if dry_run or not yes else "erasing")
        if not dry_run and report.entries:
            confirm("Nothing brings this back. Erase it?", yes=yes, instead="Add --yes, or --dry-run.")
            report = audit.erase(conn, table, key)
    if json:
        records.show_json(
            {
                "tables": report.tables,
                "entries": report.entries,
                "otherKeys": report.other_keys,
                "rowsLeft": report.rows_left,
                "isPartial": report.is_partial,
                "isDryRun": dry_run,
            }
        )
    elif not dry_run:
        output.words(f"erased {counted(report.entries, 'entry')}" if report.entries else "nothing is left to erase")


def _show(report: audit.ErasureReport, words: str) -> None:
    for table, entries in sorted(report.tables.items()):
        output.words(f"{words} {counted(entries, 'entry')} of {printable(table)}")
    for key in report.other_keys:
        output.words(
            f"the record also had the key {printable(key)}, whose other entries stay: erase it too if it is the same"
        )
    for table, rows in sorted(report.rows_left.items()):
        verb = "is" if rows == 1 else "are"
        output.words(
            f"{counted(rows, 'row')} {verb} still in {printable(table)}, as the log knows it: this erases the log alone"
        )
    if report.is_partial:
        found = "These are" if report.rows_left else "No row is left"
        output.words(f"{found} among the first {MOST_ROWS:,} of its records; rows of the others may be left too.")
    if report.rows_left:
        output.words("Delete the rows first, and erase then: their deletion or change is recorded again.")
