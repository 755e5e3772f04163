"""The configuration of the audit log: tables, redaction and enrichment rules, from TOML or Python."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import field_validator

from svc_pg.config import description as descriptions
from svc_pg.config.audited_table import (
    AuditedTable,
    EnrichmentRule,
    Operation,
    Redaction,
    RetentionDays,
    Severity,
)
from svc_pg.config.condition import Condition
from svc_pg.config.erasure import references
from svc_pg.config.model import StrictModel, TableText, validated
from svc_pg.errors import ConfigError
from svc_pg.formats import durations

Search = Literal["contains", "text"]
LogIndex = Literal["record", "time", "severity", "table", "actor", "tenant"]
Unattributed = Literal["record", "refuse"]
UnrecordedReads = Literal["refuse", "allow"]
Partitions = Literal["month", "day"]


class AuditConfig(StrictModel):
    """The tables of the audit log, and the treatment of all their entries.

    - ``retention_days``: the days for which ``svc-pg purge`` keeps entries. Default: forever. A table may have its own.
    - ``partitions``: a part of the log for each ``month``, or for each ``day`` if a day has millions of entries. That
      needs ``retention_days`` of at most 400, of the log and of each table.
    - ``erasure``: the columns of other tables that refer to a table's records: ``orders.customer_id``, or
      ``orders(region, customer_no)`` for a key of several columns.
    - ``search``: the searches in snapshots that get an index, at a cost for every entry.
    - ``indexes``: the lists of the log that an index makes fast, at a cost for every entry: of one ``table``, of one
      ``actor``, of one ``tenant``, and by ``severity``. ``record`` and ``time`` are always there.
    - ``reconcile``: the time after which maintenance compares the tables with the log again: ``7d``. Default: never.
    - ``unattributed``: ``record`` changes whose program names no actor, or ``refuse`` them.
    - ``unrecorded_reads``: ``refuse`` to show records of tables with ``record_reads`` if the read cannot be recorded,
      as on a standby, or ``allow`` it.
    - ``ddl``: also record statements that change the audited tables themselves, such as ALTER TABLE and DROP TABLE.
      Needs the right to make event triggers, which superusers have and most managed servers give.
    """

    unattributed: Unattributed = "record"
    unrecorded_reads: UnrecordedReads = "refuse"
    ddl: bool = False
    retention_days: RetentionDays | None = None
    partitions: Partitions = "month"
    reconcile: durations.Duration | None = None
    search: list[Search] = []
    indexes: list[LogIndex] = ["record", "time", "severity"]
    tables: list[AuditedTable] = []
    erasure: dict[TableText, list[str]] = {}

    @field_validator("erasure")
    @classmethod
    def _refers(cls, erasure: dict[str, list[str]]) -> dict[str, list[str]]:
        try:
            references(erasure)
        except ConfigError as error:
            raise ValueError(error.message) from error
        return erasure

    @field_validator("indexes")
    @classmethod
    def _chosen_once(cls, indexes: list[LogIndex]) -> list[LogIndex]:
        _refuse_twice(indexes)
        return indexes

    @field_validator("tables")
    @classmethod
    def _each_once(cls, tables: list[AuditedTable]) -> list[AuditedTable]:
        _refuse_twice([table.name for table in tables])
        return tables

    def table(self, name: str, **options: Any) -> None:
        """Audit one more table; the options are the fields of AuditedTable.

        Raises ConfigError if the table is audited already, or a name or an option is not acceptable.
        """
        table = validated(AuditedTable, {"name": name} | options, source="config.audit.table")
        if any(other.name == table.name for other in self.tables):
            raise ConfigError(f'config.audit.table: table "{table.name}" is audited already')
        self.tables.append(table)

    def enrich(
        self,
        table: str,
        operation: Operation,
        *,
        label: str | None = None,
        severity: Severity | None = None,
        compliance: Sequence[str] = (),
        redact: Sequence[str] | Mapping[str, Redaction] = (),
        description: str | descriptions.Describe | None = None,
        when: Mapping[str, Any] | Condition | None = None,
    ) -> None:
        """Add a rule to an audited table; rules are tried in the order in which they are added.

        Raises ConfigError if the table is not audited, the rule repeats another, or the description cannot be compiled.
        """
        source = "config.audit.enrich"
        values = {
            "operation": operation,
            "label": label,
            "severity": severity,
            "compliance": list(compliance),
            "redact": dict(redact) if isinstance(redact, Mapping) else list(redact),
            "description": description,
            "when": when,
        }
        rule = validated(EnrichmentRule, values, source=source)
        name = validated(AuditedTable, {"name": table}, source=source).name
        index = next((index for index, audited in enumerate(self.tables) if audited.name == name), None)
        if index is None:
            known = ", ".join(audited.name for audited in self.tables) or "none"
            raise ConfigError(
                f'{source}: table "{name}" is not audited', hint=f"First config.audit.table(...); audited: {known}."
            )
        audited = self.tables[index]
        rules = {"enrich": [*audited.enrich, rule]}
        self.tables[index] = validated(AuditedTable, dict(audited) | rules, source=source)


def _refuse_twice(names: Sequence[str]) -> None:
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"named more than once: {', '.join(twice)}")
