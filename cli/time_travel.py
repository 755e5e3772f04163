"""The commands ``history``, ``as-of`` and ``blame``."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from svc_pg import audit
from svc_pg.audit.past.as_of import MOST_RECORDS
from svc_pg.database.pagination import Page
from svc_pg.formats import durations, human_times

from . import output, records
from .database import connect, log_instead
from .format_difference import ERASED, NOT_KNOWN, actor_text, differences, value_text, who_text
from .json_text import printable
from .known_tables import tell_other_names, warn_of_no_records, warn_of_silences
from .lists import filled, tell_none
from .operator import reading
from .options import After, Json, Key, Limit, PostgresUrl, Table, readable_time

app = typer.Typer()


@app.command()
def history(
    table: Table,
    key: Key,
    *,
    limit: Limit = 20,
    after: After = None,
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """Show the states of one record, the newest first."""
    states = audit.history(table, key).limit(limit)
    with _opened("history", database_url, table, key) as conn:
        page = (states if after is None else states.after(after)).list(conn)
    if json:
        records.show_page(page)
        return
    for state in page:
        end = "" if state.moved_to is None else f"now {printable(state.moved_to)}"
        output.data(
            output.spaced(
                human_times.second(state.valid_from),
                who_text(state),
                state.operation.ljust(8),
                end or (ERASED if state.is_erased else differences(state)),
                f"[entry {state.entry_id}]",
            )
        )
        if not state.is_in_order:
            output.words(f"entry {state.entry_id}: what came before it, or the order in its transaction, is not known")
    output.more(page.next_cursor)


@app.command("as-of")
def as_of(
    time: Annotated[
        str,
        typer.Argument(
            metavar="TIME",
            help="The time: 2026-01-31 (UTC), 2026-01-31T12:00:00Z, or 7d, 1h30m ago.",
            callback=readable_time,
        ),
    ],
    table: Table,
    key: Annotated[
        str | None, typer.Argument(metavar="KEY", help="The record's key. Default: all rows of the table.")
    ] = None,
    *,
    limit: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="The number of rows to list.")] = 20,
    after: After = None,
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """Show a record, or the rows of a table, as they were at a time."""
    past = audit.as_of(table, time).as_json()  # PostgreSQL has times that Python lacks, for example infinity
    point = durations.point_in_time(time)
    when = point if isinstance(point, datetime) else _ago(point)
    if when > datetime.now(UTC):
        output.words(f"warning: {time} is in the future: these are the states of now")
    # later silences are told too: what was then is told from the entry after it
    if key is not None:
        with _opened("as-of", database_url, table, key) as conn:
            found = past.record(key).one(conn)
        if json:
            records.show_json(_row_json(found))
        else:
            _show_row(found)
        return
    with _opened("as-of", database_url, table) as conn:
        past = past.limit(limit)
        page = filled(conn, past, after=after)
    if json:
        records.show_page(Page([_row_json(row) for row in page], page.next_cursor))
        return
    for row in page:
        fields = ", ".join(f"{printable(name)}: {value_text(v)}" for name, v in row.values.items())
        output.data(output.spaced(printable(row.record_id), ERASED if row.is_erased else fields))
    if any(row.unknown_fields and not row.is_erased for row in page):
        output.words("Some columns are null because their value then is not known: --json names them.")
    if not page.data and page.next_cursor is not None:
        tell_none(page, "", "records", of_a_page=MOST_RECORDS)
    output.more(page.next_cursor)


@app.command()
def blame(table: Table, key: Key, *, after: After = None, database_url: PostgresUrl = None, json: Json = False) -> None:
    """Show the actor and the time of the last change of each field of a record."""
    with _opened("blame", database_url, table, key) as conn:
        origins = audit.blame(conn, table, key, after=after)
    if json:
        records.show_json(origins)
        return
    width = max((len(origin.field) for origin in origins), default=0)
    for origin in origins:
        value = "(redacted)" if origin.is_redacted else value_text(origin.value)
        if origin.unchanged_since is not None:
            who = [f"not changed since {human_times.second(origin.unchanged_since)}"]
        elif origin.changed_at is None:
            since = "" if origin.known_since is None else f" before {human_times.second(origin.known_since)}"
            who = [f"not known{since}"]
        else:
            actor = actor_text(origin.actor_id, origin.db_user)
            told = [human_times.second(origin.changed_at), actor]
            if origin.is_found:
                told = [f"found changed {human_times.second(origin.changed_at)}", NOT_KNOWN]
            who = [*told, str(origin.operation), f"[entry {origin.entry_id}]"]
        output.data(output.spaced(printable(origin.field).ljust(width), value, *who))
    if origins.next_cursor is not None:
        output.words(f"Older entries may tell of fields not changed since then: --after {origins.next_cursor}")


@contextmanager
def _opened(command: str, database_url: str | None, table: str, key: str | None = None) -> Iterator[Any]:
    """A connection to PostgreSQL, when it is told what the log knows of the table."""
    with reading(command), connect(database_url, instead=log_instead(table, key)) as conn:
        warn_of_no_records(conn, table)
        tell_other_names(conn, table)
        warn_of_silences(conn, table)
        yield conn


def _ago(age: str) -> datetime:
    try:
        return datetime.now(UTC) - durations.parse(age)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _show_row(row: audit.PastRow) -> None:
    unknown = set(row.unknown_fields or ())
    absent = ERASED if row.is_erased else "(not known)"
    records.show({name: absent if name in unknown else value_text(v) for name, v in row.values.items()})
    if row.other_data is not None and not row.is_erased:
        output.words(f"also recorded, redacted or of other columns than those of now: {printable(row.other_data.text)}")
    if row.valid_from is not None:
        actor = actor_text(row.actor_id, row.db_user)
        output.words(f"since {human_times.second(row.valid_from)}, by {actor}, {row.operation}, entry {row.entry_id}")


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
        "values": row.values,
    }
