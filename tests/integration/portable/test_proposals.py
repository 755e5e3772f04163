"""A proposal for a database of SQLite, MySQL or MariaDB fits it."""

from contextlib import closing
from pathlib import Path
from typing import Any

from svc_pg import Config, schema
from svc_pg.scaffold.proposal import propose, unnamed
from svc_pg.scaffold.toml_text import toml_text
from tests.support.logs import Log

TABLES = [
    "create table buyer (id integer primary key, contact varchar(80), phone_number varchar(20), password varchar(40))",
    "create table alembic_version (version_num varchar(32) primary key)",
    "create table keyless (a int)",
    "insert into buyer values (1, 'ann@shop.example', null, 'x'), (2, 'ben@shop.example', null, 'y')",
]


def run(conn: Any, *statements: str) -> None:
    with closing(conn.cursor()) as cursor:
        for statement in statements:
            cursor.execute(statement)


def test_a_proposal_is_installed_as_it_is_written(log: Log, tmp_path: Path) -> None:
    with closing(log.connect()) as conn:
        run(conn, *TABLES)
        try:
            found = propose(conn)
            [buyer] = [table for table in found.tables if table.name.table == "buyer"]
            assert {each.column: each.redaction for each in buyer.redact} == {
                "contact": "hash",
                "phone_number": "mask",
                "password": "remove",
            }
            assert {name.table for name in found.left_out} >= {"alembic_version", "keyless"}
            file = tmp_path / "svc-pg.toml"
            file.write_text(toml_text(found), encoding="utf-8")
            assert 'name = "buyer"' in file.read_text(encoding="utf-8")
            config = Config.from_toml(file)
            assert unnamed(conn, config) == []
            assert [name.table for name in unnamed(conn, Config())] == [table.name.table for table in found.tables]
            assert schema.status(conn, config)
        finally:
            run(conn, "drop table buyer", "drop table alembic_version", "drop table keyless")
