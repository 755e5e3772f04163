import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from svc_pg import Config, schema
from svc_pg.config import Grants
from svc_pg.database.query import scalar
from svc_pg.errors import InstallError
from svc_pg.schema.postgres.installation import CAPTURER, ROLES
from tests.support.commands import svc_pg
from tests.support.postgres import URL_VARIABLE, new_database, server
from tests.support.roles import as_role, execute, new_role
from tests.support.tables import audited, log

OWNERS = """
select array_agg(distinct owner::regrole::text order by owner::regrole::text) from (
    select nspowner as owner from pg_namespace where nspname = 'svc'
    union all select relowner from pg_class where relnamespace = 'svc'::regnamespace
    union all select proowner from pg_proc where pronamespace = 'svc'::regnamespace
    union all select typowner from pg_type where typnamespace = 'svc'::regnamespace
) all_objects
"""


@pytest.fixture(scope="module")
def own_server(postgres_choice: str | None) -> Iterator[str]:
    """A server on which no other test installs, so that the roles come and go as these tests say."""
    if os.environ.get(URL_VARIABLE):
        pytest.skip(f"needs a server of its own, and {URL_VARIABLE} names one")
    with server(postgres_choice) as conninfo:
        yield conninfo


@pytest.fixture
def stack(own_server: str) -> Iterator[ExitStack]:
    """Databases and roles entered here go in the right order at the end, and with them the roles of svc-pg."""
    with ExitStack() as stack:
        yield stack
    with psycopg.connect(own_server) as conn:
        of_tables = scalar(conn, "select array(select rolname::text from pg_roles where rolname ~ %s)", (CAPTURER,))
    for role in (*of_tables, *ROLES):
        execute(own_server, "drop role if exists {}", role)


@pytest.fixture
def bob(own_server: str, stack: ExitStack) -> str:
    """Somebody who may create roles, and is no superuser."""
    return stack.enter_context(new_role(own_server, "login createrole"))


@pytest.fixture
def dbname(own_server: str, stack: ExitStack, bob: str) -> str:
    """A database of bob's with a table."""
    return shop(own_server, stack, bob)


def shop(own_server: str, stack: ExitStack, owner: str) -> str:
    conninfo = stack.enter_context(new_database(own_server))
    execute(own_server, "alter database {} owner to {}", str(conninfo_to_dict(conninfo)["dbname"]), owner)
    execute(conninfo, "grant create on schema public to {}", owner)
    with as_role(conninfo, owner) as conn:
        conn.execute("create table customer (id int primary key, email text)")
    return conninfo


def is_ok(conn: psycopg.Connection[Any], config: Config) -> bool:
    return all(entry.state == "ok" for entry in schema.status(conn, config))


def existing(conninfo: str) -> set[str]:
    with psycopg.connect(conninfo) as conn:
        return set(
            scalar(
                conn,
                "select array(select rolname::text from pg_roles where rolname = any(%s) or rolname ~ %s)",
                ([*ROLES], CAPTURER),
            )
        )


def test_an_installer_who_may_create_roles_needs_no_superuser(dbname: str, bob: str, own_server: str) -> None:
    config = audited("customer", redact=["email"])
    with as_role(dbname, bob) as conn:
        taken = schema.install(conn, config)
        assert {step.identity for step in taken if step.kind == "role"} == set(ROLES)
        assert scalar(conn, OWNERS) == ["svc_owner", bob, "svc_writer"]
        conn.execute("insert into customer values (1, 'hush')")
        assert [entry["db_user"] for entry in log(conn)] == [bob]
        conn.commit()
        assert is_ok(conn, config)
        assert schema.install(conn, config) == []
        config.audit.tables[0].redact.clear()
        assert schema.install(conn, config)
        assert is_ok(conn, config)
        assert existing(own_server) == set(ROLES)
        schema.uninstall(conn, drop_data=True)
        assert scalar(conn, "select to_regnamespace('svc') is null")
    assert existing(own_server) == set()


def test_the_owners_cannot_log_in_and_are_closed_again_where_they_can(dbname: str, bob: str, own_server: str) -> None:
    with as_role(dbname, bob) as conn:
        schema.install(conn, Config())
        with pytest.raises(psycopg.OperationalError, match="not permitted to log in"):
            as_role(dbname, "svc_writer")
        execute(own_server, "alter role svc_owner login")
        differing = [(entry.identity, entry.state) for entry in schema.status(conn, Config()) if entry.state != "ok"]
        assert differing == [("svc_owner", "tampered")]
        schema.install(conn, Config())
        assert is_ok(conn, Config())


def test_without_the_right_to_create_roles_the_error_names_them_and_the_way_out(
    own_server: str, stack: ExitStack
) -> None:
    alice = stack.enter_context(new_role(own_server))
    database = shop(own_server, stack, alice)
    with as_role(database, alice) as conn:
        with pytest.raises(
            InstallError, match="svc_owner, svc_writer, svc_capture, svc_sender, svc_reader, svc_admin"
        ) as caught:
            schema.install(conn, Config())
        assert caught.value.hint is not None
        assert "create role svc_owner nologin;" in caught.value.hint
        assert f'grant svc_owner, svc_writer to "{alice}"' in caught.value.hint
        assert "--no-roles" in caught.value.hint
        assert scalar(conn, "select to_regnamespace('svc') is null")
    assert existing(own_server) == set()


def test_without_roles_everything_is_the_installers_now_and_later(own_server: str, stack: ExitStack) -> None:
    alice = stack.enter_context(new_role(own_server))
    app = stack.enter_context(new_role(own_server))
    database = shop(own_server, stack, alice)
    config = audited("customer").model_copy(update={"grants": Grants(send=[app])})
    config.webhooks.event("order.created")
    with as_role(database, alice) as conn:
        schema.install(conn, config, roles=False)
        assert scalar(conn, OWNERS) == [alice]
        conn.execute("insert into customer values (1)")
        assert len(log(conn)) == 1
        conn.commit()
        assert is_ok(conn, config)
        assert schema.install(conn, config) == []
        config.audit.tables[0].redact["email"] = "remove"
        schema.install(conn, config)
        assert scalar(conn, OWNERS) == [alice]
    assert existing(own_server) == set()
    with as_role(database, app) as conn:
        conn.execute("select svc.send('order.created', '{}')")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("select * from svc.audit_logs")


def test_without_roles_a_superusers_table_still_has_one_for_its_triggers(own_server: str, stack: ExitStack) -> None:
    database = stack.enter_context(new_database(own_server))
    with psycopg.connect(database) as conn:
        conn.execute("create table customer (id int primary key)")
        conn.commit()
        schema.install(conn, audited("customer"), roles=False)
        [owner] = set(scalar(conn, OWNERS)) - {"postgres"}
        assert re.fullmatch("svc_capture_public_customer_[0-9a-f]{8}", owner)
        conn.commit()
        assert is_ok(conn, audited("customer"))
        assert existing(own_server) == {"svc_capture", owner}
        schema.uninstall(conn, drop_data=True)
    assert existing(own_server) == set()


def test_a_database_can_be_given_to_the_roles_and_taken_back(dbname: str, bob: str, own_server: str) -> None:
    config = audited("customer")
    with as_role(dbname, bob) as conn:
        schema.install(conn, config, roles=False)
        planned = [step.identity for step in schema.plan(conn, config, roles=True)]
        assert [step.identity for step in schema.install(conn, config, roles=True)] == planned
        assert scalar(conn, OWNERS) == ["svc_owner", bob, "svc_writer"]
        conn.commit()
        assert is_ok(conn, config)
        schema.install(conn, config, roles=False)
        assert scalar(conn, OWNERS) == [bob]
        conn.commit()
        assert is_ok(conn, config)
    for role in ROLES:
        execute(own_server, "drop role {}", role)  # nothing depends on them any more


def test_a_second_database_shares_the_roles(dbname: str, bob: str, own_server: str, stack: ExitStack) -> None:
    other = shop(own_server, stack, bob)
    with as_role(dbname, bob) as one, as_role(other, bob) as two:
        schema.install(one, audited("customer"))
        taken = schema.install(two, audited("customer"))
        assert not [step for step in taken if step.kind == "role"]
        assert is_ok(two, audited("customer"))


def test_an_installer_who_is_not_the_owners_member_becomes_one_or_is_told_how(
    dbname: str, bob: str, own_server: str, stack: ExitStack
) -> None:
    with as_role(dbname, bob) as conn:
        schema.install(conn, Config())
    carol = stack.enter_context(new_role(own_server, "login createrole"))
    other = shop(own_server, stack, carol)
    with as_role(other, carol) as conn:
        if conn.info.server_version >= 160000:
            with pytest.raises(InstallError, match="cannot act as svc_owner and svc_writer") as caught:
                schema.install(conn, Config())
            assert caught.value.hint is not None
            _, _, statement = caught.value.hint.partition(": ")
            execute(own_server, statement)
        schema.install(conn, Config())
        assert is_ok(conn, Config())


def test_who_cannot_act_as_the_schemas_owner_is_told_which_grant_is_missing(
    dbname: str, bob: str, own_server: str, stack: ExitStack
) -> None:
    alice = stack.enter_context(new_role(own_server))
    with as_role(dbname, bob) as conn:
        schema.install(conn, Config())
    with as_role(dbname, alice) as conn, pytest.raises(InstallError, match=r"cannot act as svc_owner.*") as caught:
        schema.install(conn, Config())
    assert caught.value.hint is not None
    assert f'grant svc_owner, svc_writer to "{alice}"' in caught.value.hint
    with as_role(dbname, bob) as conn:
        schema.install(conn, Config(), roles=False)
    with as_role(dbname, alice) as conn, pytest.raises(InstallError, match=f'schema svc belongs to role "{bob}"'):
        schema.install(conn, Config())


def test_who_cannot_create_a_schema_is_told_which_grant_is_missing(own_server: str, stack: ExitStack) -> None:
    alice = stack.enter_context(new_role(own_server, "login createrole"))
    database = stack.enter_context(new_database(own_server))
    with as_role(database, alice) as conn, pytest.raises(InstallError, match="cannot create a schema") as caught:
        schema.install(conn, Config())
    assert caught.value.hint is not None
    _, _, statement = caught.value.hint.partition(": ")
    execute(database, statement)
    with as_role(database, alice) as conn:
        schema.install(conn, Config())


def test_databases_that_are_installed_at_once_make_the_roles_together(own_server: str, stack: ExitStack) -> None:
    databases = [stack.enter_context(new_database(own_server)) for _ in range(4)]

    def install(database: str) -> bool:
        with psycopg.connect(database) as conn:
            schema.install(conn, Config())
            return is_ok(conn, Config())

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(install, databases))


def test_uninstall_drops_the_roles_with_the_data_of_the_last_database(own_server: str, stack: ExitStack) -> None:
    databases = [stack.enter_context(new_database(own_server)) for _ in range(2)]
    for database in databases:
        with psycopg.connect(database) as conn:
            schema.install(conn, Config())
    with psycopg.connect(databases[0]) as conn:
        schema.uninstall(conn)
        assert existing(own_server) == set(ROLES)
        schema.uninstall(conn, drop_data=True)
    assert existing(own_server) == set(ROLES)
    with psycopg.connect(databases[1]) as conn:
        dropped = schema.uninstall(conn, drop_data=True)
    assert {step.identity for step in dropped if step.kind == "role"} == set(ROLES)
    assert existing(own_server) == set()


def test_the_command_line_installs_without_roles(own_server: str, stack: ExitStack, tmp_path: Path) -> None:
    alice = stack.enter_context(new_role(own_server))
    variables = {"DATABASE_URL": make_conninfo(shop(own_server, stack, alice), user=alice)}
    refused = svc_pg("install", folder=tmp_path, variables=variables)
    assert refused.returncode == 1
    assert "--no-roles" in refused.stderr
    for arguments in (["install", "--no-roles"], ["install"], ["status"]):
        assert svc_pg(*arguments, folder=tmp_path, variables=variables).returncode == 0
    assert existing(own_server) == set()


@pytest.mark.parametrize("power", ["superuser", "createrole", "bypassrls", "login"])
def test_an_owner_with_powers_of_its_own_is_tampered_and_loses_them(
    own_server: str, stack: ExitStack, power: str
) -> None:
    dbname = stack.enter_context(new_database(own_server))
    with psycopg.connect(dbname, autocommit=True) as conn:
        schema.install(conn, Config())
        conn.execute(f"alter role svc_writer {power}".encode())
        [entry] = [entry for entry in schema.status(conn, Config()) if entry.state != "ok"]
        assert (entry.kind, entry.identity, entry.state) == ("role", "svc_writer", "tampered")
        assert [step.identity for step in schema.install(conn, Config())] == ["svc_writer"]
        assert is_ok(conn, Config())


def test_an_application_that_became_a_member_of_an_owner_is_named_and_kept(own_server: str, stack: ExitStack) -> None:
    app = stack.enter_context(new_role(own_server))
    dbname = stack.enter_context(new_database(own_server))
    with psycopg.connect(dbname, autocommit=True) as conn:
        schema.install(conn, Config())
        execute(own_server, "grant svc_writer to {}", app)
        [entry] = [entry for entry in schema.status(conn, Config()) if entry.state != "ok"]
        assert (entry.kind, entry.identity) == ("role", f"{app} as a member of svc_writer")
        assert schema.install(conn, Config()) == []  # it may be who installs elsewhere in the cluster
        conn.execute(entry.sql.encode())
        assert is_ok(conn, Config())


def test_those_who_install_are_members_of_the_owners_and_nothing_to_name(dbname: str, bob: str) -> None:
    with as_role(dbname, bob) as conn:
        schema.install(conn, Config())
    with psycopg.connect(dbname) as conn:
        assert is_ok(conn, Config())
