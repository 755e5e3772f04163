"""Capture by statement is refused if foreign keys let one statement change a row twice."""

from typing import Any, LiteralString

import psycopg
import pytest

from svc_pg import Config, schema
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.errors import ConfigError
from tests.support.tables import create_and_audit, log

BY_STATEMENT = Config(audit=AuditConfig(tables=[AuditedTable(name="t", level="statement")]))
P: LiteralString = "create table p (id int primary key, c int unique);"

TWICE: list[tuple[LiteralString, str]] = [
    ("create table t (id int primary key, up int references t on update cascade)", "t_up_fkey"),
    ("create table t (id int primary key, up int references t on update set null)", "t_up_fkey"),
    ("create table t (id int primary key, up int default 1 references t on update set default)", "t_up_fkey"),
    (
        "create table t (id int primary key, a int references t on delete set null,"
        " b int references t on delete set null)",
        "t_a_fkey, t_b_fkey",
    ),
    (
        P + "create table t (id int primary key, a int references p on delete set null,"
        " b int references p on delete set default)",
        "t_a_fkey, t_b_fkey",
    ),
    (
        P + "create table t (id int primary key, a int references p on update cascade,"
        " b int references p (c) on update cascade)",
        "t_a_fkey, t_b_fkey",
    ),
    (  # one statement deletes from g, and both p and q follow
        "create table g (id int primary key);"
        "create table p (id int primary key references g on delete cascade);"
        "create table q (id int primary key references g on delete cascade);"
        "create table t (id int primary key, a int references p on delete set null,"
        " b int references q on delete set null)",
        "t_a_fkey, t_b_fkey",
    ),
    (  # t's own key comes back to it
        "create table t (id int primary key, a int);"
        "create table p (id int primary key references t on update cascade);"
        "alter table t add constraint back foreign key (a) references p on update cascade",
        "back",
    ),
    (  # one key, and a table above it that is changed twice
        "create table g (a int primary key, b int unique);"
        "create table p (a int references g on update cascade, b int references g (b) on update cascade,"
        " unique (a, b));"
        "create table t (id int primary key, a int, b int, constraint pair foreign key (a, b) references p (a, b)"
        " on update cascade)",
        "pair",
    ),
]

ONCE: list[LiteralString] = [
    "create table t (id int primary key, up int references t)",
    "create table t (id int primary key, up int references t on delete cascade)",
    "create table t (id int primary key, up int references t on delete set null)",
    P + "create table t (id int primary key, a int references p on update cascade on delete set null)",
    P + "create table t (id int primary key, a int references p on delete cascade,"
    " b int references p on delete cascade)",
    P + "create table t (id int primary key, a int references p on delete cascade,"
    " b int references p on delete set null)",
    P + "create table q (id int primary key); create table t (id int primary key,"
    " a int references p on delete set null, b int references q on delete set null)",
    (  # deleted through two keys, but once
        "create table g (id int primary key);"
        "create table p (id int primary key, a int references g on delete cascade,"
        " b int references g on delete cascade);"
        "create table t (id int primary key, a int references p on delete set null)"
    ),
    (  # the column that the cascade changes is not the one that t references
        "create table g (id int primary key);"
        "create table p (id int primary key, g int references g on update cascade);"
        "create table t (id int primary key, a int references p on update cascade,"
        " g int references g on update cascade)"
    ),
]


@pytest.mark.parametrize(("ddl", "keys"), TWICE)
def test_a_table_that_one_statement_can_change_twice_is_refused_and_its_keys_are_named(
    database: str, ddl: LiteralString, keys: str
) -> None:
    with pytest.raises(ConfigError, match=f"twice, through {keys}, so it cannot be audited by statement") as caught:
        create_and_audit(database, ddl, BY_STATEMENT)
    assert caught.value.hint == 'Use level = "row".'


@pytest.mark.parametrize("ddl", ONCE)
def test_a_table_whose_rows_a_statement_changes_once_is_accepted(database: str, ddl: LiteralString) -> None:
    create_and_audit(database, ddl, BY_STATEMENT)
    with psycopg.connect(database) as conn:
        assert {entry.state for entry in schema.status(conn, BY_STATEMENT)} == {"ok"}


def test_a_key_that_is_not_enforced_changes_nothing(database: str) -> None:
    with psycopg.connect(database) as conn:
        if conn.info.server_version < 180000:
            pytest.skip("keys that are not enforced are new in PostgreSQL 18")
    ddl: LiteralString = "create table t (id int primary key, up int references t on update cascade not enforced)"
    create_and_audit(database, ddl, BY_STATEMENT)
    with psycopg.connect(database) as conn:
        conn.execute("alter table t alter constraint t_up_fkey enforced")
        conn.commit()
        with pytest.raises(ConfigError, match="t_up_fkey"):
            schema.status(conn, BY_STATEMENT)


def test_a_key_that_is_added_later_is_named_by_status_plan_and_install(database: str) -> None:
    create_and_audit(database, "create table t (id int primary key, up int)", BY_STATEMENT)
    with psycopg.connect(database) as conn:
        conn.execute("alter table t add foreign key (up) references t on update cascade")
        conn.commit()
        for ask in (schema.status, schema.plan, schema.install):
            with pytest.raises(ConfigError, match="t_up_fkey"):
                ask(conn, BY_STATEMENT)


def states(conn: psycopg.Connection[Any]) -> list[tuple[Any, Any]]:
    return [(entry["before_data"], entry["after_data"]) for entry in log(conn) if entry["operation"] == "UPDATE"]


def test_by_row_each_change_of_two_keys_is_on_record(database: str) -> None:
    ddl: LiteralString = P + (
        "create table t (id int primary key, a int references p on delete set null,"
        " b int references p on delete set null)"
    )
    create_and_audit(database, ddl, Config(audit=AuditConfig(tables=[AuditedTable(name="t")])))
    with psycopg.connect(database) as conn:
        conn.execute("insert into p values (1)")
        conn.execute("insert into t values (1, 1, 1)")
        conn.execute("delete from p")
        (first, second), (third, fourth) = states(conn)
        assert (first, second, fourth) == (
            {"id": 1, "a": 1, "b": 1}, third, {"id": 1, "a": None, "b": None}
        )  # fmt: skip
