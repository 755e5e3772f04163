"""Tables that are renamed, moved, attached and detached after they were audited."""

from collections.abc import Iterator
from typing import Any, LiteralString

import psycopg
import pytest

from svc_pg import Config, audit, schema
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError, QueryError, RemovalRefusedError, UnknownTableError
from tests.support.tables import audited, log

PARTITIONED = "create table p (id int, k text, primary key (id, k)) partition by list (k)"


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("create table customer (id int primary key, email text)")
        conn.execute("create schema archive")
        yield conn


def differing(conn: psycopg.Connection[Any], config: Config) -> dict[str, str]:
    return {entry.identity: entry.state for entry in schema.status(conn, config) if entry.state != "ok"}


def brief(conn: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    return [(e["table_name"], e["operation"], e["record_id"]) for e in log(conn)]


MOVES: list[tuple[LiteralString, str]] = [
    ("alter table customer rename to client", "public.client"),
    ("alter table customer set schema archive", "archive.customer"),
]


@pytest.mark.parametrize(("move", "now"), MOVES)
@pytest.mark.parametrize("level", ["row", "statement"])
def test_a_renamed_table_goes_on_where_the_configuration_names_it_as_it_is_now(
    db: psycopg.Connection[Any], move: LiteralString, now: str, level: str
) -> None:
    def config(name: str) -> Config:
        return Config.model_validate({"audit": {"tables": [{"name": name, "level": level}]}})

    schema.install(db, config("customer"))
    db.execute(move)
    schema.install(db, config(now))
    assert differing(db, config(now)) == {}
    db.execute(f"insert into {now} values (1)".encode())
    assert brief(db) == [(now, "INSERT", "1")]
    assert scalar(db, "select to_regproc('svc.capture_public_customer') is null")


def test_a_table_that_was_renamed_tells_under_which_names_the_log_has_it(db: psycopg.Connection[Any]) -> None:
    def others(name: str) -> list[str]:
        db.execute("set role svc_reader")
        names: list[str] = scalar(db, "select svc.audit_other_names(%s)", (name,))
        db.execute("reset role")
        return names

    schema.install(db, audited("customer"))
    db.execute("insert into customer values (1)")
    assert others("public.customer") == []
    db.execute("alter table customer rename to client; create table customer (id int primary key)")
    both = audited("customer", "client")
    schema.install(db, both)
    with pytest.raises(QueryError, match=r'the log has no entry of "public\.client"') as caught:
        audit.as_of("client", "1s").list(db)
    assert str(caught.value.hint).endswith("Under another name, the log has it as public.customer.")
    assert (others("public.client"), others("public.customer")) == (["public.customer"], [])
    db.execute("insert into client values (2); insert into customer values (3)")
    with pytest.raises(QueryError, match=r'"public\.client" is not known before') as caught:
        audit.as_of("client", "1h").list(db)
    assert str(caught.value.hint).endswith("from then. Under another name, the log has it as public.customer.")
    db.execute(
        "alter table client rename to c; alter table customer rename to client; alter table c rename to customer"
    )
    schema.install(db, both)
    assert (others("public.client"), others("public.customer")) == (["public.customer"], ["public.client"])


@pytest.mark.parametrize(("move", "now"), MOVES)
def test_a_configuration_that_names_a_table_as_it_was_is_told_its_name_now(
    db: psycopg.Connection[Any], move: LiteralString, now: str
) -> None:
    schema.install(db, audited("customer"))
    db.execute(move)
    for command in (schema.install, schema.status):
        with pytest.raises(UnknownTableError) as caught:
            command(db, audited("customer"))
        assert caught.value.hint == f"It is now {now}: name it so."


def test_a_table_that_left_a_pattern_is_refused_under_both_names_and_pruned(db: psycopg.Connection[Any]) -> None:
    db.execute("create table invoice (id int primary key)")
    schema.install(db, audited("public.*"))
    db.execute("alter table customer set schema archive")
    with pytest.raises(RemovalRefusedError) as caught:
        schema.install(db, audited("public.*"))
    assert caught.value.message.endswith(": capture of public.customer (now archive.customer)")
    assert "named as it is now" in str(caught.value.hint)
    schema.install(db, audited("public.*"), prune=True)
    assert differing(db, audited("public.*")) == {}
    db.execute("insert into archive.customer values (1)")
    assert brief(db) == []


def test_a_renamed_partitioned_table_is_recorded_once(db: psycopg.Connection[Any]) -> None:
    db.execute(PARTITIONED + "; create table p_a partition of p for values in ('a')")
    schema.install(db, audited("p"))
    db.execute("alter table p rename to q")
    schema.install(db, audited("q"))
    assert differing(db, audited("q")) == {}
    db.execute("insert into q values (1, 'a'); truncate p_a")
    assert brief(db) == [("public.q", "INSERT", '[1, "a"]'), ("public.q", "TRUNCATE", None)]


def test_a_table_that_is_audited_by_itself_can_be_attached(db: psycopg.Connection[Any]) -> None:
    db.execute(PARTITIONED + "; create table a (id int, k text not null, primary key (id, k))")
    config = audited("public.*")
    schema.install(db, config)
    db.execute("insert into a values (1, 'a')")
    db.execute("alter table p attach partition a for values in ('a')")
    db.execute("insert into p values (2, 'a')")
    assert {entry[2] for entry in brief(db)} == {'[1, "a"]', '[2, "a"]'}  # nothing is lost before the next install
    schema.install(db, config)
    assert differing(db, config) == {"public.p: partition public.a was attached with its rows": "incomplete"}
    assert schema.backfill(db, config)["public.p"] == 1  # the one that public.a had
    assert differing(db, config) == {}
    before = len(brief(db))
    db.execute("insert into p values (3, 'a'); update a set id = 4 where id = 3; truncate a")
    assert brief(db)[before:] == [
        ("public.p", "INSERT", '[3, "a"]'),
        ("public.p", "UPDATE", '[4, "a"]'),
        ("public.p", "TRUNCATE", None),
    ]


def test_a_table_and_its_partition_are_not_both_audited(db: psycopg.Connection[Any]) -> None:
    db.execute(PARTITIONED + "; create table a partition of p for values in ('a')")
    with pytest.raises(ConfigError, match=r'"public\.a" is a partition of "public\.p"') as caught:
        schema.install(db, audited("p", "a"))
    assert caught.value.hint == 'Name only "public.p"; it covers all partitions.'


def test_a_detached_partition_is_audited_by_itself_after_the_next_install(db: psycopg.Connection[Any]) -> None:
    db.execute(PARTITIONED + "; create table a partition of p for values in ('a')")
    config = audited("public.*")
    schema.install(db, config)
    db.execute("alter table p detach partition a")
    schema.install(db, config)
    assert differing(db, config) == {"public.p: partition public.a was detached or dropped with its rows": "incomplete"}
    db.execute("insert into a values (1, 'a'); truncate a")
    assert brief(db) == [("public.a", "INSERT", '[1, "a"]'), ("public.a", "TRUNCATE", None)]


def test_a_table_with_a_foreign_partition_is_audited(db: psycopg.Connection[Any]) -> None:
    db.execute("create foreign data wrapper elsewhere; create server elsewhere foreign data wrapper elsewhere")
    db.execute(
        "create table m (id int, k text) partition by list (k); create table m_a partition of m for values in ('a')"
    )
    db.execute("create foreign table m_b partition of m for values in ('b') server elsewhere")
    schema.install(db, audited("m"))
    assert differing(db, audited("m")) == {}
    db.execute("insert into m values (1, 'a')")
    assert brief(db) == [("public.m", "INSERT", None)]
