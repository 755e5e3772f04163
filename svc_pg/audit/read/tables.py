"""The audited tables, with the rules of each and the state of its capture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from svc_pg.capture.patterns import covering
from svc_pg.capture.postgres.own_tables import OWN_TABLES
from svc_pg.config.audit import AuditConfig
from svc_pg.config.audited_table import AuditedTable, Operation, Redaction, Severity
from svc_pg.database.pagination import Filter, Keyset, Listing, decode
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName

Capture = Literal["recording", "disabled", "missing"]

_TABLES: Final = statement("queries/audit/captured_tables.sql")


@dataclass(frozen=True, slots=True)
class EnrichmentRule:
    """A rule of enrichment, for entries of this operation, or of any for ``*``, if ``when`` holds."""

    operation: Operation
    label: str | None
    severity: Severity | None
    compliance: list[str]
    description: str | None
    when: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class CaptureRules:
    """The rules of a table in the configuration; ``name`` is the pattern that covers it, or its own name.

    ``columns`` are the only ones recorded, None stands for all. An UPDATE that changes ``ignore`` columns alone has no
    entry, and no change has one unless ``record_when`` holds. ``redact`` says how values of a column are disguised.
    """

    name: str
    level: Literal["row", "statement"]
    key: list[str]
    columns: list[str] | None
    ignore: list[str]
    record_when: Mapping[str, Any] | None
    redact: Mapping[str, Redaction]
    max_value_bytes: int | None
    on_drift: Literal["mask_all", "raise"]
    on_error: Literal["raise", "warn"]
    replica: bool
    enrich: list[EnrichmentRule]


@dataclass(frozen=True, slots=True)
class CapturedTable:
    """One table. Its capture is ``missing`` if a trigger is, and ``disabled`` if one does not fire.

    ``rules`` are those of the configuration that the console was given, None if it does not name the table.
    """

    name: str
    capture: Capture
    rules: CaptureRules | None


def query(config: AuditConfig) -> Listing[CapturedTable]:
    """A query of the tables that are audited, or should be, by name."""
    rules = [*(audited for _, audited in OWN_TABLES), *config.tables]
    by_name = Keyset(
        select=_TABLES,
        row=partial(_row, rules),
        order=" order by a.name",
        beyond="a.name > %s",
        reverse_order=" order by a.name desc",
        before="a.name < %s",
        key=lambda table: (table.name,),
        read=lambda cursor: decode(cursor, str),
    )
    return Listing(by_name, Filter(params=([table.name for table in config.tables if not table.is_pattern],)))


def rules_of(tables: Sequence[AuditedTable], name: str) -> CaptureRules | None:
    """The rules of the table with this name: its own, or those of the first pattern that covers it."""
    found = covering(tables, TableName.parse(name))
    return None if found is None else _rules(found)


def _row(tables: Sequence[AuditedTable], name: str, capture: Capture) -> CapturedTable:
    return CapturedTable(name, capture, rules_of(tables, name))


def _rules(table: AuditedTable) -> CaptureRules:
    return CaptureRules(
        name=table.name,
        level=table.level,
        key=table.key,
        columns=table.columns,
        ignore=table.ignore,
        record_when=None if table.record_when is None else table.record_when.as_written(),
        redact=table.redactions,
        max_value_bytes=table.max_value_bytes,
        on_drift=table.on_drift,
        on_error=table.on_error,
        replica=table.replica,
        enrich=[
            EnrichmentRule(
                operation=rule.operation,
                label=rule.label,
                severity=rule.severity,
                compliance=rule.compliance,
                description=rule.description,
                when=None if rule.when is None else rule.when.as_written(),
            )
            for rule in table.enrich
        ],
    )
