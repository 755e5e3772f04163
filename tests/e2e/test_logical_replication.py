"""Capture on a server that receives its rows by logical replication."""

from contextlib import ExitStack

import psycopg
from psycopg import sql

from svc_pg import Config
from svc_pg.config import AuditConfig, AuditedTable
from tests.support.postgres import QUICK, embedded_programs, new_database, restartable
from tests.support.replication import subscribed
from tests.support.tables import create_and_audit, log

DDL = "create table t (id int primary key, a text); create table silent (id int primary key)"


def test_replica_records_rows_that_are_copied_and_all_that_follows() -> None:
    tables = [AuditedTable(name="t", replica=True), AuditedTable(name="silent")]
    with ExitStack() as stack:
        programs = embedded_programs()
        start = stack.enter_context(restartable(programs, settings=(*QUICK, "--wal_level=logical")))
        publisher = stack.enter_context(new_database(stack.enter_context(start())))
        other = stack.enter_context(restartable(programs))
        subscriber = stack.enter_context(new_database(stack.enter_context(other())))
        create_and_audit(subscriber, DDL, Config(audit=AuditConfig(tables=tables, unattributed="refuse")))
        with psycopg.connect(subscriber) as target:  # what is replicated names no actor
            target.execute(
                sql.SQL("alter role current_user in database {} set svc.actor_id = 'replication'").format(
                    sql.Identifier(target.info.dbname)
                )
            )
        with psycopg.connect(publisher, autocommit=True) as source:
            source.execute(DDL)
            source.execute("insert into t values (1, 'a'); insert into silent values (1)")
            with subscribed(publisher, subscriber):
                source.execute("insert into t values (2, 'b'); update t set a = 'c' where id = 1")
                source.execute("delete from t where id = 2; insert into silent values (2); truncate t")
        with psycopg.connect(subscriber) as target:
            assert {e["actor_id"] for e in log(target)} == {"replication"}
            assert [(e["table_name"], e["operation"], e["record_id"], e["changed_fields"]) for e in log(target)] == [
                ("public.t", "INSERT", "1", None),
                ("public.t", "INSERT", "2", None),
                ("public.t", "UPDATE", "1", ["a"]),
                ("public.t", "DELETE", "2", None),
                ("public.t", "TRUNCATE", None, None),
            ]
