"""Functions of one name that have several signatures: each has a state of its own."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, LiteralString

import psycopg
import pytest

from svc_pg import Config, schema
from svc_pg.database.query import scalar
from svc_pg.rendering.schema_objects import OVERLOADED
from svc_pg.schema.postgres.sql_script import script
from tests.support.postgres import Prepare

CONFIG: Final = Config.model_validate({"webhooks": {"events": {"order.created": {}}}})
SQL: Final = Path(__file__).parents[3] / "sql"
REST: Final = "text, text, interval, text, text"
KINDS: Final = ("json", "jsonb", "text")
SEND: Final = {kind: f"svc.send(text, {kind}, {REST})" for kind in KINDS}
THERE: LiteralString = """
select array_agg(format('svc.send(%s)', oidvectortypes(p.proargtypes)) order by oidvectortypes(p.proargtypes))
  from pg_proc p where p.pronamespace = 'svc'::regnamespace and p.proname = 'send'
"""
OLD: LiteralString = """
create function svc.send(event text, payload json, idempotency_key text default null) returns uuid
language sql as 'select null::uuid'
"""


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def prepare(conninfo: str) -> None:
        with psycopg.connect(conninfo) as conn:
            schema.install(conn, CONFIG)

    return prepare


@pytest.fixture
def conn(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def differing(conn: psycopg.Connection[Any]) -> dict[str, str]:
    return {entry.identity: entry.state for entry in schema.status(conn, CONFIG) if entry.state != "ok"}


def test_the_names_of_several_functions_are_known() -> None:
    names = [
        file.name.split(".")[0] for part in ("audit", "console", "log", "webhooks") for file in (SQL / part).iterdir()
    ]
    assert {name for name in names if names.count(name) > 1} == set(OVERLOADED)


def test_each_overload_is_an_object_and_a_second_install_changes_none(conn: psycopg.Connection[Any]) -> None:
    states = {entry.identity: entry.state for entry in schema.status(conn, CONFIG) if "svc.send(" in entry.identity}
    assert states == dict.fromkeys(SEND.values(), "ok")
    assert schema.install(conn, CONFIG) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_lost_overload_is_missing_and_comes_back(conn: psycopg.Connection[Any], kind: str) -> None:
    conn.execute(f"drop function {SEND[kind]}")
    assert differing(conn) == {SEND[kind]: "missing"}
    made = schema.install(conn, CONFIG)
    assert [step.identity for step in made if step.kind == "function"] == [SEND[kind]]
    assert differing(conn) == {}
    assert scalar(conn, THERE) == sorted(SEND.values())


@pytest.mark.parametrize("kind", KINDS)
def test_an_overload_that_somebody_changed_is_tampered_alone(conn: psycopg.Connection[Any], kind: str) -> None:
    conn.execute(f"alter function {SEND[kind]} set search_path = public")
    assert differing(conn) == {SEND[kind]: "tampered"}
    schema.install(conn, CONFIG)
    assert differing(conn) == {}


@pytest.mark.parametrize("kind", KINDS)
def test_an_overload_with_rights_for_all_loses_them(conn: psycopg.Connection[Any], kind: str) -> None:
    conn.execute(f"grant execute on function {SEND[kind]} to public")
    assert list(differing(conn)) == [f"function {SEND[kind].replace(', ', ',')}"]
    schema.install(conn, CONFIG)
    assert differing(conn) == {}


def test_an_overload_of_somebody_else_is_noticed_and_goes(conn: psycopg.Connection[Any]) -> None:
    conn.execute("create function svc.send(text, int) returns int language sql as 'select 1'")
    assert differing(conn)["svc.send(text, integer)"] == "orphan"
    [step] = [step for step in schema.install(conn, CONFIG) if step.kind == "function"]
    assert (step.identity, step.action) == ("svc.send(text, integer)", "remove")
    assert differing(conn) == {}


def test_an_old_overload_goes_before_the_tables_are_installed(conn: psycopg.Connection[Any]) -> None:
    """Or calls would be ambiguous until all tables are finished."""
    conn.execute(OLD)
    conn.execute("create table customer (id int primary key)")
    config = CONFIG.model_copy(deep=True)
    config.audit.table("customer")
    conn.execute("select svc.send('order.created', '{}')")
    taken = [(step.action, step.kind, step.identity) for step in schema.install(conn, config)]
    assert taken[0] == ("remove", "function", "svc.send(text, json, text)")
    assert scalar(conn, THERE) == sorted(SEND.values())


@pytest.mark.parametrize("by_script", [False, True])
def test_a_database_of_one_function_gets_all(conn: psycopg.Connection[Any], *, by_script: bool) -> None:
    """As it was installed when svc.send was a single function, which was recorded by its name."""
    definition = scalar(conn, f"select pg_get_functiondef('{SEND['text']}'::regprocedure)")
    for signature in SEND.values():
        conn.execute(f"drop function {signature}")
    conn.execute(re.sub("payload text", "payload json", definition))
    conn.execute("delete from svc.installed_objects where identity like 'svc.send(%'")
    conn.execute(
        "insert into svc.installed_objects (kind, identity, source_sha256, catalog_sha256)"
        " values ('function', 'svc.send', 'before', 'before')"
    )
    if by_script:
        upgrade = script(conn, CONFIG)
        assert upgrade is not None
        conn.execute(upgrade.upgrade.encode())
    else:
        schema.install(conn, CONFIG)
    assert differing(conn) == {}
    assert scalar(conn, THERE) == sorted(SEND.values())
    assert scalar(conn, "select count(*) from svc.installed_objects where identity = 'svc.send'") == 0


def test_an_uninstall_drops_all_overloads(conn: psycopg.Connection[Any]) -> None:
    conn.execute(OLD)
    schema.uninstall(conn)
    assert scalar(conn, THERE) is None
