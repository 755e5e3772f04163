"""Every object of svc says what it is, and docs/sql-api.md says the same of all that people may read and call."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, LiteralString

import psycopg
import pytest

from svc_pg import Config, schema
from tests.support.documents import examples

DOCUMENT: Final = Path(__file__).parents[3] / "docs" / "sql-api.md"
UPDATE: Final = "SVC_TEST_UPDATE_SNAPSHOTS"
SQL: Final = Path(__file__).parents[3] / "sql"

_RELATIONS: Final = """
select c.relname, obj_description(c.oid, 'pg_class') from pg_class c
 where c.relnamespace = 'svc'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition
 order by c.relkind = 'v', c.relname
"""
_COLUMNS: Final = """
select a.attname, format_type(a.atttypid, a.atttypmod), col_description(a.attrelid, a.attnum) from pg_attribute a
 where a.attrelid = ('svc.' || %s)::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum
"""
_FUNCTIONS: Final = """
select distinct on (p.proname) p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),
       obj_description(p.oid, 'pg_proc')
  from pg_proc p where p.pronamespace = 'svc'::regnamespace and p.proname = any(%s)
 order by p.proname, oidvectortypes(p.proargtypes) desc -- of several the one for text
"""
# All others have the name of their part before their own
PUBLIC: Final = sorted(
    {
        name
        for part in ("audit", "console", "webhooks")  # none of sql/log is for people
        for name in (file.name.split(".")[0] for file in (SQL / part).iterdir())
        if not name.startswith(f"{part.removesuffix('s')}_")
    }
)


@pytest.fixture
def conn(shared_database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(shared_database) as conn:
        conn.execute("set search_path = pg_catalog")
        yield conn


def is_public(comment: str) -> bool:
    return not comment.startswith("Internal: ")


def test_everything_in_svc_has_a_comment(conn: psycopg.Connection[Any]) -> None:
    relations = conn.execute(_RELATIONS).fetchall()
    said = dict(relations)
    for name, _ in relations:
        if name.startswith("record_"):  # a view for each audited table, with columns of the log
            continue
        said |= {f"{name}.{column}": comment for column, _, comment in conn.execute(_COLUMNS, (name,))}
    said |= {name: comment for name, _, _, comment in conn.execute(_FUNCTIONS, (PUBLIC,))}
    assert {"audit_logs.record_id", "audit_log_export.tableName", "installed_objects.kind", *PUBLIC} < said.keys()
    assert [name for name, comment in said.items() if not comment or not re.fullmatch(r"\S.*[.:)]", comment)] == []


def test_what_has_a_short_name_is_for_people() -> None:
    assert PUBLIC == [
        "capture_log",
        "end_tenant_access",
        "erase",
        "history",
        "hold",
        "lift_hold",
        "send",
        "send_many",
        "uuid7_at",
    ]


def test_the_document_says_what_the_database_says(conn: psycopg.Connection[Any]) -> None:
    blocks = list(_blocks(conn))
    if os.environ.get(UPDATE):
        text = DOCUMENT.read_text(encoding="utf-8")
        for heading, block in blocks:
            kept = rf"^{re.escape(heading)}\n\n[^\n]*\n(\n(\|[^\n]*\n)+|\n```sql\nsvc\..*?```\n)?"
            text, count = re.subn(kept, lambda _, block=block: block, text, flags=re.MULTILINE | re.DOTALL)  # type: ignore[misc]
            assert count, f"docs/sql-api.md has no place for {heading}"
        DOCUMENT.write_text(text, encoding="utf-8")
    text = DOCUMENT.read_text(encoding="utf-8")
    for _, block in blocks:
        assert block in text, f"read the difference, then run with {UPDATE}=1"
    headings = re.findall(r"^### `svc\..*$", text, flags=re.MULTILINE)
    assert sorted(headings) == sorted(heading for heading, _ in blocks)


def _blocks(conn: psycopg.Connection[Any]) -> Iterator[tuple[str, str]]:
    for name, comment in conn.execute(_RELATIONS).fetchall():
        if is_public(comment):
            rows = [
                f"| `{column}` | {kind} | {meaning} |\n"
                for column, kind, meaning in conn.execute(_COLUMNS, (name,))
                if is_public(meaning)
            ]
            heading = f"### `svc.{name}`"
            yield heading, f"{heading}\n\n{comment}\n\n| Column | Type | Meaning |\n|---|---|---|\n{''.join(rows)}"
    for name, arguments, result, comment in conn.execute(_FUNCTIONS, (PUBLIC,)).fetchall():
        heading = f"### `svc.{name}`"
        columns = re.fullmatch(r"TABLE\((.*)\)", result)
        returned = f"table (\n{one_a_line(columns[1])}\n)" if columns else result
        signature = f"svc.{name}(\n{one_a_line(arguments)}\n) returns {returned}"
        yield heading, f"{heading}\n\n{comment}\n\n```sql\n{signature}\n```\n"


def one_a_line(declarations: str) -> str:
    """A list of arguments or columns, which PostgreSQL prints on one line."""
    return ",\n".join(f"    {declaration}" for declaration in re.split(r", (?=\w+ \w)", declarations))


def test_a_reader_may_read_every_column_that_is_documented(conn: psycopg.Connection[Any]) -> None:
    refused = []
    for name, comment in conn.execute(_RELATIONS).fetchall():
        for column, _, meaning in conn.execute(_COLUMNS, (name,)) if is_public(comment) else ():
            allowed = "select has_column_privilege('svc_reader', 'svc.' || %s, %s, 'select')"
            if is_public(meaning) and conn.execute(allowed, (name, column)).fetchone() != (True,):
                refused.append(f"{name}.{column}")
    assert refused == []


def test_the_examples_run(database: str) -> None:
    texts: list[LiteralString] = [*examples("sql-api.md", "Views", "sql"), *examples("sql-api.md", "Functions", "sql")]
    run = [text for text in texts if not text.startswith("svc.")]
    assert len(run) >= 3
    config = Config.model_validate(
        {"webhooks": {"events": {"order.created": {}}}, "audit": {"tables": [{"name": "customer"}]}}
    )
    with psycopg.connect(database) as conn:
        conn.execute("create table customer (id int primary key, email text, country text)")
        conn.commit()
        schema.install(conn, config)
        conn.execute(
            'insert into svc.audit_logs ("timestamp", table_name, table_oid, operation, record_id, after_data)'
            """ values ('2026-01-01', 'public.customer', 0, 'INSERT', '5', '{"id": 5}')"""
        )
        for text in run:
            if text.startswith("copy "):
                with conn.cursor().copy(text.rstrip().rstrip(";").encode()) as copy:
                    list(copy)
            else:
                conn.execute(text.encode())
