"""The logs of all databases keep the laws that svc_pg.testing.log_conformance publishes."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from svc_pg import audit
from svc_pg.audit import Entry
from svc_pg.integrations.sqlite import with_audit
from svc_pg.testing.audited_database import AuditedDatabase, prepare
from svc_pg.testing.log_conformance import CHECKS, check_every_change_is_there_once
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


@dataclass(frozen=True, slots=True)
class Lacking(AuditedDatabase):
    """A log whose entries lack one field."""

    field: str = ""

    def entries(self, *query: audit.AuditQuery) -> Sequence[Entry]:
        """The entries, without the field."""
        lacking: dict[str, Any] = {self.field: None}
        return [replace(each, **lacking) for each in AuditedDatabase.entries(self, *query)]


def test_a_log_that_lacks_a_field_fails() -> None:
    fields = ("operation", "record_id", "actor_id", "tenant_id", "redacted_fields")
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as file:
        shop = with_audit(file)
        prepare(AuditedDatabase(shop))
        for field in (*fields, "changed_fields", "label", "severity", "context"):
            with pytest.raises(AssertionError, match="expected"):
                check_every_change_is_there_once(Lacking(shop, field=field))
