"""The logs of all databases keep the laws that svc_pg.testing.log_conformance publishes."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from svc_pg.integrations.sqlite import with_audit
from svc_pg.testing.audited_database import AuditedDatabase, prepare
from svc_pg.testing.log_conformance import CHECKS
from tests.support import mysql


@pytest.fixture(params=["postgresql", "sqlite", *mysql.KINDS])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AuditedDatabase]:
    match request.param:
        case "postgresql":
            with psycopg.connect(request.getfixturevalue("empty_database"), autocommit=True) as conn:
                yield _prepared(AuditedDatabase(conn, conn.transaction))
        case "sqlite":
            with closing(sqlite3.connect(tmp_path / "shop.db", isolation_level=None)) as file:
                yield _prepared(AuditedDatabase(with_audit(file), log="svc_audit_logs"))
        case kind:
            server = mysql.found(request.getfixturevalue("mysql_servers"), kind)
            with server.new_database() as name, server.connect(name) as shop:
                yield _prepared(AuditedDatabase(shop))


def _prepared(database: AuditedDatabase) -> AuditedDatabase:
    prepare(database)
    return database


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_a_log_keeps_its_laws(database: AuditedDatabase, check: Callable[[AuditedDatabase], None]) -> None:
    check(database)
