"""The commands export, log and purge."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import typer
from rich.console import Console

from svc_pg import Config, durations
from svc_pg.audit import retention
from svc_pg.audit.entry import OPERATIONS, Entry
from svc_pg.audit.export import export as export_entries
from svc_pg.audit.follow import follow as follow_entries
from svc_pg.audit.log import AuditQuery, query
from svc_pg.encoding import encode
from svc_pg.errors import ConfigError, SvcError

from . import output, records
from .completion import one_of
from .database import open_database
from .format_entry import line
from .known_tables import warn_of_unknown
from .operator import acting_as_operator
from .options import ConfigReference, DatabaseUrl, Json, duration, point_in_time

STANDARD_OUTPUT: Final = Path("-")

app = typer.Typer()


class ExportFormat(StrEnum):
    """The format of an export."""

    json = "json"
    ndjson = "ndjson"
    csv = "csv"


Since = Annotated[
    str | None,
    point_in_time(meaning="Only changes since this time: 7d, 1h30m, 2026-01-31 (UTC) or 2026-01-31T12:00:00Z."),
]
Table = Annotated[str | None, typer.Option(metavar="TABLE", help="Only changes of this table.")]
Record = Annotated[str | None, typer.Option(metavar="KEY", help="Only changes of the record with this key.")]
Actor = Annotated[str | None, typer.Option(metavar="ACTOR", help="Only changes by this actor.")]
Operation = Annotated[
    str | None,
    typer.Option(
        metavar="OPERATION",
        help="Only INSERT, UPDATE, DELETE, TRUNCATE or SNAPSHOT.",
        autocompletion=one_of(*OPERATIONS),
    ),
]


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
    wanted = _selected(since=since, until=until, table=table, record=record, actor=actor, operation=operation)
    with _until_the_reader_leaves(), open_database(database_url) as conn, _opened(file) as out, _progress() as progress:
        warn_of_unknown(conn, table)
        report = export_entries(
            conn,
            wanted,
            format=form.value,
            out=out,
            after=after,
            is_settled=not unsettled,
            progress=lambda entries: progress(f"{entries:,} entries"),
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


@app.command()
def log(
    *,
    since: Since = None,
    table: Table = None,
    record: Record = None,
    actor: Actor = None,
    operation: Operation = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="The number of entries to start with.")] = 20,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Show new entries as they appear, until Ctrl-C.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON object a line.")] = False,
    database_url: DatabaseUrl = None,
) -> None:
    """Show the newest entries of the audit log, the newest last."""
    wanted = _selected(since=since, table=table, record=record, actor=actor, operation=operation).limit(limit)
    show = _json_line if json else line
    with _until_the_reader_leaves(), suppress(KeyboardInterrupt), open_database(database_url) as conn:
        warn_of_unknown(conn, table)
        entries = follow_entries(conn, wanted) if follow else reversed(wanted.list(conn).data)
        for entry in entries:
            typer.echo(show(entry))


@app.command()
def purge(
    *,
    older_than: Annotated[
        timedelta | None,
        duration(meaning="Remove what is older, for example 90d. Default: retention_days of the configuration."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be removed.")] = False,
    database_url: DatabaseUrl = None,
    config: ConfigReference = None,
    json: Json = False,
) -> None:
    """Remove entries of the audit log whose retention has ended."""
    age = _configured_age(config) if older_than is None else older_than
    with open_database(database_url) as conn, acting_as_operator(conn), _progress() as progress:
        report = retention.purge(conn, age, dry_run=dry_run, progress=progress)
    if json:
        records.show_json(
            {
                "before": report.before,
                "partitions": report.partitions,
                "entries": report.entries,
                "postponed": report.postponed,
                "isDryRun": dry_run,
            }
        )
    else:
        for partition in report.partitions:
            output.words(f"{'would drop' if dry_run else 'dropped'} {partition}")
        output.words(
            f"{'would remove' if dry_run else 'removed'} {report.entries:,} more entries from before"
            f" {report.before.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"
        )
    if report.postponed:
        raise SvcError(
            f"not removed, because others kept using it: {', '.join(report.postponed)}",
            hint="Purge again when long exports and dumps have ended; the rest is done.",
        )


def _selected(
    *,
    since: str | None = None,
    until: str | None = None,
    table: str | None,
    record: str | None,
    actor: str | None,
    operation: str | None,
) -> AuditQuery:
    wanted = query()
    wanted = wanted if since is None else wanted.since(durations.point_in_time(since))
    wanted = wanted if until is None else wanted.until(durations.point_in_time(until))
    wanted = wanted if table is None else wanted.resource(table)
    wanted = wanted if record is None else wanted.record(record)
    wanted = wanted if actor is None else wanted.actor(actor)
    return wanted if operation is None else wanted.operation(operation.upper())


def _configured_age(config: str | None) -> timedelta:
    days = Config.find(config).audit.retention_days
    if days is None:
        raise ConfigError(
            "nothing says how long the audit log is kept, so nothing is removed",
            hint="Write retention_days = 365 below [audit] in svc-pg.toml, or add --older-than 365d.",
        )
    return timedelta(days=days)


def _json_line(entry: Entry) -> str:
    return encode(entry).decode()


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    try:
        if file == STANDARD_OUTPUT:
            yield sys.stdout.buffer
            sys.stdout.flush()
        elif file.exists() and not file.is_file():  # a device or a pipe
            with file.open("wb") as out:
                yield out
        else:
            with _replaced(file.resolve()) as out:
                yield out
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard output" if file == STANDARD_OUTPUT else str(file)
        raise SvcError(f"{name} cannot be written: {error.strerror}") from error


@contextmanager
def _replaced(file: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of the old one at the end, so that a failure leaves the old one as it was."""
    part = file.with_name(f".{file.name[:200]}.{os.getpid()}.part")
    try:
        with part.open("wb") as out:
            yield out
        if file.exists():
            shutil.copymode(file, part)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _until_the_reader_leaves() -> Iterator[None]:
    """End without an error if the reader, for example head, closes our standard output."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # buffered output goes nowhere
        raise typer.Exit from None


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Show progress to a person at a terminal, unless it would mix with the data."""
    console = Console(stderr=True)
    if not console.is_terminal or sys.stdout.isatty():
        yield lambda _: None
        return
    with console.status("") as status:
        yield lambda text: status.update(text)
