"""One log serves all databases of a server: each database's connections see and purge its own entries."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from io import BytesIO

import pytest

from svc_pg import audit
from svc_pg.config import AuditConfig, AuditedTable, Config
from svc_pg.database.dbapi import rows
from svc_pg.other_databases.log.counts import counted_stats
from svc_pg.other_databases.log.entries import log_dialect_of, one
from svc_pg.other_databases.log.statements import run as run_steps
from svc_pg.other_databases.schema.mysql.install import install
from tests.support.logs import Log, records
from tests.support.mysql import MySqlServer
from tests.support.mysql_tables import Connection, purge, remake, run

OLD = datetime.now(UTC) - timedelta(days=100)


@pytest.fixture
def bank(mysql_server: MySqlServer, mysql_database: str, shop: Connection) -> Iterator[Connection]:
    """A connection to another database, which also audits the table ``adopted`` of the shop."""
    name = f"{mysql_database}_bank"
    remake(shop, "create table t (id int primary key)", "create table adopted (id int primary key)")
    run(shop, f"create database {name}")
    with mysql_server.connect(name) as conn:
        run(conn, "create table account (id int primary key)")
        install(shop, _config("t"), prune=True)
        install(conn, _config("account", f"{mysql_database}.adopted"), prune=True)
        purge(shop)
        yield conn
    run(shop, f"drop database {name}")


def _config(*names: str) -> Config:
    return Config(audit=AuditConfig(tables=[AuditedTable(name=name) for name in names]))


def test_each_database_has_its_own_entries(
    mysql_server: MySqlServer, mysql_database: str, shop: Connection, bank: Connection
) -> None:
    bank_name = f"{mysql_database}_bank"
    here, there = Log(mysql_database, mysql_server), Log(bank_name, mysql_server)
    for log, record, table in (
        (here, "1", f"{mysql_database}.t"),
        (there, "2", f"{bank_name}.account"),
        (there, "3", f"{mysql_database}.adopted"),
        (here, "4", "files"),
    ):
        log.write(shop, record, table_name=table, timestamp=OLD)

    def exported(conn: Connection) -> int:
        return audit.export(conn, audit.query(), out=BytesIO(), is_settled=False).entries

    def counted(conn: Connection) -> int:
        wanted = counted_stats(log_dialect_of(conn), audit.query(), bucket=None, tells_reach=True)
        return run_steps(conn, wanted).entries

    assert (records(shop, audit.query()), records(bank, audit.query())) == (["4", "1"], ["4", "3", "2"])
    assert (exported(shop), counted(shop), exported(bank), counted(bank)) == (2, 2, 3, 3)
    assert records(shop, audit.query().of_any_database()) == ["4", "3", "2", "1"]
    assert records(shop, audit.query().resource(f"{bank_name}.account")) == ["2"]
    with mysql_server.connect("svc") as server:
        assert len(records(server, audit.query())) == 4

    [other] = rows(shop, "select id from svc.audit_logs where record_id = '2'")
    assert run_steps(shop, one(log_dialect_of(shop), other[0])) is None
    assert run_steps(bank, one(log_dialect_of(bank), other[0])) is not None

    month = timedelta(days=30)
    of_one = audit.purge(shop, month, dry_run=True)
    assert (of_one.tables, of_one.databases) == ({f"{mysql_database}.t": 1}, {})
    assert audit.purge(shop, month).tables == {f"{mysql_database}.t": 1}
    of_all = audit.purge(shop, month, dry_run=True, all_databases=True)
    assert of_all.entries == 3
    assert of_all.databases == {bank_name: 1, mysql_database: 1, "": 1}
    with closing(mysql_server.connect("svc")) as of_the_log:
        assert audit.purge(of_the_log, month, dry_run=True).databases == of_all.databases
    assert audit.purge(bank, month).tables == {f"{bank_name}.account": 1, f"{mysql_database}.adopted": 1}
    assert audit.purge(shop, month, all_databases=True).tables == {"files": 1}


def test_the_only_database_purges_what_is_of_none(
    mysql_server: MySqlServer, mysql_database: str, shop: Connection
) -> None:
    remake(shop, "create table t (id int primary key)")
    run(shop, "drop database if exists svc")
    install(shop, _config("t"))
    log = Log(mysql_database, mysql_server)
    log.write(shop, "1", table_name="files", timestamp=OLD)
    log.write(shop, "2", table_name="gone.account", timestamp=OLD)
    assert audit.purge(shop, timedelta(days=30)).tables == {"files": 1}
