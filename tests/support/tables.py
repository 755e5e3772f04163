"""Tables to audit in tests."""

from collections.abc import Sequence
from typing import Any, LiteralString

import psycopg
from psycopg.rows import dict_row

from svc_pg import Config, schema
from svc_pg.config import AuditConfig, AuditedTable


def audited(*names: str, redact: Sequence[str] = ()) -> Config:
    """A configuration that audits these tables."""
    return Config(audit=AuditConfig(tables=[AuditedTable(name=name, redact=list(redact)) for name in names]))


def create_and_audit(conninfo: str, ddl: LiteralString, config: Config) -> None:
    """Run the DDL, then install."""
    with psycopg.connect(conninfo) as conn:
        conn.execute(ddl)
        conn.commit()
        schema.install(conn, config)


def log(conn: psycopg.Connection[Any]) -> list[dict[str, Any]]:
    """All entries in the order of their writing."""
    return conn.cursor(row_factory=dict_row).execute("select * from svc.audit_logs order by id").fetchall()
