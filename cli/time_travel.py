"""The commands history, as-of, diff, blame and revert."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import typer

from svc_pg import audit
from svc_pg.audit.log import entry as entry_of
from svc_pg.encoding import encode
from svc_pg.errors import NotFoundError
from svc_pg.query import RawJson, fetch

from . import output, records
from .database import connect
from .json_text import printable
from .options import After, DatabaseUrl, Json, Limit

app = typer.Typer()

Table = Annotated[str, typer.Argument(metavar="TABLE", help="The table: customer, or sales.customer.")]
Key = Annotated[
    str, typer.Argument(metavar="KEY", help="The record's key; several columns are a JSON array, for example '[3, 7]'.")
]
_LONGEST: Final = 60  # characters of a value in a line
_MOST_FIELDS: Final = 20  # in a line


@app.command()
def history(
    table: Table,
    key: Key,
    *,
    limit: Limit = 20,
    after: After = None,
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Show the states of one record, the newest first."""
    states = audit.history(table, key).limit(limit)
    with connect(database_url) as conn:
        page = (states if after is None else states.after(after)).list(conn)
    if json:
        records.show_json(page)
        return
    for state in page:
        end = "" if state.moved_to is None else f"now {printable(state.moved_to)}"
        _line(
            _time(state.valid_from),
            printable(state.actor_id or f"({state.db_user})"),
            state.operation.ljust(8),
            end or _differences(audit.diff(state)),
            f"[entry {state.entry_id}]",
        )
        if not state.is_in_order:
            output.words(f"entry {state.entry_id}: the order inside its transaction is not known")
    output.more(page.next_cursor)


@app.command("as-of")
def as_of(
    time: Annotated[
        str, typer.Argument(metavar="TIME", help="The time: 2026-01-31 (UTC), 2026-01-31T12:00:00Z, or 7d, 1h30m ago.")
    ],
    table: Table,
    key: Annotated[
        str | None, typer.Argument(metavar="KEY", help="The record's key. Default: all rows of the table.")
    ] = None,
    *,
    limit: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="The number of rows to list.")] = 20,
    after: After = None,
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Show a record, or the rows of a table, as they were at a time."""
    past = audit.as_of(table, time)
    with connect(database_url) as conn:
        if key is not None:
            row = past.record(key).one(conn)
            if json:
                records.show_json(_row_json(row))
            else:
                _show_row(row)
            return
        past = past.limit(limit)
        page = (past if after is None else past.after(after)).list(conn)
    if json:
        records.show_json({"data": [_row_json(row) for row in page], "nextCursor": page.next_cursor})
        return
    for row in page:
        _line(printable(row.record_id), ", ".join(f"{printable(name)}: {_shown(v)}" for name, v in row.values.items()))
    if any(row.unknown_fields for row in page):
        output.words("Some columns are null because their value then is not known: --json names them.")
    output.more(page.next_cursor)


@app.command()
def diff(
    entry: Annotated[str | None, typer.Argument(metavar="ENTRY", help="The id of an entry.")] = None,
    *,
    transaction: Annotated[
        str | None, typer.Option(metavar="ID", help="All entries of a transaction: the xact_id of one of them.")
    ] = None,
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Show what an entry or a transaction changed; with --json as JSON Patch (RFC 6902)."""
    if (entry is None) == (transaction is None):
        raise typer.BadParameter("pass the id of an entry, or --transaction ID")
    with connect(database_url) as conn:
        found: Sequence[audit.Entry]
        cursor = None
        if entry is not None:
            found = fetch(conn, entry_of(entry))
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
def blame(table: Table, key: Key, *, database_url: DatabaseUrl = None, json: Json = False) -> None:
    """Show for each field of a record who last changed it, and when."""
    with connect(database_url) as conn:
        origins = audit.blame(conn, table, key)
    if json:
        records.show_json(origins)
        return
    width = max((len(origin.field) for origin in origins), default=0)
    for origin in origins:
        value = "(redacted)" if origin.is_redacted else _shown_json(origin.value)
        if origin.changed_at is None:
            since = "" if origin.known_since is None else f" before {_time(origin.known_since)}"
            who = [f"not known{since}"]
        else:
            actor = printable(origin.actor_id or f"({origin.db_user})")
            who = [_time(origin.changed_at), actor, str(origin.operation), f"[entry {origin.entry_id}]"]
        _line(printable(origin.field).ljust(width), value, *who)


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
    database_url: DatabaseUrl = None,
) -> None:
    """Print the SQL that takes an entry or a transaction back, if that is still safe."""
    if (entry is None) == (transaction is None):
        raise typer.BadParameter("pass the id of an entry, or --transaction ID")
    with connect(database_url) as conn:
        text = audit.revert(conn, entry=entry, transaction=transaction, leave=leave or ())
    typer.echo(text, nl=False)


def _show_difference(entry: audit.Entry) -> None:
    output.data(
        "  ".join(
            part
            for part in (
                _time(entry.timestamp),
                printable(entry.actor_id or f"({entry.db_user})"),
                entry.operation,
                printable(entry.table_name),
                printable(entry.record_id or ""),
                f"[entry {entry.id}]",
            )
            if part
        )
    )
    for field in audit.diff(entry).fields:
        output.data(f"    {_field(field)}")


def _differences(found: audit.Diff) -> str:
    shown = [_field(field) for field in found.fields[:_MOST_FIELDS]]
    more = len(found.fields) - len(shown)
    return ", ".join(shown) + (f", and {more} more" if more else "")


def _field(field: audit.FieldDiff) -> str:
    name = printable(field.field)
    if field.is_redacted:
        return f"{name}: (redacted)"
    if field.before is None:
        return f"{name}: {_shown_json(field.after)}"
    if field.after is None:
        return f"{name}: {_shown_json(field.before)} removed"
    return f"{name}: {_shown_json(field.before)} -> {_shown_json(field.after)}"


def _difference_json(entry: audit.Entry) -> Mapping[str, object]:
    found = audit.diff(entry)
    return {
        "id": entry.id,
        "timestamp": entry.timestamp,
        "tableName": entry.table_name,
        "recordId": entry.record_id,
        "operation": entry.operation,
        "patch": found.patch,
        "redacted": [field.field for field in found.fields if field.is_redacted],
    }


def _show_row(row: audit.PastRow) -> None:
    unknown = set(row.unknown_fields or ())
    records.show({name: "(not known)" if name in unknown else _shown(v) for name, v in row.values.items()})
    if row.other_data is not None:
        output.words(f"recorded of no column of now: {printable(row.other_data)}")
    if row.valid_from is not None:
        actor = row.actor_id or f"({row.db_user})"
        output.words(f"since {_time(row.valid_from)}, by {printable(actor)}, {row.operation}, entry {row.entry_id}")


def _row_json(row: audit.PastRow) -> Mapping[str, object]:
    return {
        "recordId": row.record_id,
        "validFrom": row.valid_from,
        "operation": row.operation,
        "actorId": row.actor_id,
        "entryId": None if row.entry_id is None else str(row.entry_id),
        "redactedFields": row.redacted_fields,
        "unknownFields": row.unknown_fields,
        "otherData": row.other_data,
        "values": {name: _plain(value) for name, value in row.values.items()},
    }


def _plain(value: Any) -> object:
    """A value as JSON, or as its text if JSON has no such value."""
    try:
        return RawJson(encode(value).decode())
    except (TypeError, ValueError):
        return [_plain(each) for each in value] if isinstance(value, list) else str(value)


def _shown(value: Any) -> str:
    return _shown_json(RawJson(encode(_plain(value)).decode()))


def _shown_json(value: RawJson | None) -> str:
    text = "null" if value is None else printable(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _time(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"


def _line(*parts: str) -> None:
    output.data("  ".join(part for part in parts if part))
