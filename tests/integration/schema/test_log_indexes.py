"""The indexes of the log: those that a configuration chooses, and what an install does about them."""

import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from svc_pg import Config, schema
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.database.query import scalar
from svc_pg.errors import InstallError
from svc_pg.maintenance import maintain
from svc_pg.schema.postgres import index_builder, sql_script
from tests.support.postgres import Prepare
from tests.support.waiting import wait_until

TABLE = "create table customer (id int primary key, email text)"
ALWAYS = ["audit_logs_moved", "audit_logs_order", "audit_logs_record"]


def choosing(*indexes: str) -> Config:
    return Config(audit=AuditConfig.model_validate({"indexes": indexes, "tables": [AuditedTable(name="customer")]}))


DEFAULT = Config(audit=AuditConfig(tables=[AuditedTable(name="customer")]))
LEAN = choosing("record")


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def prepare(conninfo: str) -> None:
        with psycopg.connect(conninfo) as conn:
            conn.execute(TABLE)
            conn.commit()
            schema.install(conn, LEAN, prune=True)
            conn.execute("insert into customer values (0, 'ann')")

    return prepare


@pytest.fixture
def written(database: str) -> Iterator[psycopg.Connection[Any]]:
    """A log with an entry and the fewest indexes."""
    with psycopg.connect(database) as conn:
        yield conn


def indexes(conn: psycopg.Connection[Any]) -> list[str]:
    """Those of the log; each is valid, and has its part of each partition."""
    rows = conn.execute("""
        select c.relname::text, i.indisvalid,
               (select count(*) from pg_inherits q join pg_index x on x.indexrelid = q.inhrelid and x.indisvalid
                 where q.inhparent = c.oid)
               = (select count(*) from pg_inherits p where p.inhparent = i.indrelid)
          from pg_index i join pg_class c on c.oid = i.indexrelid
         where i.indrelid = 'svc.audit_logs'::regclass and not i.indisprimary order by 1""").fetchall()
    conn.commit()
    assert [name for name, is_valid, is_whole in rows if not (is_valid and is_whole)] == []
    return [name for name, *_ in rows]


def parts(conn: psycopg.Connection[Any], end: str) -> list[str]:
    """The indexes of partitions that a build made, by their names."""
    rows = conn.execute(
        "select relname::text from pg_class where relname ~ %s order by 1",
        (f"^audit_logs_([0-9]{{4}}_[0-9]{{2}}|default)_{end}$",),
    ).fetchall()
    conn.commit()
    return [name for (name,) in rows]


def differing(conn: psycopg.Connection[Any], config: Config) -> dict[str, str]:
    return {entry.identity: entry.state for entry in schema.status(conn, config) if entry.state != "ok"}


def test_a_new_log_has_the_default_indexes_or_those_that_are_chosen(empty_database: str) -> None:
    with psycopg.connect(empty_database) as conn:
        conn.execute(TABLE)
        conn.commit()
        planned = [(step.kind, step.identity) for step in schema.plan(conn, choosing("actor"))]
        assert ("index", "svc.audit_logs_actor") in planned
        assert [(step.kind, step.identity) for step in schema.install(conn, choosing("actor"))] == planned
        assert indexes(conn) == sorted([*ALWAYS, "audit_logs_actor"])
        assert differing(conn, choosing("actor")) == {}
        schema.install(conn, DEFAULT)
        assert indexes(conn) == sorted([*ALWAYS, "audit_logs_actor", "audit_logs_severity"])


def test_a_chosen_index_is_planned_with_its_price_built_on_each_partition_and_dropped_with_prune(
    written: psycopg.Connection[Any],
) -> None:
    conn, wanted = written, choosing("record", "time", "table", "actor", "tenant", "severity")
    chosen = [f"audit_logs_{name}" for name in ("severity", "table", "actor", "tenant")]
    assert indexes(conn) == ALWAYS
    assert differing(conn, wanted) == dict.fromkeys((f"svc.{name}" for name in chosen), "missing")
    planned = schema.plan(conn, wanted)
    assert [(step.action, step.identity.removeprefix("svc.")) for step in planned] == [("create", x) for x in chosen]
    assert all("; costs an entry about " in step.sql and "concurrently" in step.sql for step in planned)
    assert schema.install(conn, wanted) == planned
    assert indexes(conn) == sorted(ALWAYS + chosen)
    assert schema.install(conn, wanted) == []

    assert differing(conn, LEAN) == dict.fromkeys((f"svc.{name}" for name in chosen), "orphan")
    planned = schema.plan(conn, LEAN)
    assert {(step.action, step.needs_prune) for step in planned} == {("remove", True)}
    assert schema.install(conn, LEAN) == []
    assert indexes(conn) == sorted(ALWAYS + chosen)
    assert schema.install(conn, LEAN, prune=True) == planned
    assert indexes(conn) == ALWAYS
    assert parts(conn, "actor") == []


def test_months_that_come_later_have_the_chosen_indexes(written: psycopg.Connection[Any]) -> None:
    schema.install(written, choosing("tenant"))
    written.execute("select svc.audit_ensure_partitions(p_months => 6)")
    written.commit()
    assert "audit_logs_tenant" in indexes(written)


def test_a_log_of_before_keeps_its_indexes_until_prune_but_for_those_that_one_replaces(
    written: psycopg.Connection[Any],
) -> None:
    written.execute("""
        drop index svc.audit_logs_order;
        create index audit_logs_id on svc.audit_logs using brin (id);
        create index audit_logs_xact on svc.audit_logs using brin (xact_id);
        create index audit_logs_severity on svc.audit_logs ("timestamp", id) where severity is not null;
        create index audit_logs_table on svc.audit_logs (table_name, "timestamp", id);
        delete from svc.migrations where number = 22;
        insert into svc.installed_inventory (kind, identity, of_table, sql)
        values ('index', 'svc.audit_logs_xact', 'audit_logs', 'create index x;')""")
    written.commit()
    assert [step.identity for step in schema.install(written, DEFAULT) if step.kind != "access"] == [
        "0022_log_indexes",
        "svc.audit_logs_order",
        "svc.audit_logs_id",
        "svc.audit_logs_xact",
    ]
    assert indexes(written) == sorted([*ALWAYS, "audit_logs_severity", "audit_logs_table"])
    assert differing(written, DEFAULT) == {"svc.audit_logs_table": "orphan"}


@pytest.mark.parametrize("left", ["nothing", "valid", "invalid", "another"])
def test_a_build_that_broke_off_is_mended_by_the_next_install(written: psycopg.Connection[Any], left: str) -> None:
    make = 'create index audit_logs_actor on only svc.audit_logs (actor_id, "timestamp") where actor_id is not null;'
    if left != "nothing":
        columns = "id" if left == "another" else 'actor_id, "timestamp"'
        make += (
            f"create index audit_logs_default_actor on svc.audit_logs_default ({columns}) where actor_id is not null;"
        )
    written.execute(make.encode())
    if left == "invalid":
        written.execute(
            "update pg_index set indisvalid = false where indexrelid = 'svc.audit_logs_default_actor'::regclass"
        )
    before = scalar(written, "select to_regclass('svc.audit_logs_default_actor')::oid")
    written.commit()
    assert differing(written, choosing("actor")) == {"svc.audit_logs_actor": "tampered"}
    assert [step.identity for step in schema.install(written, choosing("actor"))] == ["svc.audit_logs_actor"]
    assert indexes(written) == sorted([*ALWAYS, "audit_logs_actor"])
    after = scalar(written, "select to_regclass('svc.audit_logs_default_actor')::oid")
    assert (before == after) == (left == "valid")


def test_a_build_that_broke_off_is_removed_if_it_is_no_longer_chosen(written: psycopg.Connection[Any]) -> None:
    written.execute("""
        create index audit_logs_actor on only svc.audit_logs (actor_id);
        create index audit_logs_default_actor on svc.audit_logs_default (actor_id)""")
    written.commit()
    assert [step.identity for step in schema.install(written, LEAN, prune=True)] == ["svc.audit_logs_actor"]
    assert parts(written, "actor") == []


def test_an_install_whose_session_ends_while_it_builds_is_finished_by_the_next(
    database: str, written: psycopg.Connection[Any]
) -> None:
    problems: list[InstallError] = []

    def install() -> None:
        with psycopg.connect(database) as conn:
            try:
                schema.install(conn, choosing("actor"))
            except InstallError as error:
                problems.append(error)

    building = threading.Thread(target=install)
    with psycopg.connect(database) as older:
        older.execute("set transaction isolation level repeatable read")
        older.execute("select 1 from customer")  # a build waits for it
        building.start()
        kill = """
            select pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and query ~ '^create index concurrently' and wait_event_type = 'Lock'"""
        written.autocommit = True
        wait_until(lambda: written.execute(kill).fetchall() != [], "a build waits")
        building.join()
    assert "not finished" in str(problems[0])
    assert schema.install(written, choosing("actor"))
    assert indexes(written) == sorted([*ALWAYS, "audit_logs_actor"])


def test_writers_go_on_while_indexes_are_built_and_dropped(database: str, written: psycopg.Connection[Any]) -> None:
    is_over = threading.Event()
    waits: list[float] = []

    def write(first: int) -> None:
        with psycopg.connect(database, autocommit=True) as conn:
            number = first
            while not is_over.is_set():
                number += 1
                conn.execute("insert into customer values (%s, 'x')", (number,))
                waits.append(number)

    writers = [threading.Thread(target=write, args=(1_000_000 * n,)) for n in (1, 2)]
    for writer in writers:
        writer.start()
    try:
        schema.install(written, choosing("actor", "tenant", "table"))
        schema.install(written, LEAN, prune=True)
    finally:
        is_over.set()
        for writer in writers:
            writer.join()
    assert indexes(written) == ALWAYS
    assert scalar(written, "select count(*) from svc.audit_logs where table_name = 'public.customer'") == len(waits) + 1


def test_a_reader_of_the_log_makes_the_drop_wait_and_no_writer(
    database: str, written: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    schema.install(written, choosing("actor"))
    monkeypatch.setattr(index_builder, "_TRIES", 2)
    with psycopg.connect(database) as reader, psycopg.connect(database) as writer:
        reader.execute("select count(*) from svc.audit_logs")
        with pytest.raises(InstallError, match="not finished: canceling statement due to lock timeout"):
            schema.install(written, LEAN, prune=True)
        writer.execute("set lock_timeout = '5s'")
        writer.execute("insert into customer values (9, 'x')")
        writer.commit()
        reader.rollback()
    assert [step.identity for step in schema.install(written, LEAN, prune=True)] == ["svc.audit_logs_actor"]


@pytest.mark.parametrize(
    "made", ["create table svc.audit_logs_actor ()", "create index audit_logs_actor on svc.audit_seals (epoch)"]
)
def test_something_else_that_has_the_name_of_an_index_is_named_and_kept(
    written: psycopg.Connection[Any], made: str
) -> None:
    written.execute(made.encode())
    written.commit()
    [entry] = [each for each in schema.status(written, choosing("actor")) if each.kind == "index"]
    assert (entry.identity, entry.state, entry.action) == ("svc.audit_logs_actor", "tampered", "keep")
    with pytest.raises(InstallError, match=r"svc\.audit_logs_actor has the name of an index of the log") as caught:
        schema.install(written, choosing("actor"))
    written.execute((caught.value.hint or "").removeprefix("Execute: ").encode())
    written.commit()
    schema.install(written, choosing("actor"))
    assert "audit_logs_actor" in indexes(written)


def test_an_index_of_the_log_with_another_definition_is_replaced(written: psycopg.Connection[Any]) -> None:
    written.execute("create index audit_logs_actor on svc.audit_logs (tenant_id)")
    written.commit()
    assert differing(written, choosing("actor")) == {"svc.audit_logs_actor": "tampered"}
    schema.install(written, choosing("actor"))
    assert "(actor_id" in scalar(written, "select pg_get_indexdef('svc.audit_logs_actor'::regclass)")


def test_a_script_in_one_transaction_makes_the_chosen_indexes_of_a_new_log(empty_database: str) -> None:
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute(TABLE)
        script = sql_script.script(conn, choosing("actor", "tenant"))
        assert script is not None
        conn.execute(script.file.encode())
        assert indexes(conn) == sorted([*ALWAYS, "audit_logs_actor", "audit_logs_tenant"])
        later = sql_script.script(conn, choosing("actor", "tenant", "table"))
        assert later is not None
        conn.execute("insert into customer values (1, 'ann')")
        conn.execute(later.file.encode())  # made for an empty log, and run in one that has entries
        assert "audit_logs_table" not in indexes(conn)
        assert sql_script.script(conn, choosing("actor", "tenant", "table")) is None
        assert maintain(conn, choosing("actor", "tenant", "table"))
        assert "audit_logs_table" in indexes(conn)


def test_maintenance_builds_what_is_chosen_and_drops_nothing(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        assert maintain(conn, choosing("actor", "tenant"))
        assert indexes(conn) == sorted([*ALWAYS, "audit_logs_actor", "audit_logs_tenant"])
        assert maintain(conn, LEAN)
        assert "audit_logs_actor" in indexes(conn)
