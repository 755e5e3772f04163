"""The commands ``install``, ``plan``, ``status`` and ``uninstall``."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final

import typer

from svc_pg import Config, schema
from svc_pg.config import DEFAULT_FILE
from svc_pg.errors import RemovalRefusedError
from svc_pg.formats.plurals import counted
from svc_pg.schema import Status

from . import capture_costs, format_status, output, products, records, tables
from .confirming import Yes, confirm
from .database import is_postgresql, open_database
from .options import ConfigReference, DatabaseUrl, Json, Prune, Roles, duration
from .products import All, Only, with_products
from .status import ddl_recording, seal_status, tenant_reads
from .status.facts import Facts

app = typer.Typer()

_NO_CONFIGURATION: Final = (
    f"There is no {DEFAULT_FILE} in this folder, so nothing is wanted: name the configuration with --config."
)

Verbose = Annotated[bool, typer.Option("--verbose", help="List every object of schema svc as well.")]

LockTimeout = Annotated[timedelta, duration(meaning="How long to wait for each table that is in use.")]


@app.command()
def install(
    *,
    database_url: DatabaseUrl = None,
    config: ConfigReference = None,
    only: Only = None,
    everything: All = False,
    prune: Prune = False,
    backfill: Annotated[
        bool,
        typer.Option(
            "--backfill", help="Record what the log does not know: existing rows, and changes without an entry."
        ),
    ] = False,
    roles: Roles = None,
    lock_timeout: LockTimeout = "5s",  # type: ignore[assignment]  # Typer parses it
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Make the database equal to the configuration: for the first install, every upgrade and every change."""
    found = Config.find(config)
    wanted = with_products(found, only=only, everything=everything)
    with open_database(database_url) as conn:
        try:
            steps = schema.install(conn, wanted, prune=prune, roles=roles, wait_for_table=lock_timeout)
        except RemovalRefusedError as error:
            if _is_configured(config):
                raise
            raise RemovalRefusedError(error.message, hint=f"Nothing has been changed. {_NO_CONFIGURATION}") from error
        snapshots = schema.backfill(conn, wanted) if backfill else {}
        is_idle = not wanted.audit.tables and not is_postgresql(conn)
        tenant_reads.tell(conn, wanted)
        products.tell(conn, found)
        ddl_recording.tell(conn, wanted)
    if json:
        records.show_json({"changes": [format_status.as_json(step) for step in steps], "snapshots": snapshots})
        return
    _say(steps, verbose=verbose)
    for table, number in snapshots.items():
        output.words(f"snapshot of {counted(number, 'row')} of {table}")
    nothing = "Nothing to change: the database is as the configuration says."
    output.words(f"{counted(len(steps), 'change')}." if steps else nothing)
    if is_idle:
        output.words("No table is recorded yet: name them in svc-pg.toml, each below [[audit.tables]].")


@app.command()
def plan(
    *,
    database_url: DatabaseUrl = None,
    config: ConfigReference = None,
    only: Only = None,
    everything: All = False,
    roles: Roles = None,
    revision: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Print the SQL of a migration that svc-pg migrate wrote. The file is read, not run."
        ),
    ] = None,
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Also measure what capture costs a row of each table, on copies rolled back."),
    ] = False,
    json: Json = False,
) -> None:
    """Print the SQL that install would execute. Changes nothing."""
    wanted = with_products(Config.find(config), only=only, everything=everything)
    if revision is not None and (measure or roles is not None or config is not None or only or everything):
        raise typer.BadParameter("a migration says by itself what it installs", param_hint="'--revision'")
    with open_database(database_url) as conn:
        steps = schema.plan_revision(conn, revision) if revision else schema.plan(conn, wanted, roles=roles)
        costs = schema.measure(conn, wanted, roles=roles) if measure else None
        tenant_reads.tell(conn, wanted)
    if json:
        changes = [format_status.as_json(step) | {"sql": step.sql, "needsPrune": step.needs_prune} for step in steps]
        records.show_json({"changes": changes} | (capture_costs.as_json(costs) if costs else {}))
        return
    for step in steps:
        note = "; only with --prune" if step.needs_prune and not revision else ""
        left_out = format_status.left_out([step])
        output.sql(f"-- {step.action} {step.kind} {step.identity}{note}{left_out}\n{step.sql.rstrip()}\n")
    format_status.tell_titles(steps)
    if costs:
        capture_costs.tell(costs)
    output.words(f"{counted(len(steps), 'change')}." if steps else "Nothing to change.")


@app.command()
def status(
    *, database_url: DatabaseUrl = None, config: ConfigReference = None, verbose: Verbose = False, json: Json = False
) -> None:
    """Show the installed objects and their differences from the configuration. Exits with 3 if anything differs, or if
    the last reconciliation of a table left differences.

    Late deliveries are shown too; webhooks health exits with 3 for them.
    """
    wanted = Config.find(config)
    with open_database(database_url) as conn:
        found = schema.status(conn, wanted)
        facts = Facts.read(conn)
        tenant_reads.tell(conn, wanted)
    differing = [entry for entry in found if entry.state != "ok"]
    is_ok = not differing and not facts.findings
    if json:
        objects = [format_status.as_json(entry) for entry in found]
        records.show_json({"isOk": is_ok, "objects": objects} | facts.as_json())
    else:
        lines = format_status.every(found) if verbose else format_status.summary(found)
        tables.show(
            "", ["state", "kind", "what"], [[line.state, line.kind, line.what] for line in lines], folding={"what"}
        )
        _tell_limits(found)
        seal_status.tell(facts.seals)
        if differing:
            verb = "differs" if len(differing) == 1 else "differ"
            output.words(f"{len(differing)} of {len(found)} objects {verb}. {_advice(differing, config)}".rstrip())
            _tell_differing(differing)
        else:
            output.words(f"ok: all {len(found)} objects are as they should be.")
        facts.tell()
    if not is_ok:
        raise typer.Exit(3)


@app.command()
def uninstall(
    *,
    database_url: DatabaseUrl = None,
    drop_data: Annotated[
        bool, typer.Option("--drop-data", help="Also drop the audit log, the webhook queue and all endpoints.")
    ] = False,
    yes: Yes = False,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Remove the triggers, views and functions of svc-pg. The data stays, unless you add --drop-data."""
    if drop_data:
        confirm("Drop the audit log, the webhook queue and all endpoints?", yes=yes)
    with open_database(database_url) as conn:
        steps = schema.uninstall(conn, drop_data=drop_data)
    if json:
        records.show_json({"changes": [format_status.as_json(step) for step in steps]})
        return
    _say(steps, verbose=verbose)
    kept = "" if drop_data else " The audit log and all other data stay; --drop-data drops them."
    output.words(f"{counted(len(steps), 'object')} removed.{kept}" if steps else "Nothing to remove.")


def _advice(differing: list[Status], config: str | None) -> str:
    if not any(entry.needs_prune for entry in differing):
        return "To put them right: svc-pg install" if not all(entry.is_foreign for entry in differing) else ""
    if not _is_configured(config):
        return _NO_CONFIGURATION
    return "To put them right, and to remove what the configuration does not name: svc-pg install --prune"


def _tell_differing(differing: Sequence[Status]) -> None:
    """Print what an install does not put right by itself: tables of another name, objects of others, and gaps."""
    gone = [(entry.audited_table, entry.moved_to) for entry in differing if entry.needs_prune]
    for table, now in dict.fromkeys(gone):
        if now is not None:
            output.words(f"{table} is now {now}. To go on recording it, name it so.")
    for entry in differing:
        if entry.is_foreign and entry.kind != "gap":
            how = f" To change it: {entry.sql}" if entry.sql else ""
            output.words(f"An install keeps {entry.kind} {entry.identity}.{how}")
    if any(entry.kind == "gap" for entry in differing):
        output.words(
            "Changes of incomplete tables may have no entry. To record what their rows are now:"
            " svc-pg install --backfill"
        )


def _is_configured(config: str | None) -> bool:
    return config is not None or DEFAULT_FILE.exists()


def _say(steps: list[Status], *, verbose: bool) -> None:
    for line in format_status.every(steps) if verbose else format_status.summary(steps):
        output.words(f"{line.action:8}{line.kind:9} {line.what}")
    _tell_limits(steps)


def _tell_limits(found: list[Status]) -> None:
    for note in dict.fromkeys(
        f"note: {entry.audited_table or entry.identity}: {entry.note}." for entry in found if entry.note
    ):
        output.words(note)
