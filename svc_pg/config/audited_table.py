"""The rules of one audited table: its capture, redaction and enrichment."""

from datetime import timedelta
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from svc_pg.config import description as descriptions
from svc_pg.config.condition import Condition
from svc_pg.config.model import StrictModel, TableText
from svc_pg.formats import durations

Operation = Literal["INSERT", "UPDATE", "DELETE", "TRUNCATE", "*"]
Severity = Literal["low", "medium", "high", "critical"]
Redaction = Literal["remove", "mask", "hash", "last4"]


def _whole_days(value: object) -> object:
    """The number of days of a duration such as 30d; a number stays as it is."""
    if not isinstance(value, str | timedelta):
        return value
    try:
        days, rest = divmod(durations.parse(value), timedelta(days=1))
    except ValueError:
        days, rest = 0, timedelta()
    if rest or not days:
        given = repr(value) if isinstance(value, str) else durations.text(value)
        raise ValueError(f"{given} is not a number of days; write 30 or 30d")
    return days


RetentionDays = Annotated[int, Field(strict=True, ge=1, le=36500), BeforeValidator(_whole_days)]
"""Days, or a duration of whole days such as 30d or 1y."""

MIN_VALUE_BYTES: Final = 256


def _by_column(value: object) -> object:
    """Read a list of columns as columns to remove."""
    if isinstance(value, str):
        raise ValueError(f'write a list of columns: ["{value}"]')
    if not isinstance(value, list | tuple):
        return value
    if not all(isinstance(column, str) for column in value):
        raise ValueError("write a list of columns, each a text")
    return dict.fromkeys(value, "remove")


class EnrichmentRule(StrictModel):
    """The enrichment of some entries of a table; the first rule that applies decides all of it.

    ``description`` is a template such as ``{actor_id} changed {before[email]} to {after[email]}``; in Python also a
    callable of ``before``, ``after`` and ``actor_id`` that only puts them into a text. ``redact`` applies to every
    entry of the table, regardless of operation and condition.
    """

    operation: Operation = "*"
    label: str | None = None
    severity: Severity | None = None
    compliance: list[str] = []
    redact: Annotated[dict[str, Redaction], BeforeValidator(_by_column)] = {}
    description: str | None = None
    when: Condition | None = None

    @field_validator("description", mode="before")
    @classmethod
    def _template(cls, value: object) -> object:
        text = descriptions.trace(value) if callable(value) else value
        if isinstance(text, str):
            descriptions.parse(text)
        return text


class AuditedTable(StrictModel):
    """One table whose changes are recorded, or a pattern of tables.

    - ``name``: ``schema.table``, or a pattern such as ``public.*`` with names to ``exclude``.
    - ``level``: ``row``, or ``statement`` for tables that are loaded in bulk.
    - ``key``: the columns that identify a record, if the table has no primary key.
    - ``title``: the column whose value names a record on the pages of the console. Default: ``name``, ``title``, one
      with the table's noun (``slice_name`` of ``slices``), ``email`` or another one that usually does.
    - ``redact``: columns whose values never reach the log; ``remove`` leaves the field out, ``mask`` puts a marker in
      its place, ``hash`` an HMAC that is equal for equal values, ``last4`` the end of a text of at least eight
      characters.
    - ``columns``: record only these, and the key.
    - ``ignore``: columns whose change alone writes no entry. Their values are in the snapshots of other changes.
    - ``record_when``: the condition under which an INSERT, UPDATE or DELETE writes an entry at all. A TRUNCATE always
      does. ``before`` has no values on INSERT, ``after`` none on DELETE, and ``changed`` holds on UPDATE only.
    - ``max_value_bytes``: a larger value is replaced by its size and SHA-256.
    - ``on_drift``: the reaction if a redacted column no longer exists: ``mask_all`` of the snapshot, or ``raise``.
    - ``on_error``: the reaction if an entry cannot be written: ``raise``, so that nothing goes unrecorded, or ``warn``,
      so that the application's write goes on.
    - ``cascades``: ``recorded``, or ``unrecorded`` for a table of MySQL or MariaDB whose foreign keys change rows in a
      way that no trigger can tell. Other databases record such changes always.
    - ``replica``: also record the writes of logical replication and under ``session_replication_role = replica``. Not
      at level ``statement``.
    - ``record_reads``: also record who reads the table's records in the log: on pages, by the HTTP API, by commands,
      in Python and in exports. On PostgreSQL.
    - ``retention_days``: the days for which a purge keeps the table's entries. Default: those of the whole log.
    """

    name: TableText
    exclude: list[TableText] = []
    level: Literal["row", "statement"] = "row"
    key: list[str] = []
    title: str | None = None
    redact: Annotated[dict[str, Redaction], BeforeValidator(_by_column)] = {}
    columns: list[str] | None = Field(default=None, min_length=1)
    ignore: list[str] = []
    record_when: Condition | None = None
    max_value_bytes: int | None = Field(default=None, ge=MIN_VALUE_BYTES)
    on_drift: Literal["mask_all", "raise"] = "mask_all"
    on_error: Literal["raise", "warn"] = "raise"
    cascades: Literal["recorded", "unrecorded"] = "recorded"
    replica: bool = False
    record_reads: bool = False
    retention_days: RetentionDays | None = None
    enrich: list[EnrichmentRule] = []

    @model_validator(mode="after")
    def _fits(self) -> "AuditedTable":
        if self.exclude and not self.is_pattern:
            raise ValueError("exclude is for patterns such as public.*")
        if self.replica and self.level == "statement":
            raise ValueError('replica = true needs level = "row": logical replication fires no triggers of statements')
        seen: list[tuple[str, Condition | None]] = []
        for rule in self.enrich:
            if (rule.operation, rule.when) in seen:
                raise ValueError(f"two enrichment rules for {rule.operation} with the same condition")
            seen.append((rule.operation, rule.when))
        return self

    @property
    def is_pattern(self) -> bool:
        """True if the name stands for several tables."""
        return "*" in self.name

    @property
    def redactions(self) -> dict[str, Redaction]:
        """The redaction of each column; the table's own overrides that of a rule."""
        return {column: kind for rule in reversed(self.enrich) for column, kind in rule.redact.items()} | self.redact

    @property
    def has_sql(self) -> bool:
        """True if a condition has SQL."""
        return any(condition.has_sql for condition in self.conditions)

    @property
    def conditions(self) -> list[Condition]:
        """All conditions: that of the table, then those of its rules."""
        wanted = [self.record_when, *(rule.when for rule in self.enrich)]
        return [condition for condition in wanted if condition is not None]
