"""The command ask: who changed a record, when and what, and who was told of it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from svc_pg import audit, schema, webhooks
from svc_pg.database.query import scalar
from svc_pg.webhooks import deliveries
from tests.support.commands import svc_pg
from tests.support.hooks import endpoint, hooks_config, working
from tests.support.postgres import Prepare
from tests.support.receiver import receiving
from tests.support.roles import new_role
from tests.support.tables import audited, create_and_audit
from tests.support.waiting import wait_until

Run = Callable[..., Any]

CONFIG = hooks_config("order.created", "order.paid").model_copy(
    update={"audit": audited("orders", "order_items", "sales.customer", "shop.customer").audit}
)


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    """Order 17 is created and paid, with a message each; customers have the same keys in two schemas."""

    def prepare(conninfo: str) -> None:
        ddl: LiteralString = """
            create schema sales;
            create schema shop;
            create table orders (id int primary key, status text, card text);
            create table order_items (id int primary key);
            create table sales.customer (id int primary key);
            create table shop.customer (id int primary key)
        """
        create_and_audit(conninfo, ddl, CONFIG)
        with psycopg.connect(conninfo) as conn, audit.actor(conn, "alice"):
            conn.execute("insert into orders values (17, 'new', '1234')")
            webhooks.send(conn, "order.created", {"id": 17})
            conn.execute("insert into order_items values (5)")
            conn.execute("insert into sales.customer values (1), (2)")
            conn.execute("insert into shop.customer values (1)")

    return prepare


@pytest.fixture
def run(database: str, tmp_path: Path) -> Run:
    return lambda *arguments: svc_pg(*arguments, folder=tmp_path, variables={"DATABASE_URL": database})


def without_times(text: str) -> list[str]:
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", "TIME", text)
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", text).splitlines()


def test_changes_and_what_became_of_their_messages_are_one_answer(run: Run, database: str) -> None:
    with receiving() as good, receiving(lambda _: 500) as bad, psycopg.connect(database) as conn:
        endpoint(database, CONFIG, good.url, events=["order.paid"], description="the shop\x1b[2J")
        endpoint(database, CONFIG, bad.url, events=["order.paid"])
        with audit.actor(conn, "bob"):
            conn.execute("update orders set status = 'paid' where id = 17")
            webhooks.send(conn, "order.paid", {"id": 17})
        conn.commit()
        with working(database, CONFIG):
            wait_until(lambda: deliveries.count(conn, status="pending").count == 0, "all are delivered or failed")
        done = run("ask", "order 17")
        assert done.stderr == ""
        error = "the endpoint answered 500"
        head, paid, *sent, created, nobody = without_times(done.stdout)
        assert head == "public.orders 17"
        assert re.fullmatch(r'TIME  bob  UPDATE    status: "new" -> "paid"  \[entry \d+\]', paid)
        assert sorted(sent) == sorted(
            [
                "    sent order.paid to the shop\\u001b[2J, delivered TIME, 1/5 attempts  [delivery ID]",
                f"    sent order.paid to {bad.url}, failed TIME, 5/5 attempts: {error}  [delivery ID]",
            ]
        )
        assert created.startswith('TIME  alice  INSERT    card: "1234", id: 17, status: "new"  [entry ')
        assert nobody == "    sent order.created, no delivery on record"
    answer = json.loads(run("ask", "--json", "orders/17").stdout)
    assert (answer["table"], answer["recordId"], answer["nextCursor"]) == ("public.orders", "17", None)
    assert [(each["operation"], each["actorId"]) for each in answer["changes"]] == [
        ("UPDATE", "bob"),
        ("INSERT", "alice"),
    ]
    assert [each["xactId"] for each in answer["sent"]] == [each["xactId"] for each in answer["changes"]]
    messages = [each for sent in answer["sent"] for each in sent["messages"]]
    states = {each["message"]["eventName"]: [one["status"] for one in each["deliveries"]] for each in messages}
    assert {name: sorted(each) for name, each in states.items()} == {
        "order.paid": ["delivered", "failed"],
        "order.created": [],
    }


def test_what_is_pending_says_so_and_a_long_past_goes_on_after_a_cursor(run: Run, database: str) -> None:
    endpoint(database, CONFIG, "http://127.0.0.1:9/hook", events=["order.paid"])
    with psycopg.connect(database) as conn:
        for status in ("paid", "sent"):
            conn.execute("update orders set status = %s where id = 17", (status,))
            webhooks.send(conn, "order.paid", {})
            conn.commit()
    done = run("ask", "order", "17", "--limit", "2")
    lines = without_times(done.stdout)
    pending = "    sent order.paid to http://127.0.0.1:9/hook, pending, due TIME, 0/5 attempts  [delivery ID]"
    assert lines[2::2] == [pending, pending]
    cursor = re.search(r"--after (\S+)", done.stderr)
    assert cursor is not None
    assert [line.split()[2] for line in without_times(run("ask", "order 17", "--after", cursor[1]).stdout)[1:2]] == [
        "INSERT"
    ]


def test_a_transaction_that_sent_many_messages_shows_some_and_says_so(run: Run, database: str) -> None:
    for _ in range(3):
        endpoint(database, CONFIG, "http://127.0.0.1:9/hook", events=["order.paid"])
    with psycopg.connect(database) as conn:
        conn.execute("update orders set status = 'paid' where id = 17")
        conn.execute("update orders set status = 'sent' where id = 17")
        webhooks.send_many(conn, "order.paid", [{}] * 15)
        xact_id = scalar(conn, "select txid_current()")
    done = run("ask", "order 17", "--limit", "2")
    _, newest, *sent, older = without_times(done.stdout)
    assert ('"paid" -> "sent"' in newest, '"new" -> "paid"' in older) == (True, True)
    assert len(sent) == 20
    assert all("order.paid to http://127.0.0.1:9/hook, pending" in line for line in sent)
    assert f"The transaction sent more: svc-pg webhooks deliveries --transaction {xact_id}\n" in done.stderr
    [answer] = json.loads(run("ask", "order 17", "--limit", "2", "--json").stdout)["sent"]
    assert (answer["xactId"], answer["isComplete"]) == (str(xact_id), False)


def test_a_name_that_may_mean_several_records_or_none_is_an_error_with_the_candidates(run: Run) -> None:
    def error(*arguments: str) -> list[str]:
        done = run("ask", *arguments)
        assert (done.returncode, done.stdout) == (1, "")
        lines: list[str] = done.stderr.splitlines()
        return lines

    assert error("customer 1") == [
        "error: 'customer 1' may be a record of sales.customer and shop.customer",
        "hint: Name one of them: sales.customer 1",
    ]
    assert run("ask", "customer 2").stdout.startswith("sales.customer 2\n")
    assert run("ask", "shop.customers 1").stdout.startswith("shop.customer 1\n")
    assert error("order 5") == [
        "error: the log knows no record 5 of public.orders",
        "hint: Other tables: public.order_items.",
    ]
    assert run("ask", "order_item 5").stdout.startswith("public.order_items 5\n")
    assert error("customer 3") == ["error: the log knows no record 3 of sales.customer or shop.customer"]
    assert error("odrers 17") == [
        "error: the log knows no record 17 of public.odrers",
        "hint: Other tables: public.orders.",
    ]
    assert error("a.b.c 1")[0] == "error: 'a.b.c' is not a table name"


def test_a_table_of_django_is_found_by_its_model_and_several_are_named(run: Run, postgres: str, database: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute(
            "create table billing_invoice (id int primary key); create table crm_invoices (id int primary key)"
        )
        conn.commit()
        schema.install(conn, audited("orders", "billing_invoice", "crm_invoices"), prune=True)
        conn.execute("insert into billing_invoice values (1), (2); insert into crm_invoices values (1)")
    with new_role(postgres, "login in role svc_reader") as reader:
        for url in (database, make_conninfo(database, user=reader)):  # a reader may not see what is audited
            assert run("ask", "invoice 2", "--database-url", url).stdout.startswith("public.billing_invoice 2\n")
            assert run("ask", "order 17", "--database-url", url).stdout.startswith("public.orders 17\n")
            found = run("ask", "invoice 1", "--database-url", url)
            assert (found.returncode, found.stderr.splitlines()[0]) == (
                1,
                "error: 'invoice 1' may be a record of public.billing_invoice and public.crm_invoices",
            )


def test_a_table_that_is_gone_is_found_by_its_name_also_by_a_reader(run: Run, postgres: str, database: str) -> None:
    with new_role(postgres, "login in role svc_reader") as reader:
        with psycopg.connect(database) as conn:
            conn.execute("drop table order_items")
        done = run("ask", "order_items 5", "--database-url", make_conninfo(database, user=reader))
        assert done.stdout.startswith("public.order_items 5\n"), done.stderr


def test_a_text_without_a_key_and_another_database_are_wrong_usage(run: Run) -> None:
    done = run("ask", "order")
    assert done.returncode == 2
    assert "write a table and the key of a record: order 17" in " ".join(done.stderr.replace("│", "").split())
    done = run("ask", "order 17", "--database-url", "sqlite:///shop.db")
    assert done.returncode == 2
    assert "svc-pg log --table TABLE shows the changes there" in " ".join(done.stderr.replace("│", "").split())
