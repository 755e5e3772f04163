"""Databases of SQLite: by the interpreter's own version, and by a newer one if it is installed."""

import importlib
import importlib.util
import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from svc_pg import Config, schema
from svc_pg.config import AuditConfig, AuditedTable

NEWER: Final = "pysqlite3"
MODULES: Final = [
    "sqlite3",
    pytest.param(
        NEWER,
        marks=pytest.mark.skipif(
            importlib.util.find_spec(NEWER) is None and not os.environ.get("CI"), reason="pysqlite3 is not installed"
        ),
    ),
]
"""The modules to test with; with CI set, each must be installed."""


def connect(module: str = "sqlite3", database: str | Path = ":memory:") -> sqlite3.Connection:
    """A connection that commits each statement, as the sqlite3 shell does."""
    found: Any = importlib.import_module(f"{module}.dbapi2")
    conn: sqlite3.Connection = found.connect(str(database), isolation_level=None)
    return conn


def config(*tables: str | dict[str, Any], **options: Any) -> Config:
    """A configuration of these tables: names, or the fields of AuditedTable."""
    rules = [{"name": table} if isinstance(table, str) else table for table in tables]
    return Config(audit=AuditConfig(tables=[AuditedTable.model_validate(each) for each in rules], **options))


def audited(conn: sqlite3.Connection, *tables: str | dict[str, Any], **options: Any) -> None:
    """Record the changes of these tables."""
    schema.install(conn, config(*tables, **options))


def entries(conn: sqlite3.Connection, columns: str = "operation, record_id") -> list[Any]:
    """These columns of the log's entries, in order; the values of a single column."""
    rows = conn.execute(f"select {columns} from svc_audit_logs order by id").fetchall()
    return rows if "," in columns or columns == "*" else [row[0] for row in rows]


def images(conn: sqlite3.Connection, column: str = "after_data") -> list[Any]:
    """The snapshots, parsed."""
    return [None if text is None else json.loads(text) for text in entries(conn, column)]


def run(conn: sqlite3.Connection, statements: Sequence[str]) -> None:
    """Run statements, each in a transaction of its own."""
    for statement in statements:
        conn.execute(statement)
