"""Keys of type jsonb: their records differ as their values do."""

from typing import Any

import psycopg
import pytest

from svc_pg import Config, audit, schema
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError
from tests.support.tables import create_and_audit, log

KEYS = ("5", '"5"', "[5]", '"[5]"', "true", '"true"')


@pytest.mark.parametrize("kind", ["jsonb", "k"])
@pytest.mark.parametrize("level", ["row", "statement"])
def test_a_number_and_its_text_are_two_records(database: str, level: Any, kind: str) -> None:
    rules = Config(audit=AuditConfig(tables=[AuditedTable(name="t", level=level)]))
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("create domain k as jsonb")
        conn.execute(f"create table t (id {kind} primary key, n int)".encode())
        schema.install(conn, rules)
        for key in KEYS:
            conn.execute("insert into t values (%s::jsonb, 0)", (key,))
        assert [entry["record_id"] for entry in log(conn)] == [*KEYS]
        assert scalar(conn, "select count(*) from svc.as_of_public_t(now())") == len(KEYS)
        conn.execute("update t set n = 1 where id = '\"5\"'")
        assert [entry.operation for entry in audit.query().record('"5"').list(conn)] == ["UPDATE", "INSERT"]
        conn.execute("update t set id = '6' where id = '\"5\"'")
        ended, *_ = [entry["moved_from"] or entry["record_id"] for entry in log(conn)][len(KEYS) + 1 :]
        assert ended == '"5"'
        conn.execute("alter table t rename id to nr")
        conn.execute("delete from t where nr = '\"true\"'")
        assert log(conn)[-1]["record_id"] == '"true"'
        conn.execute("alter table t rename nr to id")
        assert schema.backfill(conn, rules) == {"public.t": 0}


def test_an_erasure_cannot_follow_them(database: str) -> None:
    tables = [AuditedTable(name="t"), AuditedTable(name="r")]
    rules = Config(audit=AuditConfig(tables=tables, erasure={"t": ["r.t_id"]}))
    ddl = "create table t (id jsonb primary key); create table r (id int primary key, t_id jsonb references t)"
    with pytest.raises(ConfigError, match=r'the key of "public.t" is jsonb'):
        create_and_audit(database, ddl, rules)
