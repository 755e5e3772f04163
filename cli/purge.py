"""The command ``purge``."""

from datetime import timedelta
from typing import Annotated

import typer

from svc_pg import Config
from svc_pg.audit.keep import retention
from svc_pg.audit.log.purge_report import OLDEST_AGE, YOUNGEST_AGE, PurgeReport
from svc_pg.errors import SvcError
from svc_pg.formats import durations
from svc_pg.formats.plurals import counted

from . import output, records
from .database import open_database
from .log_filters import AllDatabases
from .operator import acting_as_operator
from .options import ConfigReference, DatabaseUrl, Json
from .progress import progress

app = typer.Typer()


def _age(value: str | timedelta) -> timedelta:
    """An age by which entries may be removed."""
    try:
        age = durations.parse(value)
    except ValueError:
        age = timedelta(0)
    if not YOUNGEST_AGE <= age <= OLDEST_AGE:
        limits = f"{YOUNGEST_AGE.days} to {OLDEST_AGE.days} days"
        raise typer.BadParameter(f"{str(value)!r} is not an age to purge by; write {limits}, such as 90d, 2w or 1y")
    return age


@app.command()
def purge(
    *,
    older_than: Annotated[
        timedelta | None,
        typer.Option(
            parser=_age,
            metavar="AGE",
            help="Remove what is older, for example 90d, 2w or 1y. Default: retention_days of the configuration.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be removed.")] = False,
    unsealed: Annotated[
        bool, typer.Option("--unsealed", help="Also remove entries that no seal has yet, although the log has seals.")
    ] = False,
    all_databases: AllDatabases = False,
    database_url: DatabaseUrl = None,
    config: ConfigReference = None,
    json: Json = False,
) -> None:
    """Remove entries of the audit log whose retention has ended."""
    wanted = Config.find(config).audit
    with open_database(database_url) as conn, acting_as_operator(conn), progress() as show:
        report = retention.purge(
            conn,
            older_than,
            config=wanted,
            dry_run=dry_run,
            unsealed=unsealed,
            all_databases=all_databases,
            progress=show,
        )
    if json:
        records.show_json(
            {
                "before": report.before,
                "partitions": report.partitions,
                "partitionEntries": report.partition_entries,
                "entries": report.entries,
                "tables": report.tables,
                "databases": report.databases,
                "postponed": report.postponed,
                "held": report.held,
                "unsealedSince": report.unsealed_since,
                "isDryRun": dry_run,
            }
        )
    else:
        _tell(report, is_planned=dry_run)
    if report.postponed:
        raise SvcError(
            f"not removed, because others kept using it: {', '.join(report.postponed)}",
            hint="Purge again when long exports and dumps have ended; the rest is done.",
        )


def _tell(report: PurgeReport, *, is_planned: bool) -> None:
    for partition in report.partitions:
        entries = report.partition_entries.get(partition)
        about = f"about {counted(entries, 'entry')}" if entries else "no entries"
        size = "" if entries is None else f" with {about}"
        output.words(f"{'would drop' if is_planned else 'dropped'} {partition}{size}")
    for table, entries in sorted(report.tables.items()):
        if entries:
            output.words(f"{'would remove' if is_planned else 'removed'} {counted(entries, 'entry')} of {table}")
    if report.databases:
        output.words(
            ", ".join(
                f"{each or 'no database'}: {counted(report.databases[each], 'entry')}"
                for each in sorted(report.databases)
            )
        )
    if not report.partitions and not report.entries:
        output.words(f"{'would remove' if is_planned else 'removed'} nothing")
    for hold in report.held:
        output.words(f"held, so kept: {hold}")
    if report.unsealed_since is not None:
        output.words(f"Entries since {records.minute(report.unsealed_since)} stay until they are sealed: svc-pg seal.")
