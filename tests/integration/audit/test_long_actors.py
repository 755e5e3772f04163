"""Ids of actors that are too long for an index."""

from hashlib import sha256
from typing import Any

import psycopg
import pytest

from svc_pg import Config, audit
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.query import scalar
from tests.support.tables import create_and_audit


@pytest.mark.parametrize("level", ["row", "statement"])
def test_an_actor_of_any_length_is_recorded_with_a_mark_and_found(database: str, level: Any) -> None:
    rules = Config(audit=AuditConfig(tables=[AuditedTable(name="t", level=level, on_error="warn")]))
    create_and_audit(database, "create table t (id int primary key)", rules)
    random = "".join(sha256(bytes([n % 256, n // 256])).hexdigest() for n in range(150)) + "é\U0001f600"
    with psycopg.connect(database) as conn:
        for actor_id in ("e" * 1000, "é" * 501, random):
            for setting, value in (("actor_id", actor_id), ("tenant_id", random), ("context", f'"{random}"')):
                conn.execute("select set_config('svc.' || %s, %s, true)", (setting, value))
            conn.execute("insert into t select coalesce(max(id), 0) + 1 from t")
            conn.execute("select svc.capture_log('files', 'INSERT')")
            conn.execute("delete from t")
            entries = audit.query().actor(actor_id).list(conn).data
            assert [entry.table_name for entry in entries] == ["public.t", "files", "public.t"]
            assert {entry.tenant_id for entry in entries} == {random}
            [named] = {entry.actor_id for entry in entries}
            assert named is not None
            assert named == scalar(conn, "select svc.audit_actor(%s)", (actor_id,))
            assert named == scalar(conn, "select svc.audit_actor(%s)", (named,))
            assert named == actor_id or f"({len(actor_id.encode())} bytes, sha256 " in named
