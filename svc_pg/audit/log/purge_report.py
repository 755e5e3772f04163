"""The ages by which entries are removed, and the report of a purge, for every database."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Final

from svc_pg.capture.patterns import covering
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.database.table_names import TableName
from svc_pg.errors import QueryError
from svc_pg.formats import durations
from svc_pg.formats.doc import Doc

OLDEST_AGE: Final = timedelta(days=36500)
YOUNGEST_AGE: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """The entries removed, or to be removed."""

    before: Annotated[
        datetime | None, Doc("The time that they precede; null if only tables with an age of their own are purged.")
    ]
    partitions: Annotated[
        list[str], Doc("The partitions that were dropped as a whole.", ["svc.audit_logs_2025_01"])
    ] = field(default_factory=list)
    entries: Annotated[int, Doc("The number of entries that were removed one by one.", 120)] = 0
    postponed: Annotated[
        list[str],
        Doc(
            "The partitions that readers or writers kept locked; the next purge continues with them.",
            ["svc.audit_logs_2025_02"],
        ),
    ] = field(default_factory=list)
    tables: Annotated[
        dict[str, int], Doc("The number of entries that were removed one by one, by table.", {"public.customer": 120})
    ] = field(default_factory=dict)
    held: Annotated[
        list[str], Doc("The records and tables whose holds keep entries from being removed.", ["public.customer 5"])
    ] = field(default_factory=list)
    unsealed_since: Annotated[
        datetime | None,
        Doc("The time of the oldest entry without a seal, if old entries stay until they are sealed; else null."),
    ] = None
    partition_entries: Annotated[
        dict[str, int | None],
        Doc(
            "About how many entries each of the partitions had; null if that is not known.",
            {"svc.audit_logs_2025_01": 81000},
        ),
    ] = field(default_factory=dict)
    databases: Annotated[
        dict[str, int],
        Doc(
            "The number of entries that were removed one by one, by database, if a purge is of all databases of a"
            " server of MySQL or MariaDB; else empty. An empty name stands for entries of none.",
            {"shop": 120},
        ),
    ] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ages:
    """The ages by which entries are removed: the log's own, and the tables' own. None means never."""

    default: timedelta | None
    rules: Sequence[AuditedTable] = ()

    @property
    def are_equal(self) -> bool:
        """True if all tables have the log's own age."""
        return all(rules.retention_days is None for rules in self.rules)

    def of(self, table: str, *, default_schema: str = "public") -> timedelta | None:
        """The age for a table, by the name that its entries have."""
        rules = covering(self.rules, TableName.parse(table), default_schema=default_schema)
        if rules is None or rules.retention_days is None:
            return self.default
        return timedelta(days=rules.retention_days)


def ages_of(older_than: timedelta | None, config: AuditConfig | None) -> Ages:
    """The ages of a purge: ``older_than`` takes the place of the log's ``retention_days``, not of a table's own.

    Raises QueryError if no age is given at all, or this age is not acceptable.
    """
    rules = () if config is None else config.tables
    if older_than is None and config is not None and config.retention_days is not None:
        older_than = timedelta(days=config.retention_days)
    ages = Ages(older_than, rules)
    if older_than is not None and not YOUNGEST_AGE <= older_than <= OLDEST_AGE:
        raise QueryError(
            f"{durations.text(older_than)} is not an age to purge by",
            hint=f"Write {YOUNGEST_AGE.days} to {OLDEST_AGE.days} days, such as 90d.",
        )
    if older_than is None and ages.are_equal:
        raise QueryError(
            "nothing says how long the audit log is kept, so nothing is removed",
            hint="Write retention_days = 365 below [audit] in svc-pg.toml, or pass an age: --older-than 365d, or"
            " timedelta(days=365) in Python.",
        )
    return ages
