"""The upgrade that makes the ids of tenants texts."""

from pathlib import Path
from typing import Any

import psycopg
import pytest

from svc_pg.database.query import scalar

[MIGRATION] = (Path(__file__).parents[3] / "sql" / "migrations").glob("*_tenant_texts.sql")
BEFORE = """
drop trigger tenants_gone_row on svc.tenants;
alter table svc.tenants
    drop constraint tenants_id_check,
    alter column id drop default, alter column id type uuid using id::uuid,
    alter column id set default gen_random_uuid();
insert into svc.tenants values ('6f9619ff-8b86-d011-b42d-00c04fc964ff', 'Acme');
create table account (tenant uuid references svc.tenants);
"""


def test_tenants_keep_their_ids_as_texts_unless_other_tables_refer_to_them(conn: psycopg.Connection[Any]) -> None:
    migration = MIGRATION.read_bytes()
    conn.execute(BEFORE)
    with pytest.raises(psycopg.Error, match="whose ids become texts") as refused, conn.transaction():
        conn.execute(migration)
    assert "alter table account drop constraint account_tenant_fkey" in str(refused.value.diag.message_hint)
    conn.execute("drop table account")
    conn.execute(migration)
    assert scalar(conn, "select id from svc.tenants") == "6f9619ff-8b86-d011-b42d-00c04fc964ff"
    conn.rollback()
