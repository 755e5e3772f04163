"""The result of an install is kept as a text, so that a reviewer reads the effect of a migration."""

import os
from pathlib import Path

import psycopg

from tests.support.schema_dump import dump

KEPT = Path(__file__).parents[2] / "snapshots" / "schema.sql"
UPDATE = "SVC_TEST_UPDATE_SNAPSHOTS"


def test_the_schema_is_the_one_that_was_reviewed(shared_database: str) -> None:
    with psycopg.connect(shared_database) as conn:
        made = dump(conn)
    if os.environ.get(UPDATE):
        KEPT.write_text(made, encoding="utf-8")
    assert made == KEPT.read_text(encoding="utf-8"), f"read the difference, then run with {UPDATE}=1"
