"""The role of a managed server, which is no superuser, does all that docs/howto/managed-postgresql.md says."""

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from svc_pg import audit, webhooks
from svc_pg.database.query import scalar
from tests.support.commands import running
from tests.support.documents import inline
from tests.support.hooks import KEYS_TEXT
from tests.support.postgres import URL_VARIABLE, server
from tests.support.receiver import receiving
from tests.support.shell import command
from tests.support.waiting import wait_until

PAGE = "howto/managed-postgresql.md"
TOML = """
[grants]
send = ["shop"]
[[audit.tables]]
name = "customer"
[webhooks]
allow_http = true
allow_cidrs = ["127.0.0.0/8"]
[webhooks.events."order.paid"]
"""


@pytest.fixture
def managed(postgres_choice: str | None) -> Iterator[str]:
    """The conninfo of a server's admin: CREATEROLE and CREATEDB, as providers give it, and nothing else."""
    if os.environ.get(URL_VARIABLE):
        pytest.skip(f"needs a server of its own, and {URL_VARIABLE} names one")
    with server(postgres_choice) as conninfo:
        with psycopg.connect(conninfo) as conn:
            conn.execute("create role master login createrole createdb")
        yield make_conninfo(conninfo, user="master")


def new_shop(managed: str, name: str, folder: Path) -> str:
    """A database of the admin's own with a table, and the configuration for it."""
    folder.joinpath("svc-pg.toml").write_text(TOML, encoding="utf-8")
    with psycopg.connect(managed, autocommit=True) as conn:
        conn.execute(f"create database {name}".encode())
    conninfo = make_conninfo(managed, dbname=name)
    with psycopg.connect(conninfo) as conn:
        conn.execute("create table customer (id int primary key)")
    return conninfo


def test_the_admin_of_a_managed_server_installs_and_sees_who_switches_capture_off(managed: str, tmp_path: Path) -> None:
    without_roles, status = inline(PAGE)[0], "svc-pg status"
    assert (without_roles, status in inline(PAGE)) == ("svc-pg install --no-roles", True)
    with psycopg.connect(managed) as conn:
        conn.execute("create role shop login")  # with SQL, or it would be an admin too
        conn.execute("create role tenant login createdb")
    shop = new_shop(managed, "shop", tmp_path)

    def run(line: str, conninfo: str = shop, code: int = 0) -> str:
        keys = {"SVC_ENCRYPTION_KEYS": KEYS_TEXT}
        return command(line, folder=tmp_path, variables={"DATABASE_URL": conninfo, **keys}, code=code)

    run("svc-pg install")
    run(status)
    with psycopg.connect(shop) as conn:
        conn.execute("grant insert on customer to shop")
        assert scalar(conn, "select array_agg(extname::text) from pg_extension") == ["plpgsql"]
        assert scalar(conn, "select count(*) from pg_event_trigger") == 0
    with (
        receiving() as receiver,
        running("worker", folder=tmp_path, variables={"DATABASE_URL": shop, "SVC_ENCRYPTION_KEYS": KEYS_TEXT}),
    ):
        run(f"svc-pg webhooks add --url {receiver.url} --event 'order.*'")
        with psycopg.connect(make_conninfo(shop, user="shop")) as conn, audit.actor(conn, "mara"):
            conn.execute("insert into customer values (7)")
            webhooks.send(conn, "order.paid", {"id": 7})
        receiver.wait_for(1)
        wait_until(lambda: "delivered" in run("svc-pg webhooks deliveries"), "the result is noted")
    with psycopg.connect(shop) as conn:
        last = audit.last_changes(conn, "public.customer", 7)
        assert [change.actor_id for change in last] == ["mara"]
        conn.execute("alter table customer disable trigger user")
    assert "customer" in run(status, code=3)
    run("svc-pg install --backfill")
    run(status)
    tenant = make_conninfo(managed, user="tenant")
    other = new_shop(tenant, "other", tmp_path)
    run(without_roles, other)
    run(status, other)
    with psycopg.connect(other) as conn:
        conn.execute("insert into customer values (7)")
        assert len(audit.last_changes(conn, "public.customer", 7)) == 1
