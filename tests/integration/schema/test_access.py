from collections.abc import Iterator
from typing import Any, LiteralString

import psycopg
import pytest

from svc_pg import Config, audit, schema, webhooks
from svc_pg.config import Grants
from svc_pg.database.query import fetch, scalar
from svc_pg.errors import AccessError, ConfigError
from svc_pg.schema.postgres import access
from svc_pg.webhooks.deliveries import delivery_queries as deliveries
from svc_pg.webhooks.endpoints import endpoint_queries as endpoints
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.worker.worker import Worker
from tests.support.hooks import KEYS, endpoint, hooks_config, install, rows, working
from tests.support.postgres import Prepare, new_database
from tests.support.receiver import receiving
from tests.support.roles import as_role, new_role
from tests.support.tables import audited, create_and_audit
from tests.support.waiting import wait_until

SEND = "select svc.send('order.created', '{}')"
READ: list[LiteralString] = [
    "select * from svc.audit_logs",
    "select * from svc.webhook_event_types",
    "select * from svc.webhook_messages",
    "select * from svc.webhook_deliveries",
    "select * from svc.webhook_delivery_attempts",
    "select svc.uuid7_at(now())",
    "select svc.webhook_existing_delivery(id) from svc.webhook_deliveries",
    "select * from svc.webhook_endpoint_state",
    "select id, url, description, tenant, events, status, created_at from svc.webhook_endpoints",
]
SEALED: list[LiteralString] = [
    "select secret from svc.webhook_endpoints",
    "select previous_secret from svc.webhook_endpoints",
    "select headers from svc.webhook_endpoints",
    "select * from svc.webhook_endpoints",
]
ADMINISTER: list[LiteralString] = [
    *SEALED,
    "select * from svc.webhook_claim('w', 10)",
    "select svc.webhook_next_due()",
    "select svc.webhook_acknowledge('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')",
    "select svc.audit_ensure_partitions(12)",
    "update svc.webhook_endpoints set status = 'paused'",
    "update svc.webhook_deliveries set updated_at = now()",
    "delete from svc.webhook_messages",
    "select version from svc.installation",
]
NOBODY: list[LiteralString] = [
    "insert into svc.audit_logs (table_name, table_oid, operation) values ('t', 0, 'INSERT')",
    "update svc.audit_logs set actor_id = 'me'",
    "delete from svc.audit_logs",
    "truncate svc.audit_logs",
    "truncate svc.audit_logs_default",
    "alter table svc.audit_logs disable trigger all",
    "drop table svc.webhook_messages",
    "create table svc.mine (id int)",
    "create function svc.mine() returns int language sql as 'select 1'",
    "update svc.installation set version = '0'",
    "select * from svc.audit_hash_key",
    "set role svc_owner",
    "set role svc_writer",
]


@pytest.fixture
def role(postgres: str) -> Iterator[str]:
    with new_role(postgres) as name:
        yield name


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, hooks_config("order.created"))


@pytest.fixture
def db(role: str, database: str) -> str:  # noqa: ARG001 - outlives the database
    """A database of the test's own, that is dropped before the role."""
    return database


def differing(conn: psycopg.Connection[Any], config: Config) -> dict[str, str]:
    return {entry.identity: entry.state for entry in schema.status(conn, config) if entry.state != "ok"}


def allowed(conninfo: str, role: str, statements: list[LiteralString]) -> list[str]:
    """The statements that the role may execute."""
    found: list[str] = []
    with as_role(conninfo, role) as conn:
        for statement in statements:
            try:
                conn.execute(statement)
            except psycopg.errors.InsufficientPrivilege:
                pass
            else:
                found.append(statement)
            conn.rollback()
    return found


@pytest.mark.parametrize("way", ["membership", "grants"])
@pytest.mark.parametrize(
    ("right", "may"),
    [("send", [SEND]), ("read", READ), ("admin", [SEND, *READ, *ADMINISTER])],
)
def test_a_role_may_do_what_it_was_given_and_nothing_else(
    db: str, role: str, right: str, may: list[LiteralString], way: str
) -> None:
    config = hooks_config("order.created")
    with psycopg.connect(db) as conn:
        if way == "membership":
            group = {"send": "svc_sender", "read": "svc_reader", "admin": "svc_admin"}[right]
            conn.execute(psycopg.sql.SQL("grant {} to {}").format(*map(psycopg.sql.Identifier, (group, role))))
            conn.commit()
        else:
            config.grants = Grants.model_validate({right: [role]})
            schema.install(conn, config)
        assert differing(conn, config) == {}
    assert allowed(db, role, [SEND, *READ, *ADMINISTER, *NOBODY]) == may


def test_a_role_without_any_grant_may_do_nothing(db: str, role: str) -> None:
    assert allowed(db, role, [SEND, *READ, *ADMINISTER, *NOBODY]) == []


def test_a_role_that_is_not_named_any_more_loses_its_rights(db: str, role: str) -> None:
    config = hooks_config("order.created")
    given = config.model_copy(update={"grants": Grants(send=[role], read=[role])})
    with psycopg.connect(db) as conn:
        assert set(differing(conn, given).values()) == {"outdated"}
        schema.install(conn, given)
        assert schema.install(conn, given) == []
        schema.install(conn, config)
        assert differing(conn, config) == {}
    assert allowed(db, role, [SEND, *READ]) == []


@pytest.mark.parametrize(
    ("right", "may"),
    [(None, []), ("send", [SEND]), ("read", READ), ("admin", [SEND, *READ, *ADMINISTER])],
)
def test_a_role_may_do_the_same_in_a_database_with_webhooks_alone(
    postgres: str, right: str | None, may: list[LiteralString]
) -> None:
    with new_role(postgres) as role, new_database(postgres) as alone, psycopg.connect(alone) as conn:
        config = only_webhooks()
        if right is not None:
            config.grants = Grants.model_validate({right: [role]})
        schema.install(conn, config)
        assert differing(conn, config) == {}
        assert allowed(alone, role, [SEND, *READ, *ADMINISTER, *NOBODY]) == may
        # those of the audit trail have tables in each database, and nothing that reads or writes them but the owner
        of_trail = [
            "select * from svc.audit_holds",
            "delete from svc.audit_seals",
            "insert into svc.audit_holds default values",
        ]
        assert [each for each in allowed(alone, role, of_trail) if not each.startswith("select")] == []


def only_webhooks() -> Config:
    return hooks_config("order.created").model_copy(update={"products": ["webhooks"]})


RIGHTS: LiteralString = """
select o.name, coalesce(r.rolname::text, 'public'), x.privilege_type, x.is_grantable
  from (
    select n.nspname::text as name, n.nspacl as acl, n.nspowner as owner from pg_namespace n where n.nspname = 'svc'
    union all
    select c.oid::regclass::text, c.relacl, c.relowner from pg_class c where c.relnamespace = 'svc'::regnamespace
    union all
    select c.oid::regclass || '.' || a.attname, a.attacl, c.relowner
      from pg_class c join pg_attribute a on a.attrelid = c.oid where c.relnamespace = 'svc'::regnamespace
    union all
    select p.oid::regprocedure::text, coalesce(p.proacl, acldefault('f', p.proowner)), p.proowner
      from pg_proc p where p.pronamespace = 'svc'::regnamespace
  ) o(name, acl, owner)
 cross join lateral aclexplode(o.acl) x left join pg_roles r on r.oid = x.grantee
 where x.grantee <> o.owner
"""


def test_no_role_has_a_right_in_a_database_with_webhooks_alone_that_it_lacks_in_others(
    postgres: str, database: str
) -> None:
    with new_database(postgres) as alone, psycopg.connect(alone) as less, psycopg.connect(database) as whole:
        schema.install(less, only_webhooks())
        rights, rights_of_all = (set(conn.execute(RIGHTS).fetchall()) for conn in (less, whole))
    assert rights - rights_of_all == set()
    roles = {role for _, role, *_ in rights}
    assert {"svc_reader", "svc_sender", "svc_admin"} <= roles
    assert "public" not in roles


def test_who_captured_with_a_hash_loses_that_right_with_the_last_hash(database: str) -> None:
    hashed, masked = hooks_config("order.created"), hooks_config("order.created")
    hashed.audit.table("t", redact={"a": "hash"})
    masked.audit.table("t", redact={"a": "mask"})
    create_and_audit(database, "create table t (id int primary key, a text)", hashed)
    with psycopg.connect(database) as conn:
        schema.install(conn, masked)
        assert differing(conn, masked) == {}


def test_an_unknown_role_is_named_with_the_nearest(db: str, role: str) -> None:
    with psycopg.connect(db) as conn, pytest.raises(ConfigError, match=f'grants.read: role "{role}x" does') as caught:
        schema.install(conn, Config(grants=Grants(read=[f"{role}x"])))
    assert caught.value.hint == f'Did you mean "{role}"?'


CHANGES: dict[str, list[LiteralString]] = {
    "table svc.audit_logs": [
        "grant select on svc.audit_logs to {}",
        "grant select on svc.audit_logs to svc_reader with grant option",
        "revoke select on svc.audit_logs from svc_reader",
        "revoke insert on svc.audit_logs from svc_writer",
    ],
    "table svc.audit_logs_default": ["grant select on svc.audit_logs_default to {}"],
    "table svc.webhook_endpoints": [
        "grant select (secret) on svc.webhook_endpoints to {}",
        "grant select on svc.webhook_endpoints to svc_reader",
    ],
    "table svc.webhook_messages": [
        "revoke insert on svc.webhook_messages from svc_owner",
        "alter table svc.webhook_messages owner to {}",
    ],
    "schema svc": [
        "grant create on schema svc to {}",
        "grant usage on schema svc to public",
        "alter schema svc owner to {}",
    ],
    "type svc.audit_operation": ["grant usage on type svc.audit_operation to public"],
    "sequence svc.audit_logs_id_seq": ["grant usage on sequence svc.audit_logs_id_seq to {}"],
    "function svc.webhook_protocol()": ["grant execute on function svc.webhook_protocol() to public"],
    "function svc.webhook_notify()": ["alter function svc.webhook_notify() owner to {}"],
    "function svc.capture_public_t()": [
        "grant execute on function svc.capture_public_t() to {}",
        "alter function svc.capture_public_t() owner to postgres",
    ],
}
"""Changes of the owner or privileges of each object."""


@pytest.mark.parametrize("number", range(max(map(len, CHANGES.values()))))
def test_a_changed_owner_or_privilege_is_tampered_and_install_puts_it_back(db: str, role: str, number: int) -> None:
    """The first change of every object, then the second of those that have one, and so on."""
    config = audited("t")
    config.webhooks = hooks_config("order.created").webhooks
    create_and_audit(db, "create table t (id int primary key)", config)
    changes = {identity: each[number] for identity, each in CHANGES.items() if number < len(each)}
    with psycopg.connect(db) as conn:
        for change in changes.values():
            conn.execute(psycopg.sql.SQL(change).format(psycopg.sql.Identifier(role)))
        conn.commit()
        found = {name: state for name, state in differing(conn, config).items() if not name.startswith("superuser ")}
        assert found == dict.fromkeys(changes, "tampered")
        assert schema.install(conn, config)
        assert differing(conn, config) == {}
        assert schema.install(conn, config) == []


def test_rights_that_a_privileged_role_passed_on_are_taken_back_too(db: str, role: str) -> None:
    with psycopg.connect(db) as conn:
        identifier = psycopg.sql.Identifier(role)
        conn.execute(psycopg.sql.SQL("grant usage on schema svc to {}").format(identifier))
        conn.execute(psycopg.sql.SQL("grant select on svc.audit_logs to {} with grant option").format(identifier))
        conn.execute(psycopg.sql.SQL("set local role {}").format(identifier))
        conn.execute("grant select on svc.audit_logs to public")
        conn.execute("reset role")
        conn.commit()
        schema.install(conn, hooks_config("order.created"))
        assert differing(conn, hooks_config("order.created")) == {}


@pytest.mark.parametrize("caller", ["postgres", "svc_admin"])
def test_a_partition_that_is_made_later_belongs_to_the_owner_and_is_open_to_nobody(
    db: str, role: str, caller: str
) -> None:
    identifier = psycopg.sql.Identifier(role)
    with psycopg.connect(db) as conn:
        for giver in ("postgres", "svc_owner", "svc_admin"):
            conn.execute(
                psycopg.sql.SQL("alter default privileges for role {} grant all on tables to {}, public").format(
                    psycopg.sql.Identifier(giver), identifier
                )
            )
        conn.execute(psycopg.sql.SQL("set local role {}").format(psycopg.sql.Identifier(caller)))
        made = scalar(conn, "select svc.audit_ensure_partitions(6)")
        conn.execute("reset role")
        conn.commit()
        assert len(made) == 3
        assert differing(conn, hooks_config("order.created")) == {}
    assert allowed(db, role, [f"select * from svc.{made[0]}"]) == []


def test_a_worker_and_an_administrator_need_no_more_than_svc_admin(db: str, role: str) -> None:
    config = hooks_config("order.created").model_copy(update={"grants": Grants(admin=[role])})
    with psycopg.connect(db) as conn:
        schema.install(conn, config)
    admin = psycopg.conninfo.make_conninfo(db, user=role)
    with receiving() as receiver:
        with psycopg.connect(admin) as conn:
            audit.capture_log(conn, "begun", "INSERT")  # the newest number is that of the sequence
            conn.commit()
            assert differing(conn, config) == {}
            fetch(conn, endpoints.create(url=receiver.url, events=["*"], keys=KEYS, guard=Guard.of(config.webhooks)))
            webhooks.send(conn, "order.created", {"id": 7})
        with working(admin, config) as worker:
            assert isinstance(worker, Worker)
            receiver.wait_for(1)
            wait_until(lambda: [row["status"] for row in rows(admin, "webhook_deliveries")] == ["delivered"])


@pytest.mark.parametrize("grants", [Grants(), Grants(send=["{}"]), Grants(read=["{}"])])
def test_who_may_not_compare_the_database_is_told_the_role_for_it(db: str, role: str, grants: Grants) -> None:
    given = Grants(**{right: [name.format(role) for name in names] for right, names in grants})
    config = hooks_config("order.created").model_copy(update={"grants": given})
    with psycopg.connect(db) as conn:
        schema.install(conn, config)
    with as_role(db, role) as conn:
        for look in (schema.status, schema.plan):
            with pytest.raises(AccessError, match=f'role "{role}" may not read what is installed') as refused:
                look(conn, config)
            assert "Name the role in admin below [grants]" in str(refused.value.hint)


def test_a_reader_reads_with_the_library(db: str, role: str) -> None:
    config = hooks_config("order.created").model_copy(update={"grants": Grants(read=[role])})
    endpoint(db, config, "http://127.0.0.1:9/", events=["*"])
    with psycopg.connect(db) as conn:
        webhooks.send(conn, "order.created", {"id": 7})
    with as_role(db, role) as conn:
        assert [entry.table_name for entry in audit.query().list(conn).data] == ["svc.webhook_endpoints"]
        assert len(deliveries.query().list(conn).data) == 1


def test_the_script_of_access_does_what_an_install_does(empty_database: str) -> None:
    with psycopg.connect(empty_database) as conn:
        schema.install(conn, Config())
        schema.install(conn, Config(), roles=False)
        conn.execute("grant all on all tables in schema svc to public")
        conn.commit()  # or a VACUUM of a table, which waits for who has granted on it, would keep its lock meanwhile
        with_roles = access.Access(has_roles=True, grants=Grants())
        conn.execute(access.access_sql(with_roles).encode())
        assert access.compare(conn, with_roles) == []
