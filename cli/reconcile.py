"""The command ``reconcile``."""

import shlex
from typing import Annotated, Final

import psycopg
import typer

from svc_pg import Config, audit
from svc_pg.audit.log.reconciliation import NICEST, Progress
from svc_pg.errors import SvcError
from svc_pg.formats.plurals import counted

from . import output, products, records, tables
from .database import open_database
from .json_text import printable
from .operator import acting_as_operator
from .options import ConfigReference, DatabaseUrl, Json
from .progress import progress
from .signals import ending_tidily

app = typer.Typer()

_KINDS: Final = {
    "missing": "missing in the log",
    "differs": "differs",
    "gone": "in the log only",
}


@app.command()
def reconcile(
    *,
    table: Annotated[
        str | None, typer.Option(metavar="TABLE", help="Compare this table alone. Default: all audited tables.")
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(metavar="CURSOR", help="Go on after this cursor, which an interrupted reconciliation printed."),
    ] = None,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Write entries about what differs: SNAPSHOT of rows, and GONE of lost records."),
    ] = False,
    nice_ratio: Annotated[
        float,
        typer.Option(min=0, max=NICEST, metavar="N", help="Rest N times as long as each piece took, at most 10 s."),
    ] = 0.0,
    limit: Annotated[
        int, typer.Option(min=0, max=1000, metavar="N", help="The most differences of each table to list.")
    ] = 100,
    database_url: DatabaseUrl = None,
    config: ConfigReference = None,
    json: Json = False,
) -> None:
    """Compare the rows of audited tables with the log. Exits with 3 if something differs and is not repaired, or if a
    table, or every one, could not be compared.

    It finds changes that no trigger has told of: rows without an entry, rows that the log knows otherwise, and records
    that are in the log only. Writers go on meanwhile.
    """
    wanted = Config.find(config)
    reached: list[Progress] = []
    with open_database(database_url) as conn, ending_tidily(), acting_as_operator(conn), progress() as show:

        def tell(now: Progress) -> None:
            reached[:] = [now]
            show(f"{now.table}: {now.rows:,} of about {max(now.rows, now.expected):,} rows")

        if isinstance(conn, psycopg.Connection):  # other databases have no other product
            products.require_audit(conn)
        try:
            found = audit.reconcile(
                conn,
                wanted,
                table=table,
                repair=repair,
                after=after,
                nice_ratio=nice_ratio,
                most=limit,
                progress=tell,
            )
        except (KeyboardInterrupt, SvcError):
            if reached and reached[0].cursor is not None:
                output.words(f"To go on from here: {_continuation(reached[0].cursor, table, repair=repair)}")
            raise
    if json:
        records.show_json(
            {
                "isWhole": found.is_whole,
                "tables": found.tables,
                "differences": found.differences,
                "after": found.after,
            }
        )
    else:
        _tell(found)
    if not found.is_whole or _is_in_vain(found):
        raise typer.Exit(3)


def _is_in_vain(found: audit.Reconciliation) -> bool:
    """True if there were tables, and no rows of any could be compared."""
    return bool(found.tables) and found.after is None and not found.has_compared


def _continuation(cursor: str, table: str | None, *, repair: bool) -> str:
    """The command that goes on, for a shell."""
    words = ["svc-pg", "reconcile", *(["--repair"] if repair else []), *(["--table", table] if table else [])]
    return shlex.join([*words, "--after", cursor])


def _tell(found: audit.Reconciliation) -> None:
    if found.differences:
        tables.show(
            "",
            ["table", "record", "difference"],
            [[each.table, each.record_id, _words(each)] for each in found.differences],
            folding={"record", "difference"},
        )
    for table in found.tables:
        name = printable(table.table)
        if table.problem is not None:
            output.words(f"{name}: not compared wholly: {printable(table.problem)}")
        elif table.is_compared:
            output.words(f"{name}: {counted(table.rows, 'row')} compared, {_numbers(table)}.")
        else:
            output.words(f"{name}:")
        if table.unknown and table.purged_before is not None:
            output.words(
                f"  {counted(table.unknown, 'record')} of which nothing tells if the log knew them: entries up to"
                f" {records.minute(table.purged_before)} were purged."
            )
        if table.erased:
            output.words(f"  {counted(table.erased, 'row')} whose entries were erased, so not compared.")
        if table.repaired is not None and table.is_compared:
            output.words(f"  {counted(table.repaired, 'entry')} written.")
        for part in table.postponed:
            output.words(f"  Writers kept {printable(part)}: not all of its entries are written. Repair it again.")
        for note in table.notes:
            output.words(f"  {printable(note)}")
    if _is_in_vain(found):
        output.words("No table could be compared, so nothing is known of them.")
    if any(table.unrecorded and table.repaired is None for table in found.tables):
        output.words("Rows without any entry are older than the capture, or came while no trigger fired.")
    if any(table.differences and table.repaired is None for table in found.tables):
        output.words("To record what differs: svc-pg reconcile --repair")
    if any(table.is_compared and not table.is_recorded for table in found.tables):
        output.words("The result is not recorded in the log: the role or the database may only read.")


def _words(difference: audit.Difference) -> str:
    fields = f" in {', '.join(difference.fields)}" if difference.fields else ""
    return f"{_KINDS[difference.kind]}{fields}"


def _numbers(table: audit.TableReport) -> str:
    if not table.differences:
        return "all as the log knows them"
    unrecorded = f" ({table.unrecorded:,} without any entry)" if table.unrecorded else ""
    numbers = [
        f"{table.missing:,} missing in the log{unrecorded}" if table.missing else "",
        f"{table.differing:,} {'differs' if table.differing == 1 else 'differ'}" if table.differing else "",
        f"{table.gone:,} in the log only" if table.gone else "",
    ]
    return ", ".join(filter(None, numbers))
