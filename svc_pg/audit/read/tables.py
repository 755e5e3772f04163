"""The audited tables, with the rules of each and the state of its capture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final, Literal

from svc_pg.audit.log.entry import TABLE
from svc_pg.capture.patterns import covering
from svc_pg.capture.postgres.own_tables import OWN_TABLES
from svc_pg.config.audit import AuditConfig
from svc_pg.config.audited_table import AuditedTable, Operation, Redaction, Severity
from svc_pg.database.pagination import Filter, Keyset, Listing, decode
from svc_pg.database.performing import OfWhole
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName
from svc_pg.formats.doc import Doc

Capture = Literal["recording", "disabled", "missing"]

ENTRY_NAME: Final = statement("queries/audit/entry_name.sql").strip()
"""The name of the table ``c`` in the schema ``n``, as an entry has it."""
CAPTURED: Final = (
    statement("queries/audit/captured_tables.sql")
    .replace("{name}", ENTRY_NAME)
    .replace("{family}", statement("queries/schema/trigger_family.sql"))
)
"""The tables with a trigger of capture, or among the names in its parameter, and the state of their capture."""


@dataclass(frozen=True, slots=True)
class EnrichmentRule:
    """A rule of enrichment, for the entries that it applies to."""

    operation: Annotated[Operation, Doc("The operation of the entries; `*` stands for any.")]
    label: Annotated[str | None, Doc("The label that they get.", "Customer changed")]
    severity: Annotated[Severity | None, Doc("The severity that they get.")]
    compliance: Annotated[list[str], Doc("The tags of compliance that they get.", ["gdpr"])]
    description: Annotated[str | None, Doc("The template of their description.", "{actor_id} changed {before[email]}")]
    when: Annotated[
        Mapping[str, Any] | None,
        Doc(
            "The condition that must hold, as the configuration has it; null if there is none.",
            {"changed": ["email"]},
        ),
    ]


@dataclass(frozen=True, slots=True)
class CaptureRules:
    """The rules of a table in the configuration."""

    name: Annotated[str, Doc("The pattern that covers the table, or its own name.", "public.*")]
    level: Annotated[Literal["row", "statement"], Doc("The kind of the triggers.")]
    key: Annotated[list[str], Doc("The columns that identify a record, if the table has no primary key.", ["id"])]
    columns: Annotated[
        list[str] | None, Doc("The only columns that are recorded; null stands for all.", ["id", "name"])
    ]
    ignore: Annotated[list[str], Doc("An UPDATE that changes these columns alone has no entry.", ["updated_at"])]
    record_when: Annotated[
        Mapping[str, Any] | None,
        Doc(
            "The condition without which no change has an entry, as the configuration has it; null if there is none.",
            {"after": {"is_test": [False]}},
        ),
    ]
    redact: Annotated[
        Mapping[str, Redaction], Doc("The way in which values of a column are disguised, by column.", {"iban": "last4"})
    ]
    max_value_bytes: Annotated[
        int | None, Doc("A larger value is replaced by its size and SHA-256; null if there is no limit.", 65536)
    ]
    on_drift: Annotated[
        Literal["mask_all", "raise"],
        Doc("The reaction if a redacted column no longer exists: it masks all of the snapshot, or raises."),
    ]
    on_error: Annotated[
        Literal["raise", "warn"], Doc("The reaction if an entry cannot be written: it raises, or only warns.")
    ]
    replica: Annotated[bool, Doc("True if the writes of logical replication are recorded too.")]
    record_reads: Annotated[bool, Doc("True if it is recorded who reads its records in the log.")]
    enrich: Annotated[list[EnrichmentRule], Doc("The rules of enrichment.")]


@dataclass(frozen=True, slots=True)
class CapturedTable:
    """One audited table."""

    name: Annotated[str, TABLE]
    capture: Annotated[
        Capture, Doc("The state of its capture: missing if a trigger is, disabled if one does not fire.")
    ]
    rules: Annotated[
        CaptureRules | None,
        Doc("Its rules in the configuration that the console was given; null if that does not name the table."),
    ]


def query(config: AuditConfig) -> Listing[CapturedTable]:
    """A query of the tables that are audited, or should be, by name."""
    rules = [*(audited for _, audited in OWN_TABLES), *config.tables]
    by_name = Keyset(
        select=CAPTURED,
        row=partial(_row, rules),
        order=" order by a.name",
        beyond="a.name > %s",
        reverse_order=" order by a.name desc",
        before="a.name < %s",
        key=lambda table: (table.name,),
        read=lambda cursor: decode(cursor, str),
        choice=OfWhole,
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
        record_reads=table.record_reads,
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
