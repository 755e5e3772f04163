"""Rules and their tables as they change: drift, status, rights, removal."""

from typing import Any, LiteralString

import psycopg
import pytest

from svc_pg import schema
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError, RemovalRefusedError, UnknownTableError
from svc_pg.schema.postgres.sql_script import script
from tests.support.change_events import ORDERS, config, install, sent, states
from tests.support.tables import log


def test_columns_may_come_go_and_change_between_statements_of_one_session(db: psycopg.Connection[Any]) -> None:
    install(db, config({"payload": "row"}, {"event": "status", "columns": ["status"], "when": "after.status <> ''"}))
    db.execute("insert into orders values (1, 'new')")
    db.execute("alter table orders drop column note")
    db.execute("update orders set status = 'paid'")
    db.execute("alter table orders rename column shop to place")
    db.execute("alter table orders add column note int")
    db.execute("alter table orders alter column status type varchar(9)")
    db.execute("update orders set status = 'sent', place = 'x', note = 2")
    assert [event for event, _ in sent(db)] == ["order.changed"] * 3 + ["status"] * 3


def test_after_a_named_column_is_renamed_writes_fail_until_the_rules_know_it(db: psycopg.Connection[Any]) -> None:
    wanted = install(db, config({"columns": ["status"], "payload": ["status"]}))
    db.execute("alter table orders rename column status to state")
    db.commit()
    with pytest.raises(psycopg.errors.UndefinedColumn, match="status"):
        db.execute("insert into orders values (1)")
    db.rollback()
    with pytest.raises(ConfigError, match=r'columns names "status", and there is no such column'):
        schema.status(db, wanted)
    schema.install(db, config({"columns": ["state"], "payload": ["state"]}))
    db.execute("insert into orders values (1, 'new')")
    assert sent(db) == [("order.changed", {"state": "new"})]


WRITER: LiteralString = """
create role {role};
grant usage on schema public to {role};
grant insert, update, delete, select on orders to {role};
"""


def test_a_role_that_may_only_write_to_the_table_sends_and_can_forge_nothing(db: psycopg.Connection[Any]) -> None:
    install(db, config({"when": "after.id > 0", "payload": "row"}))
    role = psycopg.sql.Identifier(f"change_events_{db.info.dbname}")
    db.execute(psycopg.sql.SQL(WRITER).format(role=role))
    db.execute(psycopg.sql.SQL("set role {}").format(role))
    db.execute("insert into orders values (1, 'new')")
    with pytest.raises(psycopg.errors.InsufficientPrivilege), db.transaction():
        db.execute("""
            create temp table mine (id int, status text, note json, shop text);
            create trigger forged after insert on mine referencing new table as new_rows
               for each statement execute function svc.change_events_public_orders()
        """)
    db.execute("reset role")
    assert len(sent(db)) == 1
    owner = scalar(db, "select pg_get_userbyid(proowner) from pg_proc where proname = 'change_events_public_orders'")
    assert owner.startswith("svc_capture_public_orders_")  # the table is a superuser's
    db.rollback()  # the role with it


def test_capture_and_events_of_one_table_go_together_and_apart(db: psycopg.Connection[Any]) -> None:
    both = install(db, config({}, tables=[{"name": "orders"}]))
    db.execute("insert into orders values (1)")
    assert (len(log(db)), len(sent(db))) == (1, 1)
    order = scalar(
        db, "select array_agg(tgname::text order by tgname) from pg_trigger where tgrelid = 'orders'::regclass"
    )
    assert [name.split("_")[2] for name in order] == ["audit"] * 3 + ["change"] * 3
    db.commit()
    assert states(db, both) == {}
    for rest, gone in (
        (config({}), r"public\.orders"),
        (config(tables=[{"name": "orders"}]), r"events of public\.orders"),
    ):
        with pytest.raises(RemovalRefusedError, match=f"does not name what is installed: .*{gone}"):
            schema.install(db, rest)
    schema.install(db, config(tables=[{"name": "orders"}]), prune=True)
    db.execute("insert into orders values (2)")
    assert (len(log(db)), len(sent(db))) == (2, 0)
    db.commit()
    schema.install(db, both)
    schema.install(db, config({}), prune=True)
    db.execute("insert into orders values (3)")
    assert (len(log(db)), len(sent(db))) == (2, 1)


def test_status_tells_what_somebody_changed_and_install_puts_it_back(db: psycopg.Connection[Any]) -> None:
    wanted = install(db, config({}))
    db.execute("alter function svc.change_events_public_orders() reset search_path")
    db.execute('alter table orders disable trigger "00_svc_change_events_insert"')
    db.execute('drop trigger "00_svc_change_events_delete" on orders')
    db.commit()
    assert states(db, wanted) == {
        "svc.change_events_public_orders": "tampered",
        "00_svc_change_events_insert on public.orders": "disabled",
        "00_svc_change_events_delete on public.orders": "missing",
    }
    assert len(schema.install(db, wanted)) == 3
    assert states(db, wanted) == {}
    changed = config({"payload": ["status"]})
    assert states(db, changed) == {"svc.change_events_public_orders": "outdated"}
    fewer = config({"operation": "UPDATE"})
    schema.install(db, fewer)
    assert states(db, fewer) == {}


def test_a_dropped_table_is_refused_while_a_rule_names_it_and_its_event_is_pruned(db: psycopg.Connection[Any]) -> None:
    wanted = install(db, config({}))
    db.execute("drop table orders")
    db.commit()
    with pytest.raises(UnknownTableError, match=r'table "public\.orders" does not exist'):
        schema.install(db, wanted)
    rest = config()
    with pytest.raises(RemovalRefusedError, match=r"does not name what is installed: event order\.changed\n"):
        schema.install(db, rest)
    schema.install(db, rest, prune=True)
    assert states(db, rest) == {}
    assert scalar(db, "select count(*) from svc.installed_objects where identity like '%change_events%'") == 0


def test_uninstall_takes_the_triggers_and_leaves_the_messages(db: psycopg.Connection[Any]) -> None:
    install(db, config({}))
    db.execute("insert into orders values (1)")
    db.commit()
    schema.uninstall(db)
    db.execute("insert into orders values (2)")
    assert scalar(db, "select count(*) from pg_trigger where tgname like '00_svc%'") == 0
    assert sent(db) == [("order.changed", {"id": 1})]


def test_a_script_installs_the_rules_and_takes_them_away(db: psycopg.Connection[Any]) -> None:
    db.execute(ORDERS)
    db.commit()
    wanted = config({"when": "after.status like '%' -- ; $$"})
    made = script(db, wanted)
    assert made is not None
    assert made.tables == ["public.orders"]
    db.execute(made.upgrade.encode())
    db.commit()
    assert states(db, wanted) == {}
    db.execute("insert into orders values (1, 'new')")
    assert len(sent(db)) == 1
    db.commit()
    db.execute(made.downgrade.encode())
    db.execute("insert into orders values (2, 'new')")
    assert sent(db) == []
