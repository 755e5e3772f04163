"""The rules of an audited table, checked against its columns: the same for every database."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from svc_pg.capture.table import Table, check_column
from svc_pg.capture.titles import guessed_title
from svc_pg.config import AuditedTable, description
from svc_pg.config.audited_table import Redaction
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConfigError


@dataclass(frozen=True, slots=True)
class TableRules:
    """A table, and rules that fit it.

    ``key`` are the columns that identify a record. ``redactions`` and ``ignored`` hold only columns of the table.
    ``columns`` are the only ones recorded, the key among them; None records all.
    """

    table: Table
    audited: AuditedTable
    key: list[str]
    redactions: Mapping[str, Redaction]
    columns: set[str] | None
    ignored: Sequence[str]

    @property
    def leaves_out(self) -> str | None:
        """The changes that are not recorded, for people; None if all are."""
        told = []
        if self.ignored:
            names = (name if name.isprintable() else json.dumps(name) for name in self.ignored)
            told.append(f"no entry if only {', '.join(names)} changed")
        if self.audited.record_when is not None:
            told.append(f"entries only when {json.dumps(self.audited.record_when.as_written(), ensure_ascii=False)}")
        return "; ".join(told) or None

    @property
    def title(self) -> str | None:
        """The column whose value names a record for people: the one of the configuration, or a usual one."""
        wanted = self.audited.title
        if wanted is None:
            return guessed_title(self.table, self.redacted_columns, self.key)
        return wanted if wanted in {*self.table.columns} - self.redacted_columns else None

    @property
    def is_redacted(self) -> bool:
        """True if a snapshot may differ from the row."""
        return self.has_redact_function or self.audited.max_value_bytes is not None

    @property
    def has_redact_function(self) -> bool:
        """True if columns are left out or disguised."""
        return bool(self.redactions) or self.columns is not None

    @property
    def is_hashed(self) -> bool:
        """True if a column is recorded by its hash."""
        return "hash" in self.redactions.values()

    @property
    def masks_newer_columns(self) -> bool:
        """True if a column unknown to the rules is masked: it may be a redacted one under another name."""
        return bool(self.redactions) and self.columns is None

    @property
    def later_redactions(self) -> list[str]:
        """The columns that a pattern redacts and its table may get later; none if it masks newer columns anyway."""
        known = {*self.table.columns, *self.table.virtual}
        return [] if self.has_redact_function else sorted({*self.audited.redactions} - known)

    @property
    def guarded(self) -> list[str]:
        """The columns that the rules name: if one is gone, all values are masked, since it may have another name."""
        return sorted({*self.redactions, *(self.columns or ())})

    @property
    def redacted_columns(self) -> set[str]:
        """The columns whose whole value never reaches the log."""
        left_out = set() if self.columns is None else {*self.table.columns} - self.columns
        return left_out.union(self.redactions)


def rules_for(table: Table, audited: AuditedTable) -> TableRules:
    """The rules of ``table``. Raises ConfigError if one names a missing column, or would record a redacted value."""
    key = audited.key or table.key
    _check_columns(table, audited)
    _check_redactions(table, audited, key)
    if audited.level == "statement":
        _check_statement_level(table, audited, key)
    return TableRules(
        table=table,
        audited=audited,
        key=key,
        redactions={column: kind for column, kind in audited.redactions.items() if column in table.columns},
        columns=None if audited.columns is None else {*audited.columns, *key},
        ignored=sorted({*audited.ignore}.intersection(table.columns)),
    )


def check_pattern(audited: AuditedTable, tables: Sequence[Table]) -> None:
    """Raise ConfigError if a column that a pattern names is in none of its tables: it is misspelt."""
    if not audited.is_pattern:
        return
    columns = {column for table in tables for column in table.columns}
    named = [("redact", column) for column in audited.redactions] + [("ignore", column) for column in audited.ignore]
    named += [] if audited.title is None else [("title", audited.title)]
    for option, column in named:
        if column not in columns:
            near = get_close_matches(column, columns, n=1)
            raise ConfigError(
                f'pattern "{audited.name}": {option} names "{column}", and no table has such a column',
                hint=f'Did you mean "{near[0]}"?' if near else None,
            )


def check_partitions(tables: Mapping[TableName, Table]) -> None:
    """Raise ConfigError if these audited tables include a partition of another: its rows would be recorded twice."""
    for table in tables.values():
        for partition in table.partitions:
            if partition in tables:
                raise ConfigError(
                    f'table "{partition}" is a partition of "{table.name}", and both are audited',
                    hint=f'Name only "{table.name}"; it covers all partitions.',
                )


def _check_columns(table: Table, audited: AuditedTable) -> None:
    named = [("key", audited.key), ("columns", audited.columns or [])]
    if not audited.is_pattern:  # of a pattern's tables, some have the column and some have not
        named += [("redact", list(audited.redactions)), ("ignore", audited.ignore)]
        named.append(("title", [] if audited.title is None else [audited.title]))
    if audited.record_when is not None:
        named.append(("record_when", sorted(audited.record_when.columns())))
    named += [("when", sorted(rule.when.columns())) for rule in audited.enrich if rule.when]
    named.append(("description", _described(audited)))
    for option, columns in named:
        for column in columns:
            check_column(table, option, column)


def _check_redactions(table: Table, audited: AuditedTable, key: Sequence[str]) -> None:
    for column in _described(audited):
        if column in audited.redactions or (audited.columns and column not in audited.columns):
            raise ConfigError(
                f'table "{table.name}": a description names "{column}", which is redacted',
                hint="What is redacted must not be anywhere in an entry.",
            )
    if audited.title in audited.redactions or (audited.columns and audited.title not in {None, *audited.columns, *key}):
        raise ConfigError(
            f'table "{table.name}": title names "{audited.title}", which is not recorded',
            hint="Name a column whose values anybody may see who reads the log.",
        )
    for column, sources in table.generated.items():
        if column not in audited.redactions and (audited.columns is None or column in audited.columns):
            for source in audited.redactions.keys() & sources:
                raise ConfigError(
                    f'table "{table.name}": "{column}" is computed from "{source}", which is redacted',
                    hint=f"Redact {column} as well.",
                )
    for column in key:
        if column in audited.redactions:
            raise ConfigError(
                f'table "{table.name}": redact names "{column}", which is part of the key',
                hint="The key is every entry's record_id. Name another key, or leave the column.",
            )
        if column in audited.ignore:
            raise ConfigError(
                f'table "{table.name}": ignore names "{column}", which is part of the key',
                hint="A record that gets another key is always on record. Leave the column out of ignore.",
            )


def _described(audited: AuditedTable) -> list[str]:
    """The columns that descriptions name."""
    parts = [part for rule in audited.enrich for part in description.parse(rule.description or "")]
    return [part.column for part in parts if isinstance(part, description.Value) and part.column is not None]


def _check_statement_level(table: Table, audited: AuditedTable, key: Sequence[str]) -> None:
    reason = None
    if table.is_partitioned:
        reason = "is partitioned"
    elif table.parent is not None:
        reason = f'is a partition of "{table.parent}"'
    elif table.inherits:
        reason = "inherits from a table, or one from it, and a statement changes the rows of both"
    elif not key:
        reason = "has no key by which rows before and after could be paired"
    elif audited.key and not any(set(columns) <= set(audited.key) for columns in table.unique):
        reason = f"has no unique index on {', '.join(audited.key)} without NULL"
    if reason:
        raise ConfigError(
            f'table "{table.name}" {reason}, so it cannot be audited by statement', hint='Use level = "row".'
        )
