"""Rebuild a table from an export, and load the SQL into an empty copy by psql."""

import io
import subprocess
from datetime import datetime
from typing import Any

import psycopg

from svc_pg import audit
from svc_pg.audit.rebuild.findings import Findings
from svc_pg.audit.rebuild.rebuilding import rebuild
from svc_pg.audit.rebuild.rows_as_sql import RowFormat
from svc_pg.database.query import scalar
from tests.support.postgres import embedded_programs

Connection = psycopg.Connection[Any]


def exported(conn: Connection, *, after: int = 0) -> bytes:
    """The entries with higher ids, as an export has them."""
    out = io.BytesIO()
    audit.export(conn, audit.query(), format="ndjson", out=out, is_settled=False)
    lines = out.getvalue().splitlines(keepends=True)
    return b"".join(line for line in lines if int(line.split(b'"', 4)[3]) > after)


def last_id(conn: Connection) -> int:
    """The last id of the log."""
    found: int = scalar(conn, "select coalesce(max(id), 0) from svc.audit_logs")
    return found


def rebuilt(
    export: bytes,
    *,
    table: str = "t",
    into: str | None = None,
    at: datetime | None = None,
    form: RowFormat = "inserts",
    without: tuple[str, ...] = (),
) -> tuple[bytes, Findings]:
    """The SQL, and the findings."""
    out = io.BytesIO()
    source = io.BufferedReader(io.BytesIO(export))
    found = rebuild(source, out, table=table, at=at, into=into, format=form, without=without)
    return out.getvalue(), found


def load(conninfo: str, sql: bytes) -> None:
    """Run SQL as a user does."""
    done = subprocess.run(
        [embedded_programs() / "psql", "-v", "ON_ERROR_STOP=1", "--no-psqlrc", "--quiet", "--dbname", conninfo],
        input=sql,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert not done.stdout, done.stdout
