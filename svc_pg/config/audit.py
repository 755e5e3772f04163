"""The configuration of the audit log: tables, redaction and enrichment rules, from TOML or Python."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from svc_pg.config import description as descriptions
from svc_pg.config.model import StrictModel, TableText, validated
from svc_pg.errors import ConfigError

Operation = Literal["INSERT", "UPDATE", "DELETE", "TRUNCATE", "*"]
Severity = Literal["low", "medium", "high", "critical"]
Redaction = Literal["remove", "mask", "hash", "last4"]
Search = Literal["contains", "text"]
Scalar = bool | int | float | str

MIN_VALUE_BYTES: Final = 256


def _by_column(value: object) -> object:
    """A list of columns means: remove them."""
    return dict.fromkeys(value, "remove") if isinstance(value, list | tuple) else value


def _test(value: object) -> object:
    """A bare value means: equal to it; a list: one of these."""
    if isinstance(value, dict | ValueTest):
        return value
    return {"in": value} if isinstance(value, list) else {"eq": value}


class ValueTest(StrictModel):
    """Tests of a column's value, which must all hold. A missing value satisfies only ``is_null``."""

    eq: Scalar | None = None
    ne: Scalar | None = None
    gt: int | float | str | None = None
    ge: int | float | str | None = None
    lt: int | float | str | None = None
    le: int | float | str | None = None
    one_of: list[Scalar] | None = Field(default=None, alias="in", min_length=1)
    is_null: bool | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "ValueTest":
        if not self.model_fields_set:
            raise ValueError(
                "an empty test; write a value, a list, or a table with eq, ne, gt, ge, lt, le, in, is_null"
            )
        return self


Tests = dict[str, Annotated[ValueTest, BeforeValidator(_test)]]


class Condition(StrictModel):
    """The condition under which a rule applies. All its parts must hold, except those inside ``any`` and ``not``.

    ``changed`` holds if one of these columns changed. ``sql`` is an expression over ``before`` and ``after``, both
    jsonb, and ``actor_id``; it is put into the trigger unchanged.
    """

    changed: list[str] = []
    before: Tests = {}
    after: Tests = {}
    all_of: list["Condition"] = Field(default=[], alias="all")
    any_of: list["Condition"] = Field(default=[], alias="any")
    none_of: "Condition | None" = Field(default=None, alias="not")
    sql: str | None = None

    @field_validator("changed", mode="before")
    @classmethod
    def _one_column(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _says_something(self) -> "Condition":
        if not any((self.changed, self.before, self.after, self.all_of, self.any_of, self.none_of, self.sql)):
            raise ValueError("an empty condition; write changed, before, after, all, any, not or sql")
        return self

    def columns(self) -> set[str]:
        """All columns that the condition names, apart from ``sql``."""
        inner = [*self.all_of, *self.any_of, *([self.none_of] if self.none_of else [])]
        return {*self.changed, *self.before, *self.after}.union(*(condition.columns() for condition in inner))


class EnrichmentRule(StrictModel):
    """The enrichment of some entries of a table; the first rule that applies decides all of it.

    ``description`` is a template such as ``{actor_id} changed {before[email]} to {after[email]}``; in Python also a
    callable of ``before``, ``after`` and ``actor_id`` that only puts them into a text. ``redact`` applies to every
    entry of the table, whatever the operation and condition.
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
    - ``redact``: columns whose values never reach the log; ``remove`` leaves the field out, ``mask`` puts a marker in
      its place, ``hash`` an HMAC that is equal for equal values, ``last4`` the end of a text of at least eight
      characters.
    - ``columns``: record only these, and the key.
    - ``max_value_bytes``: a larger value is replaced by its size and SHA-256.
    - ``on_drift``: the reaction if a redacted column no longer exists: ``mask_all`` of the snapshot, or ``raise``.
    - ``on_error``: the reaction if an entry cannot be written: ``raise``, so that nothing goes unrecorded, or ``warn``,
      so that the application's write goes on.
    - ``cascades``: ``recorded``, or ``unrecorded`` for a table of MySQL or MariaDB whose foreign keys change rows in a
      way that no trigger can tell. Other databases record such changes always.
    - ``replica``: also record the writes of logical replication and under ``session_replication_role = replica``.
    """

    name: TableText
    exclude: list[TableText] = []
    level: Literal["row", "statement"] = "row"
    key: list[str] = []
    redact: Annotated[dict[str, Redaction], BeforeValidator(_by_column)] = {}
    columns: list[str] | None = Field(default=None, min_length=1)
    max_value_bytes: int | None = Field(default=None, ge=MIN_VALUE_BYTES)
    on_drift: Literal["mask_all", "raise"] = "mask_all"
    on_error: Literal["raise", "warn"] = "raise"
    cascades: Literal["recorded", "unrecorded"] = "recorded"
    replica: bool = False
    enrich: list[EnrichmentRule] = []

    @model_validator(mode="after")
    def _fits(self) -> "AuditedTable":
        if self.exclude and not self.is_pattern:
            raise ValueError("exclude is for patterns such as public.*")
        seen: list[tuple[str, Condition | None]] = []
        for rule in self.enrich:
            if (rule.operation, rule.when) in seen:
                raise ValueError(f"two enrichment rules for {rule.operation} with the same condition")
            seen.append((rule.operation, rule.when))
        return self

    @property
    def is_pattern(self) -> bool:
        """Whether the name stands for several tables."""
        return "*" in self.name

    def matches(self, name: str) -> bool:
        """Whether the pattern covers that table."""
        return fnmatchcase(name, self.name) and not any(fnmatchcase(name, pattern) for pattern in self.exclude)

    @property
    def redactions(self) -> dict[str, Redaction]:
        """The redaction of each column; the table's own overrides that of a rule."""
        return {column: kind for rule in reversed(self.enrich) for column, kind in rule.redact.items()} | self.redact


class AuditConfig(StrictModel):
    """The tables of the audit log, and the days for which ``svc-pg purge`` keeps its entries. Default: forever.

    ``search`` are the searches in snapshots that an index makes fast, at a price that every entry pays.
    ``unattributed`` is for SQLite: ``refuse`` the writes of programs that do not name the actor, such as a shell, or
    ``record`` them without one.
    """

    unattributed: Literal["record", "refuse"] = "record"
    retention_days: int | None = Field(default=None, strict=True, ge=1, le=36500)
    search: list[Search] = []
    tables: list[AuditedTable] = []

    @field_validator("tables")
    @classmethod
    def _each_once(cls, tables: list[AuditedTable]) -> list[AuditedTable]:
        names = [table.name for table in tables]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"named more than once: {', '.join(twice)}")
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
