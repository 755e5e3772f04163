"""The answers of a database's coverage: a table with what is recorded of it, and counts of all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from svc_pg.audit.read.coverage_days import DayCount
from svc_pg.audit.read.coverage_filters import Reason, RelationKind, State
from svc_pg.config.audited_table import Redaction
from svc_pg.formats.doc import Doc


@dataclass(frozen=True, slots=True)
class RecordedComparison:
    """The last recorded comparison of a table with the log, of the last 400 days."""

    at: Annotated[datetime, Doc("The time at which it was recorded.")]
    rows: Annotated[int, Doc("The number of rows that it compared.", 4117)]
    missing: Annotated[int, Doc("The number of rows that the log lacked.", 0)]
    differing: Annotated[int, Doc("The number of rows that the log knew otherwise.", 2)]
    gone: Annotated[int, Doc("The number of records that only the log had.", 0)]
    unrepaired: Annotated[int, Doc("The number of those differences that no repair has recorded.", 0)]

    @property
    def differences(self) -> int:
        """The number of all differences."""
        return self.missing + self.differing + self.gone


@dataclass(frozen=True, slots=True)
class CoveredTable:
    """A table, a foreign table or a view, or a name that should be a table."""

    schema: Annotated[str, Doc("Its schema.", "public")]
    name: Annotated[str, Doc("Its name with its schema, as entries have it.", "public.customer")]
    kind: Annotated[RelationKind | None, Doc("Its kind; null if it is not there.")]
    state: Annotated[
        State,
        Doc(
            "Its state: audited if its triggers are there and fire, drifting if its triggers are not as configured, so"
            " that changes may be missed. The rules in force are compared by `svc-pg status`."
        ),
    ]
    reason: Annotated[Reason | None, Doc("The reason for which it is not audited, or is drifting; else null.")]
    redact: Annotated[
        Mapping[str, Redaction],
        Doc("The way in which the configuration disguises values of its columns, by column.", {"iban": "last4"}),
    ] = field(default_factory=dict)
    ignore: Annotated[
        Sequence[str], Doc("By the configuration, an UPDATE of these columns alone has no entry.", ["updated_at"])
    ] = ()
    columns: Annotated[
        Sequence[str] | None,
        Doc("By the configuration, the only columns recorded beside its key; null stands for all.", ["name"]),
    ] = None
    has_key: Annotated[
        bool, Doc("True if it has a primary key or a configured one; otherwise entries name no record.")
    ] = False
    partitions: Annotated[int | None, Doc("The number of its partitions; null if it has none by its kind.", 12)] = None
    estimated_rows: Annotated[int | None, Doc("The planner's estimate of its rows; null if it has none yet.", 1200)] = (
        None
    )
    days: Annotated[
        Sequence[DayCount], Doc("Its entries in the last 14 days, the oldest first; empty if none was found.")
    ] = ()
    last_entry_at: Annotated[
        datetime | None, Doc("The time of the newest of those entries that were counted; null if there is none.")
    ] = None
    reconciliation: Annotated[
        RecordedComparison | None, Doc("Its last recorded comparison with the log; null if there is none.")
    ] = None


@dataclass(frozen=True, slots=True)
class ReconciledTables:
    """The last recorded comparisons with the log of the first 1,000 audited tables by name, of the last 400 days."""

    tables: Annotated[int, Doc("The number of those tables that were compared.", 41)]
    last_at: Annotated[datetime | None, Doc("The time of the last comparison; null if there is none.")]
    oldest_at: Annotated[datetime | None, Doc("That of the table whose last comparison is the oldest.")]
    unrepaired: Annotated[int, Doc("The number of differences that no repair has recorded.", 0)]


@dataclass(frozen=True, slots=True)
class CoverageCounts:
    """The number of tables in each state, the schemas that they are in, and the last comparisons with the log."""

    tables: Annotated[int, Doc("The number of tables, with those that should be there and are not.", 44)]
    audited: Annotated[int, Doc("The number of those whose triggers are there and fire.", 41)]
    drifting: Annotated[int, Doc("The number of those whose triggers are not as configured.", 0)]
    not_audited: Annotated[int, Doc("The number of those whose changes are not recorded.", 3)]
    excluded: Annotated[int, Doc("The number of these that the configuration excludes.", 2)]
    others: Annotated[int, Doc("The number of views and foreign tables, which are never audited.", 7)]
    schemas: Annotated[Sequence[str], Doc("The first 200 schemas by name.", ["public"])]
    reconciled: Annotated[
        ReconciledTables, Doc("The comparisons of audited tables, whichever are counted: of the first 1,000 by name.")
    ]
