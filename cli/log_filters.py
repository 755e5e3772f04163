"""Options that select entries of the audit log."""

from typing import Annotated

import typer

from svc_pg import durations
from svc_pg.audit.entry import OPERATIONS
from svc_pg.audit.log import AuditQuery, query

from .completion import one_of
from .options import point_in_time

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


def selected(
    *,
    since: str | None = None,
    until: str | None = None,
    table: str | None,
    record: str | None,
    actor: str | None,
    operation: str | None,
) -> AuditQuery:
    """The query that these options ask for."""
    wanted = query()
    wanted = wanted if since is None else wanted.since(durations.point_in_time(since))
    wanted = wanted if until is None else wanted.until(durations.point_in_time(until))
    wanted = wanted if table is None else wanted.resource(table)
    wanted = wanted if record is None else wanted.record(record)
    wanted = wanted if actor is None else wanted.actor(actor)
    return wanted if operation is None else wanted.operation(operation.upper())
