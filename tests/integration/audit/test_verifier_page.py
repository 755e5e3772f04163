"""The example of docs/explanation/verifier.md is what PostgreSQL makes of such entries."""

import json
import re
from typing import Any

import psycopg

from svc_pg.database.query import fetch_one
from svc_pg.seals.database.leaf_queries import CONTENT, LEAF, WHO, leaves_of
from svc_pg.seals.verification.seal import Stretch
from svc_pg.seals.verification.tree import root_of
from tests.support.documents import examples

FIRST_PART = (
    "xact_id, table_name, table_oid, operation, record_id, moved_from, actor_id, tenant_id, db_user, db_role,"
    " changed_fields, label, severity, compliance, partition"
)


def test_the_database_digests_the_documented_entries_as_the_page_does(database: str) -> None:
    names: dict[str, Any] = {}
    exec("".join(examples("explanation/verifier.md", "The format")), names)
    with psycopg.connect(database, autocommit=True) as conn:
        for number, time, who, content in names["entries"]:
            _, *first = json.loads(who)
            _, _, *snapshots = json.loads(content)
            before, after = (value and json.dumps(value) for value in snapshots[:2])
            assert snapshots[2:] == [None] * 4
            conn.execute(
                f"insert into svc.audit_logs (id, timestamp, {FIRST_PART}, before_data, after_data)"
                f" overriding system value values (%s, %s, {', '.join(['%s'] * len(first))}, %s, %s)".encode(),
                (number, time, *first, before, after),
            )
        parts = conn.execute(f"select {WHO}, {CONTENT} from svc.audit_logs l order by l.id".encode()).fetchall()
        everything = Stretch("", None, None, None, None, None)
        leaves = fetch_one(conn, leaves_of([everything], ended_at=None).query).leaves
    assert parts == [(who, content) for _, _, who, content in names["entries"]]
    assert leaves == b"".join(names["leaves"])
    assert root_of(names["leaves"]) == names["root"]


def test_each_column_of_an_entry_is_in_its_leaf(database: str) -> None:
    """Or somebody could change its value in a sealed entry, and no verification would tell."""
    with psycopg.connect(database) as conn:
        found = conn.execute(
            "select attname from pg_attribute where attrelid = 'svc.audit_logs'::regclass and attnum > 0"
            " and not attisdropped"
        ).fetchall()
    assert {name for (name,) in found} == set(re.findall(r'\bl\."?(\w+)', LEAF))
