from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from svc_pg import Config, audit, schema
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError
from tests.support.postgres import copied
from tests.support.tables import audited, create_and_audit, log

CUSTOMER = "create table customer (id int primary key, email text, secret text, balance numeric(10, 2))"


@pytest.fixture(scope="module")
def shop(maintenance: psycopg.Connection[Any], postgres: str, template: str) -> Iterator[str]:
    """A database with a table whose changes are recorded, in which no test commits."""
    with copied(maintenance, postgres, template=template) as conninfo:
        create_and_audit(conninfo, CUSTOMER, audited("customer", redact=["secret"]))
        yield conninfo


@pytest.fixture
def db(shop: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(shop) as conn:
        yield conn
        conn.rollback()


def test_each_operation_leaves_one_entry_with_its_snapshots(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into customer values (1, 'a@example.com', 's', 1.10)")
    db.execute("update customer set email = 'b@example.com'")
    db.execute("delete from customer")
    db.execute("truncate customer")
    first = {"id": 1, "email": "a@example.com", "balance": 1.10}
    second = first | {"email": "b@example.com"}
    assert [(e["operation"], e["record_id"], e["before_data"], e["after_data"]) for e in log(db)] == [
        ("INSERT", "1", None, first),
        ("UPDATE", "1", first, second),
        ("DELETE", "1", second, None),
        ("TRUNCATE", None, None, None),
    ]


def test_changed_fields_name_what_changed_also_where_the_value_is_redacted(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into customer values (1, 'a', 's', 1)")
    db.execute("update customer set balance = 2, secret = 't'")
    assert log(db)[-1]["changed_fields"] == ["balance", "secret"]


def test_an_update_that_changes_nothing_leaves_no_entry(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into customer values (1, 'a', 's', 1)")
    db.execute("update customer set email = email")
    assert len(log(db)) == 1


def test_a_rolled_back_change_leaves_no_entry(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into customer values (1, 'a', 's', 1)")
    with db.transaction(force_rollback=True):
        db.execute("delete from customer")
    assert [e["operation"] for e in log(db)] == ["INSERT"]


def test_no_redacted_value_is_anywhere_in_the_entry(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into customer values (1, 'a', 'hush-1', 1)")
    db.execute("update customer set secret = 'hush-2'")
    db.execute("delete from customer")
    leaks = db.execute("select count(*) from svc.audit_logs l where l::text like '%hush%'").fetchone()
    assert leaks == (0,)
    assert {tuple(e["redacted_fields"]) for e in log(db)} == {("secret",)}


@pytest.mark.parametrize("change", ["rename column secret to hidden", "drop column secret"])
def test_where_a_redacted_column_is_gone_the_write_goes_on_and_the_snapshot_is_masked(
    db: psycopg.Connection[Any], change: Any
) -> None:
    db.execute("insert into customer values (1, 'a', 'hush', 1)")
    db.execute("alter table customer " + change)
    db.execute("update customer set email = 'b'")
    entry = log(db)[-1]
    assert entry["record_id"] == "1"
    assert set(entry["after_data"].values()) == set(entry["before_data"].values()) == {"[masked]"}


@pytest.mark.parametrize(("redact", "recorded"), [([], "1"), (["secret"], "[masked]")])
def test_columns_that_are_newer_than_the_function_are_recorded_unless_others_are_redacted(
    database: str, redact: list[str], recorded: str
) -> None:
    create_and_audit(database, CUSTOMER, audited("customer", redact=redact))
    with psycopg.connect(database) as conn:
        conn.execute("insert into customer values (1, 'a', 's', 1)")
        conn.execute("alter table customer add column phone text")
        conn.execute("update customer set phone = '1', email = 'b'")
        entry = log(conn)[-1]
    assert entry["after_data"]["phone"] == recorded
    assert entry["changed_fields"] == ["email", "phone"]
    assert entry["redacted_fields"] == ([*redact, "phone"] if redact else None)


def test_a_redacted_column_is_masked_under_a_new_name_also_if_another_takes_the_old_one(
    db: psycopg.Connection[Any],
) -> None:
    db.execute("alter table customer rename column secret to tax")
    db.execute("alter table customer add column secret text")
    db.execute("insert into customer (id, tax, secret) values (1, 'hush-1', 'hush-2')")
    db.execute("update customer set tax = 'hush-3'")
    db.execute("delete from customer")
    assert scalar(db, "select count(*) from svc.audit_logs l where l::text like '%hush%'") == 0
    assert {tuple(entry["redacted_fields"]) for entry in log(db)} == {("secret", "tax")}


def test_renaming_and_dropping_other_columns_does_not_break_writes(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into customer values (1, 'a', 's', 1)")
    db.execute("alter table customer rename column email to mail")
    db.execute("alter table customer drop column balance")
    db.execute("update customer set mail = 'b'")
    assert log(db)[-1]["after_data"] == {"id": 1, "mail": "[masked]"}  # it might be the redacted column's new name


def test_a_value_too_large_for_jsonb_is_recorded_by_its_size(database: str) -> None:
    create_and_audit(database, "create table file (id int primary key, content bytea)", audited("file"))
    with psycopg.connect(database) as conn:
        conn.execute("alter table file alter content set storage external")  # zeros are long to compress
        conn.execute("insert into file values (1, decode(repeat('00', 134217728), 'hex'))")
        [entry] = log(conn)
        assert entry["record_id"] == "1"
        assert entry["after_data"]["content"].keys() == {"unsupported", "bytes", "sha256"}
        assert entry["after_data"]["content"]["bytes"] == 2 * 134_217_728 + len("\\x")


@pytest.mark.parametrize("operation", ["INSERT", "UPDATE", "DELETE"])
def test_a_description_tells_no_redacted_value_under_the_name_of_another_column(database: str, operation: Any) -> None:
    rules = audited("customer", redact=["secret"])
    rules.audit.enrich("customer", operation, label="edited", description="{before[email]} {after[email]}")
    create_and_audit(database, CUSTOMER, rules)
    with psycopg.connect(database) as conn:
        conn.execute("alter table customer drop column email")
        conn.execute("alter table customer rename column secret to email")
        conn.execute("insert into customer values (1, 'hush')")
        conn.execute("update customer set balance = 2")
        conn.execute("delete from customer")
        assert scalar(conn, "select count(*) from svc.audit_logs l where l::text like '%hush%'") == 0
        assert "[masked]" in {word for entry in log(conn) for word in (entry["description"] or "").split()}


COMPUTED = '"shown" is computed from "secret", which is redacted'


@pytest.mark.parametrize(
    ("refused", "options"),
    [
        (pytest.raises(ConfigError, match=COMPUTED), {"redact": ["secret"]}),
        (nullcontext(), {"redact": ["secret", "shown"]}),
        (nullcontext(), {"redact": ["secret"], "columns": ["email"]}),
        (pytest.raises(ConfigError, match=COMPUTED), {"redact": ["secret"], "columns": ["shown"]}),
        (nullcontext(), {"redact": ["email"]}),
    ],
)
def test_a_column_that_is_computed_from_a_redacted_one_must_be_redacted_too(
    database: str, refused: AbstractContextManager[object], options: dict[str, Any]
) -> None:
    rules = Config.model_validate({"audit": {"tables": [{"name": "customer"} | options]}})
    with psycopg.connect(database) as conn:
        conn.execute(CUSTOMER)
        conn.execute("alter table customer add shown text generated always as (left(secret, 2)) stored")
        conn.commit()
        with refused:
            schema.install(conn, rules)


def test_a_composite_key_is_a_json_array_and_a_table_without_key_has_none(database: str) -> None:
    create_and_audit(
        database,
        "create table line (b text, a int, primary key (b, a)); create table note (t text)",
        audited("line", "note"),
    )
    with psycopg.connect(database) as conn:
        conn.execute("insert into line values ('x', 1); insert into note values ('n')")
        assert [e["record_id"] for e in log(conn)] == ['["x", 1]', None]


def test_snapshots_do_not_depend_on_the_session(database: str) -> None:
    create_and_audit(
        database,
        """create table t (id int primary key, at timestamptz, span interval, raw bytea, x float8, m money,
                           during tstzrange)""",
        audited("t"),
    )
    row = "(%s, '2026-03-01 12:00+00', '1 day 2 hours', '\\xff', 0.1::float8 / 3, 12.5, '[2026-03-01 12:00+00,)')"
    with psycopg.connect(database) as conn:
        conn.execute("insert into t values " + row.replace("%s", "1"))
        conn.execute("""
            set "TimeZone" = 'Asia/Tokyo'; set "DateStyle" = 'German'; set "IntervalStyle" = 'postgres_verbose';
            set bytea_output = 'escape'; set extra_float_digits = -15""")
        conn.execute("insert into t values " + row.replace("%s", "2"))
        conn.execute("reset all")
        one, two = (entry["after_data"] for entry in log(conn))
    assert one | {"id": 2} == two


def test_virtual_generated_columns_are_left_out(database: str) -> None:
    with psycopg.connect(database) as conn:
        if conn.info.server_version < 180000:
            pytest.skip("virtual generated columns are new in PostgreSQL 18")
    ddl = "create table t (id int primary key, double int generated always as (id * 2) virtual)"
    create_and_audit(database, ddl, audited("t"))
    with psycopg.connect(database) as conn:
        conn.execute("insert into t values (1)")
        assert log(conn)[0]["after_data"] == {"id": 1}


def test_rows_written_through_a_parent_and_through_a_partition_are_recorded_under_the_parent(database: str) -> None:
    ddl = """
        create table m (id int primary key, n int) partition by range (id);
        create table m_low partition of m for values from (0) to (10);
    """
    create_and_audit(database, ddl, audited("m"))
    with psycopg.connect(database) as conn:
        conn.execute("insert into m values (1, 1); insert into m_low values (2, 2)")
        conn.execute("create table m_high partition of m for values from (10) to (20)")
        conn.execute("update m set id = id + 10 where id = 1")
        assert [(e["table_name"], e["operation"], e["record_id"]) for e in log(conn)] == [
            ("public.m", "INSERT", "1"),
            ("public.m", "INSERT", "2"),
            ("public.m", "DELETE", "1"),
            ("public.m", "INSERT", "11"),
        ]


def test_upserts_copies_and_cascades_are_recorded(database: str) -> None:
    ddl = """
        create table parent (id int primary key);
        create table child (id int primary key, parent_id int references parent on delete cascade, n int);
    """
    create_and_audit(database, ddl, audited("parent", "child"))
    with psycopg.connect(database) as conn:
        with conn.cursor().copy("copy parent from stdin") as copy:
            copy.write("1\n2\n")
        conn.execute("insert into child values (1, 1, 1)")
        conn.execute("insert into child values (1, 1, 2) on conflict (id) do update set n = excluded.n")
        conn.execute("insert into child values (1, 1, 3) on conflict do nothing")
        conn.execute("delete from parent where id = 1")
        assert [(e["table_name"], e["operation"]) for e in log(conn)] == [
            ("public.parent", "INSERT"),
            ("public.parent", "INSERT"),
            ("public.child", "INSERT"),
            ("public.child", "UPDATE"),
            ("public.parent", "DELETE"),
            ("public.child", "DELETE"),
        ]


def test_a_role_without_any_right_on_svc_is_audited_with_its_name(database: str) -> None:
    create_and_audit(database, CUSTOMER, audited("customer"))
    with psycopg.connect(database) as conn:
        conn.execute("create role svc_test_clerk")
        conn.execute("grant insert on customer to svc_test_clerk")
        conn.execute("set local role svc_test_clerk")
        conn.execute("insert into customer values (1)")
        conn.execute("reset role")
        entry = log(conn)[0]
        user = conn.info.user
        conn.rollback()
    assert (entry["db_user"], entry["db_role"]) == (user, "svc_test_clerk")


def test_nobody_can_attach_the_capture_function_to_a_table_of_their_own(database: str) -> None:
    create_and_audit(database, CUSTOMER, audited("customer"))
    with psycopg.connect(database) as conn:
        conn.execute("create role svc_test_forger; create schema theirs authorization svc_test_forger")
        conn.execute("grant usage on schema svc to svc_test_forger")
        conn.execute("set local role svc_test_forger")
        conn.execute("create table theirs.t (id int)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute(
                "create trigger forge after insert on theirs.t"
                " for each row execute function svc.capture_public_customer()"
            )
        conn.rollback()


def test_operators_of_the_session_do_not_run_inside_the_definer_function(db: psycopg.Connection[Any]) -> None:
    db.execute("""
        create schema hostile;
        create function hostile.never(text, text) returns boolean language plpgsql
            as $$ begin raise exception 'hostile code ran'; end $$;
        create operator hostile.= (leftarg = text, rightarg = text, function = hostile.never);
        set local search_path = hostile, pg_catalog, public;
    """)
    db.execute("insert into customer (id, email) values (1, 'a')")
    assert len(log(db)) == 1


def test_the_actor_tenant_and_context_are_recorded_and_end_with_the_block(db: psycopg.Connection[Any]) -> None:
    with audit.actor(db, "alice", tenant="acme", context={"request_id": "r-1"}):
        db.execute("insert into customer (id) values (1)")
        with audit.actor(db, "bob"):
            db.execute("insert into customer (id) values (2)")
        db.execute("insert into customer (id) values (3)")
    db.execute("insert into customer (id) values (4)")
    assert [(e["actor_id"], e["tenant_id"], e["context"]) for e in log(db)] == [
        ("alice", "acme", {"request_id": "r-1"}),
        ("bob", None, {"request_id": "r-1"}),
        ("alice", "acme", {"request_id": "r-1"}),
        (None, None, None),
    ]


def test_any_client_can_set_the_actor_with_plain_sql(db: psycopg.Connection[Any]) -> None:
    db.execute("set local svc.actor_id = 'psql user'")
    db.execute("insert into customer (id) values (1)")
    assert log(db)[0]["actor_id"] == "psql user"


def test_numbers_keep_their_digits(database: str) -> None:
    create_and_audit(database, "create table t (id int primary key, n numeric, j jsonb)", audited("t"))
    with psycopg.connect(database) as conn:
        conn.execute("insert into t values (1, 12345678901234567.10, %s)", (Jsonb({"x": 1}),))
        conn.execute("update t set n = 12345678901234567.1")
        entry = audit.query().resource("t").operation("INSERT").list(conn).data[0]
        assert entry.after_data is not None
        assert '"n": 12345678901234567.10' in entry.after_data.text
        assert str(entry.after_data.value["n"]) == "12345678901234567.10"


def test_reinstalling_keeps_capturing(database: str) -> None:
    create_and_audit(database, CUSTOMER, audited("customer"))
    with psycopg.connect(database) as conn:
        conn.execute("insert into customer (id) values (1)")
        conn.commit()
        schema.install(conn, audited("customer", redact=["email"]))
        conn.execute("insert into customer values (2, 'hush')")
        assert [e["after_data"].get("email", "gone") for e in log(conn)] == [None, "gone"]
