"""The result of an install is kept as a text, so that a reviewer reads the effect of a migration."""

import os
from pathlib import Path

import psycopg

from svc_pg.database.query import scalar
from tests.support.schema_dump import dump

KEPT = Path(__file__).parents[2] / "snapshots" / "schema.sql"
UPDATE = "SVC_TEST_UPDATE_SNAPSHOTS"


def test_the_schema_is_the_one_that_was_reviewed(shared_database: str) -> None:
    with psycopg.connect(shared_database) as conn:
        made = dump(conn)
    if os.environ.get(UPDATE):
        KEPT.write_text(made, encoding="utf-8")
    assert made == KEPT.read_text(encoding="utf-8"), f"read the difference, then run with {UPDATE}=1"


def test_every_check_reads_the_same_after_a_dump_and_restore(shared_database: str) -> None:
    """Or status calls it tampered in every restored database."""
    with psycopg.connect(shared_database) as conn:
        checks = conn.execute("""
            select conrelid::regclass::text, pg_get_constraintdef(oid) from pg_constraint
             where connamespace = 'svc'::regnamespace and contype = 'c'
        """).fetchall()
        assert checks
        again = "select pg_get_constraintdef(oid) from pg_constraint where conname = 'again'"
        for table, check in checks:
            with conn.transaction(force_rollback=True):
                conn.execute(
                    f"create temp table restored (like {table}); alter table restored add constraint again {check}"
                )
                assert scalar(conn, again) == check, table
