"""The command ``related``."""

from collections.abc import Iterator
from typing import Annotated, Final, assert_never

import typer

from svc_pg import audit
from svc_pg.audit.past.tracks import TrackActor, TrackValue
from svc_pg.audit.related.answer import RelatedChange, RelatedField, RelatedHistory, RelatedTable
from svc_pg.formats import human_times

from . import output, records
from .database import connect, log_instead
from .format_difference import ERASED, NOT_KNOWN, actor_text, value_text
from .json_text import printable
from .known_tables import warn_of_no_records, warn_of_silences
from .operator import reading
from .options import After, Json, Key, PostgresUrl, Table

app = typer.Typer()

_FIELDS: Final = 3
_LONGEST: Final = 40


@app.command()
def related(
    table: Table,
    key: Key,
    *,
    limit: Annotated[int, typer.Option(min=1, max=100, metavar="N", help="The number of changes to list.")] = 24,
    steps: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, max=2, help="The steps: 1 for rows that refer to the record, 2 also for those of these."
        ),
    ] = 2,
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="TIME", help="Also the states at this time: 2026-01-31, or 7d ago. Up to two."),
    ] = None,
    after: After = None,
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """Show the changes of a record and of the rows that refer to it, the newest first."""
    wanted = audit.related(table, key).limit(limit).within(steps).at(*(at or ()))
    with reading("related"), connect(database_url, instead=log_instead(table, key)) as conn:
        warn_of_no_records(conn, table)
        warn_of_silences(conn, table)
        found = (wanted if after is None else wanted.after(after)).read(conn)
    if json:
        records.show_json(found)
        return
    for change in found.changes:
        output.data(_line(change, found.actors[change.actor]))
    for line in _states(found):
        output.data(line)
    for each in found.tables:
        if told := _bound(each):
            output.words(told)
    output.more(found.next_cursor)


def _line(change: RelatedChange, actor: TrackActor) -> str:
    fields = change.fields[:_FIELDS]
    values = [f"{printable(each.field)}: {_sides(change, each)}" for each in fields]
    more = change.field_count - len(fields)
    record = "" if change.record_id is None else f" {printable(change.record_id)}"
    way = "refers to it from now on" if change.joins else "refers to another from now on" if change.leaves else ""
    return output.spaced(
        human_times.second(change.time),
        NOT_KNOWN if actor.is_found else actor_text(actor.actor_id, actor.db_user),
        change.operation.ljust(8),
        printable(change.table.removeprefix("public.")) + record,
        ERASED if change.is_erased else ", ".join(values) + (f", and {more} more" if more else ""),
        way,
        f"[entry {change.entry_id}]",
    )


def _sides(change: RelatedChange, field: RelatedField) -> str:
    if change.operation != "UPDATE":
        return _text(field.before if change.operation in ("DELETE", "GONE") else field.after)
    return f"{_text(field.before)} -> {_text(field.after)}"


def _text(value: TrackValue) -> str:
    if value.beginning is not None:
        return f"{printable(value.beginning[:_LONGEST])}..."
    if value.value is None:
        return "(redacted)" if value.state == "hidden" else "(not there)"
    return value_text(value.value)


def _states(found: RelatedHistory) -> Iterator[str]:
    for each in found.states:
        yield f"As of {human_times.second(each.time)}:"
        for state in each.states:
            record = found.records[state.record]
            fields = ", ".join(f"{printable(one.field)}: {_text(one.value)}" for one in state.fields)
            words = {"there": fields, "not_there": "(not there)", "not_known": "(not known)"}[state.state]
            other = "" if state.belongs or state.state != "there" else "  (of another record)"
            yield f"  {printable(record.table.removeprefix('public.'))} {printable(record.record_id)}  {words}{other}"


def _bound(table: RelatedTable) -> str | None:
    """The words for a table of which not all was looked at."""
    name = f"{printable(table.table)} ({', '.join(map(printable, table.columns))})"
    match table.reach:
        case "not_audited":
            return f"{name} is not audited"
        case "newest":
            since = "" if table.back_to is None else f", since {human_times.second(table.back_to)}"
            return f"{name}: only its newest entries were looked at{since}"
        case "whole" | "not_looked_at":
            return f"{name}: {table.unnamed} entries do not tell to what they refer" if table.unnamed else None
        case _:
            assert_never(table.reach)
