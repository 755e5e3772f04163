"""The commands ``diff`` and ``revert``."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from svc_pg import audit
from svc_pg.audit.read.audit_query import entry as entry_of
from svc_pg.audit.reads.reading import of_entries
from svc_pg.audit.reads.recording import shown_at_once
from svc_pg.database.query import fetch
from svc_pg.errors import NotFoundError
from svc_pg.formats import human_times

from . import output, records
from .database import connect, log_instead
from .format_difference import ERASED, actor_text, field_text
from .format_entry import table_text
from .json_text import printable
from .operator import reading
from .options import Json, PostgresUrl

app = typer.Typer()


@app.command()
def diff(
    entry: Annotated[str | None, typer.Argument(metavar="ENTRY", help="The id of an entry.")] = None,
    *,
    transaction: Annotated[
        str | None, typer.Option(metavar="ID", help="All entries of a transaction: the xact_id of one of them.")
    ] = None,
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """Show the changes of an entry or a transaction; with --json as JSON Patch (RFC 6902)."""
    if (entry is None) == (transaction is None):
        raise typer.BadParameter("pass the id of an entry, or --transaction ID")
    with reading("diff"), connect(database_url, instead=log_instead()) as conn:
        found: Sequence[audit.Entry]
        cursor = None
        if entry is not None:
            found = fetch(conn, entry_of(entry))
            shown_at_once(conn, of_entries(found), {"entry": entry})
            what = f"entry {entry}"
        else:
            page = audit.transaction(transaction or "").limit(1000).list(conn)
            found, cursor, what = page.data, page.next_cursor, f"transaction {transaction}"
    if not found:
        raise NotFoundError(f"the log has no {what}")
    if json:
        documents = [_difference_json(each) for each in found]
        records.show_json(documents[0] if entry is not None else documents)
    else:
        for each in found:
            _show_difference(each)
    if cursor is not None:
        output.words(f"These are the first {len(found)} entries of the transaction.")


@app.command()
def revert(
    entry: Annotated[str | None, typer.Argument(metavar="ENTRY", help="The id of an entry.")] = None,
    *,
    transaction: Annotated[
        str | None, typer.Option(metavar="ID", help="A whole transaction: the xact_id of its entries.")
    ] = None,
    leave: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD", help="Leave this field as it is, for example one that a trigger sets."),
    ] = None,
    database_url: PostgresUrl = None,
) -> None:
    """Print the SQL that takes an entry or a transaction back, if that is still safe."""
    if (entry is None) == (transaction is None):
        raise typer.BadParameter("pass the id of an entry, or --transaction ID")
    with reading("revert"), connect(database_url, instead=log_instead()) as conn:
        text = audit.revert(conn, entry=entry, transaction=transaction, leave=leave or ())
    output.sql(text.rstrip("\n"))


def _show_difference(entry: audit.Entry) -> None:
    output.data(
        output.spaced(
            human_times.second(entry.timestamp),
            actor_text(entry.actor_id, entry.db_user),
            entry.operation,
            table_text(entry),
            printable(entry.record_id or ""),
            ERASED if entry.is_erased else "",
            f"[entry {entry.id}]",
        )
    )
    for field in audit.diff(entry).fields:
        output.data(f"    {field_text(field, is_erased=entry.is_erased)}")


def _difference_json(entry: audit.Entry) -> Mapping[str, object]:
    found = audit.diff(entry)
    return {
        "id": entry.id,
        "timestamp": entry.timestamp,
        "tableName": entry.table_name,
        "partition": entry.partition,
        "recordId": entry.record_id,
        "operation": entry.operation,
        "patch": found.patch,
        "redacted": [field.field for field in found.fields if field.is_redacted],
    }
