"""The rules of patterns by which tables are captured that are newer than the last install."""

import json
from dataclasses import dataclass
from typing import Any, Final, get_args

from psycopg.sql import SQL, Composable

from svc_pg.capture.patterns import posix
from svc_pg.capture.postgres.redaction import disguised
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.config.audited_table import Redaction
from svc_pg.database.table_names import TableName

REDACTIONS: Final[tuple[Redaction, ...]] = get_args(Redaction)
"""The kinds of redaction that ``sql/audit/audit_new_image.sql.j2`` chooses among."""


@dataclass(frozen=True, slots=True)
class NewTables:
    """The tables that a pattern covers, by regular expressions of PostgreSQL, and their rules as JSON."""

    name: str
    exclude: tuple[str, ...]
    rules: str


def patterns_of(config: AuditConfig) -> tuple[NewTables, ...]:
    """The patterns by which the event triggers know a new table; none without ``ddl``."""
    return tuple(
        NewTables(posix(audited.name), tuple(map(posix, audited.exclude)), _rules(audited))
        for audited in config.tables
        if audited.is_pattern and config.ddl
    )


def named_in(config: AuditConfig) -> tuple[str, ...]:
    """The tables that have rules of their own, as entries name them; none if no pattern could cover them."""
    names = {str(TableName.parse(audited.name)) for audited in config.tables if not audited.is_pattern}
    return tuple(sorted(names)) if patterns_of(config) else ()


def disguised_column(kind: Redaction) -> Composable | None:
    """The text that ``sql/audit/audit_new_image.sql.j2`` records in place of a value; None if nothing is."""
    return disguised(kind, SQL("p_row ->> c.name"))


def _rules(audited: AuditedTable) -> str:
    """Those that need nothing but the names of columns; conditions and enrichment wait for an install."""
    rules: dict[str, Any] = {
        "level": audited.level,
        "key": audited.key,
        "redact": audited.redactions,
        "ignore": audited.ignore,
        "on_drift": audited.on_drift,
        "on_error": audited.on_error,
    }
    if audited.columns is not None:
        rules["columns"] = audited.columns
    if audited.max_value_bytes is not None:
        rules["max_value_bytes"] = audited.max_value_bytes
    return json.dumps(rules, ensure_ascii=False)
