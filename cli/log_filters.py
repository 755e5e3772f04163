"""Options that select entries of the audit log."""

from typing import Annotated

import typer

from svc_pg.audit.read.audit_filters import EntryFilter, matching
from svc_pg.audit.read.audit_query import AuditQuery

AllDatabases = Annotated[
    bool,
    typer.Option(
        "--all-databases", help="On MySQL and MariaDB, not only of the database that the address names, but of all."
    ),
]
NoActor = Annotated[bool, typer.Option("--no-actor", help="Only entries without an actor: as --missing actor.")]


def selected(which: EntryFilter, *, no_actor: bool, all_databases: bool) -> AuditQuery:
    """The query for the options. Raises wrong usage for an actor together with none."""
    missing = list(which.get("missing") or ())
    if no_actor and "actor" not in missing:
        missing.append("actor")
    if which.get("actor") and "actor" in missing:
        raise typer.BadParameter("no entry has an actor and none", param_hint="--no-actor" if no_actor else "--missing")
    wanted = matching(**(which | {"missing": missing or None}))
    return wanted.of_any_database() if all_databases else wanted
