"""Tables to audit in tests."""

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

import psycopg
from psycopg.rows import dict_row

from svc_pg import Config, schema
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.formats.json_writer import write_ascii


def audited(*names: str, redact: Sequence[str] = ()) -> Config:
    """A configuration that audits these tables."""
    return Config(audit=AuditConfig(tables=[AuditedTable(name=name, redact=list(redact)) for name in names]))


def create_and_audit(conninfo: str, ddl: LiteralString, config: Config) -> None:
    """Run the DDL, then install."""
    with psycopg.connect(conninfo) as conn:
        conn.execute(ddl)
        conn.commit()
        schema.install(conn, config)


def add_entry(
    conn: psycopg.Connection[Any],
    table: str,
    operation: str,
    *,
    record_id: str | None = None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    label: str | None = None,
    severity: str | None = None,
    description: str | None = None,
) -> None:
    """Write an entry of a table, as only its triggers and the owner of the log may."""
    images = [None if image is None else write_ascii(image) for image in (before, after)]
    conn.execute(
        "select svc.audit_add_entry(%s, %s, %s, %s::text::jsonb, %s::text::jsonb, %s, %s, null, %s)",
        (table, operation, record_id, *images, label, severity, description),
    )


def log(conn: psycopg.Connection[Any]) -> list[dict[str, Any]]:
    """All entries in the order of their writing."""
    return conn.cursor(row_factory=dict_row).execute("select * from svc.audit_logs order by id").fetchall()
