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


def selected(which: EntryFilter, *, all_databases: bool) -> AuditQuery:
    """The query that the options ask for. Raises wrong usage for an actor and none."""
    if which.get("actor") and "actor" in (which.get("missing") or ()):
        raise typer.BadParameter("no entry has an actor and none", param_hint="--missing")
    wanted = matching(**which)
    return wanted.of_any_database() if all_databases else wanted
