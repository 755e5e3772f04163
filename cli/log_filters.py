"""Options that select entries of the audit log."""

from typing import Annotated

import typer

from svc_pg.audit.log.entry import OPERATIONS, SEVERITIES
from svc_pg.audit.read.audit_query import AuditQuery, query
from svc_pg.formats import durations

from .completion import one_of
from .options import point_in_time

Since = Annotated[
    str | None,
    point_in_time(meaning="Only changes since this time: 7d, 1h30m, 2026-01-31 (UTC) or 2026-01-31T12:00:00Z."),
]
Until = Annotated[str | None, point_in_time(meaning="Only changes before this time, written as for --since.")]
Tables = Annotated[
    list[str] | None,
    typer.Option("--table", metavar="TABLE", help="Only changes of this table; repeat it for several."),
]
Record = Annotated[str | None, typer.Option(metavar="KEY", help="Only changes of the record with this key.")]
Actors = Annotated[
    list[str] | None,
    typer.Option("--actor", metavar="ACTOR", help="Only changes by this actor; repeat it for several."),
]
NoActor = Annotated[bool, typer.Option("--no-actor", help="Only changes whose program named no actor.")]
Tenants = Annotated[
    list[str] | None,
    typer.Option("--tenant", metavar="TENANT", help="Only changes of this tenant; repeat it for several."),
]
Operations = Annotated[
    list[str] | None,
    typer.Option(
        "--operation",
        metavar="OPERATION",
        help="Only INSERT, UPDATE, DELETE, TRUNCATE or SNAPSHOT; repeat it for several.",
        autocompletion=one_of(*OPERATIONS),
    ),
]
Changed = Annotated[
    list[str] | None,
    typer.Option(metavar="FIELD", help="Only updates that changed this field; repeat it for several."),
]
Labels = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="LABEL", help="Only changes with this label; repeat it for several."),
]
LeastSeverity = Annotated[
    str | None,
    typer.Option(
        "--severity",
        metavar="LEVEL",
        help="Only changes of at least this severity: low, medium, high or critical.",
        autocompletion=one_of(*SEVERITIES),
    ),
]
Compliance = Annotated[
    list[str] | None,
    typer.Option(metavar="TAG", help="Only changes with this tag of compliance; repeat it for several."),
]


AllDatabases = Annotated[
    bool,
    typer.Option(
        "--all-databases", help="On MySQL and MariaDB, not only of the database that the address names, but of all."
    ),
]


def selected(
    *,
    all_databases: bool = False,
    since: str | None = None,
    until: str | None = None,
    tables: list[str] | None,
    record: str | None,
    actors: list[str] | None,
    no_actor: bool,
    tenants: list[str] | None,
    operations: list[str] | None,
    changed: list[str] | None,
    labels: list[str] | None,
    severity: str | None,
    compliance: list[str] | None,
) -> AuditQuery:
    """The query that these options ask for. Raises wrong usage for an actor and none."""
    if actors and no_actor:
        raise typer.BadParameter("no change has an actor and none", param_hint="--no-actor")
    wanted = query().of_any_database() if all_databases else query()
    wanted = wanted if since is None else wanted.since(durations.point_in_time(since))
    wanted = wanted if until is None else wanted.until(durations.point_in_time(until))
    wanted = wanted if not tables else wanted.resource(*tables)
    wanted = wanted if record is None else wanted.record(record)
    wanted = wanted if not actors else wanted.actor(*actors)
    wanted = wanted if not no_actor else wanted.missing("actor")
    wanted = wanted if not tenants else wanted.tenant(*tenants)
    wanted = wanted if not operations else wanted.operation(*map(str.upper, operations))
    wanted = wanted if not changed else wanted.changed(*changed)
    wanted = wanted if not labels else wanted.label(*labels)
    wanted = wanted if severity is None else wanted.severity(at_least=severity.lower())
    return wanted if not compliance else wanted.compliance(*compliance)
