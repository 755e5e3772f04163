"""The command ``reads``."""

from typing import Annotated

import typer

from svc_pg import audit
from svc_pg.formats import human_times

from . import output, records
from .database import connect, log_instead
from .format_difference import actor_text
from .json_text import printable
from .lists import filled, tell_none
from .options import After, Between, Json, Limit, PostgresUrl, Table, period_of, point_in_time

app = typer.Typer()


@app.command()
def reads(
    table: Table,
    key: Annotated[
        str | None, typer.Argument(metavar="KEY", help="The record's key. Default: all records of the table.")
    ] = None,
    *,
    since: Annotated[str | None, point_in_time(meaning="Only reads since this time.")] = None,
    until: Annotated[str | None, point_in_time(meaning="Only reads before this time.")] = None,
    between: Between = None,
    limit: Limit = 20,
    after: After = None,
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """Show who read a record, or records of a table, the newest first; tables with record_reads have that."""
    start, end = period_of(between, since=since, until=until) or (since, until)
    wanted = audit.reads(table, key).limit(limit)
    wanted = wanted if start is None else wanted.since(start)
    wanted = wanted if end is None else wanted.until(end)
    with connect(database_url, instead=log_instead(table, key)) as conn:
        page = filled(conn, wanted, after=after)
    if json:
        records.show_page(page)
        return
    for read in page:
        output.data(_line(read, is_of_record=key is not None))
    if not page.data:
        period = "" if start is None and end is None else " of this time"
        none = f"No reads{period} are on record. They are of tables with record_reads = true."
        tell_none(page, none, "entries")
    output.more(page.next_cursor)


def _line(read: audit.RecordRead, *, is_of_record: bool) -> str:
    number = "any records" if read.records is None else "1 record" if read.records == 1 else f"{read.records} records"
    return output.spaced(
        human_times.second(read.timestamp),
        actor_text(read.actor_id, read.db_user),
        read.through.ljust(7),
        number,
        "" if read.is_certain or not is_of_record else "perhaps this one",
        "" if read.question is None else printable(str(read.question)),
        f"[entry {read.entry_id}]",
    )
