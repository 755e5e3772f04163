"""The first command: it proposes a configuration that can be installed, and the next steps of the project."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from svc_pg import Config
from svc_pg.database.table_names import TableName
from svc_pg.scaffold import proposal as proposals
from tests.support.init_shop import Shop, shop_in

SECRETS = ["ann@shop", "4111", "428 9482", "pbkdf2_sha256$1"]
HOSTILE = [
    'we"ird', "dots.in.it", "new\nline", "[x]", "st*r", "que?tion", "back\\slash", "#comment", "select", "Größe", "'q'",
    "a = 1", "\u202eevil", " lead", "x" * 63,
]  # fmt: skip


@pytest.fixture
def conn(empty_database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(empty_database, autocommit=True) as conn:
        yield conn


@pytest.fixture
def shop(empty_database: str, tmp_path: Path) -> Shop:
    return shop_in(tmp_path, empty_database)


def test_the_proposal_is_written_and_installed_and_shows_no_value(shop: Shop, conn: psycopg.Connection[Any]) -> None:
    done = shop.run("init", "--yes")
    assert done.returncode == 0, done.stderr
    assert "1 table to record, 6 columns to redact, 2 tables left out.\nwrote svc-pg.toml\n" in done.stderr
    assert shop.redactions == {
        "public.customer": {
            "contact": "hash",
            "card": "last4",
            "phone": "mask",
            "login": "remove",
            "api_token": "remove",
            "contact_words": "remove",
        }
    }
    text = shop.file.read_text(encoding="utf-8")
    assert 'card = "last4"              # values look like payment cards' in text
    assert 'api_token = "remove"        # named like a token or a key' in text
    assert "# public.alembic_version: Alembic's own" in text
    assert "# public.note: no primary key" in text
    assert not [secret for secret in SECRETS if secret in text + done.stdout + done.stderr]
    assert "2. Install into the database, with every deployment:\n   svc-pg install\n" in done.stdout
    assert shop.run("install").returncode == 0
    conn.execute("update customer set name = 'Anna', card = 5500000000000004 where id = 1")
    [entry] = [json.loads(line) for line in shop.run("log", "--json").stdout.splitlines()]
    assert entry["after"]["name"] == "Anna" if "after" in entry else "Anna" in json.dumps(entry)
    assert not [secret for secret in SECRETS if secret in json.dumps(entry)]


def test_a_dry_run_prints_the_file_that_would_be_written(shop: Shop) -> None:
    shown = shop.run("init", "--dry-run")
    assert not shop.file.exists()
    assert shop.run("init", "--yes").returncode == 0
    assert shown.stdout == shop.file.read_text(encoding="utf-8")


def test_a_table_whose_key_is_a_secret_is_left_out(shop: Shop, conn: psycopg.Connection[Any]) -> None:
    conn.execute("create table authtoken_token (key varchar(40) primary key, user_id int)")
    conn.execute("create table reset (token text primary key); create table knox_token (id int primary key, key text)")
    assert shop.run("init", "--yes").returncode == 0
    assert shop.redactions["public.knox_token"] == {"key": "remove"}
    text = shop.file.read_text(encoding="utf-8")
    assert (
        "# public.authtoken_token: its primary key key is named like a token or a key, and each entry would have it"
        in text
    )
    assert "# public.reset: its primary key token is named like" in text


def test_it_asks_before_it_writes(shop: Shop) -> None:
    refused = shop.run("init", read=b"n\n")
    assert (refused.returncode, shop.file.exists()) == (1, False)
    silent = shop.run("init")
    assert silent.returncode == 1
    assert "error: nothing is done, because nobody can say yes\nhint: Add --yes, or --dry-run.\n" in silent.stderr
    assert not shop.file.exists()
    assert shop.run("init", read=b"y\n").returncode == 0
    assert shop.file.exists()


def test_json_has_all_that_was_found(shop: Shop) -> None:
    (shop.folder / "app.py").write_text("from flask import Flask\napp = Flask('x')\n", encoding="utf-8")
    found = json.loads(shop.run("init", "--json", "--dry-run").stdout)
    assert [each["table"] for each in found["tables"]] == ["public.customer"]
    assert found["tables"][0]["redact"][0] == {
        "column": "contact", "redaction": "hash", "reason": "values look like mail addresses"
    }  # fmt: skip
    assert [each["table"] for each in found["leftOut"]] == ["public.alembic_version", "public.note"]
    [application] = found["applications"]
    assert application == {"framework": "Flask", "file": "app.py", "module": "app", "line": 2, "name": "app"}
    assert found["isWritten"] is False


def test_hostile_names_are_proposed_and_installed(
    conn: psycopg.Connection[Any], empty_database: str, tmp_path: Path
) -> None:
    for name in HOSTILE:
        schema, table = sql.Identifier(name), sql.Identifier(name, name)
        conn.execute(sql.SQL("create schema {}").format(schema))
        column = sql.Identifier(f"{name[:54]} password")
        conn.execute(sql.SQL("create table {} (id int primary key, {} text)").format(table, column))
    shop = Shop(tmp_path, empty_database)
    assert shop.run("init", "--yes").returncode == 0
    done = shop.run("install")
    assert done.returncode == 0, done.stderr
    assert shop.run("status").returncode == 0
    for name in HOSTILE:
        conn.execute(sql.SQL("insert into {} values (1, 'secret')").format(sql.Identifier(name, name)))
    found = conn.execute("select table_name, after_data::text from svc.audit_logs").fetchall()
    assert sorted(found) == sorted((str(TableName(name, name)), '{"id": 1}') for name in HOSTILE)


def test_three_thousand_tables_become_a_pattern(
    conn: psycopg.Connection[Any], empty_database: str, tmp_path: Path
) -> None:
    shop = Shop(tmp_path, empty_database)
    with conn.transaction():
        for number in range(3000):
            conn.execute(
                sql.SQL("create table {} (id int primary key, note text)").format(sql.Identifier(f"t{number}"))
            )
    conn.execute("create table person (id int primary key, email text); create table log (x int)")
    done = shop.run("init", "--yes")
    assert done.returncode == 0, done.stderr
    assert "3,001 tables to record, 1 column to redact, 1 table left out." in done.stderr
    assert shop.redactions == {"public.*": {}, "public.person": {"email": "hash"}}
    assert Config.from_toml(shop.file).audit.tables[0].exclude == ["public.log"]
    assert "It names every table" in shop.run("init").stderr


def test_what_may_not_be_read_is_proposed_by_names_alone(
    shop: Shop, conn: psycopg.Connection[Any], request: pytest.FixtureRequest
) -> None:
    role = f"svc_test_{conn.info.dbname}"[:60]
    conn.execute(sql.SQL("create role {} login").format(sql.Identifier(role)))
    request.addfinalizer(lambda: conn.execute(sql.SQL("drop owned by {0}; drop role {0}").format(sql.Identifier(role))))
    conn.execute("create table secured (id int primary key, a text); insert into secured values (1, 'a@shop.example')")
    conn.execute("alter table secured enable row level security")
    conn.execute(sql.SQL("grant select on secured, alembic_version to {}").format(sql.Identifier(role)))
    conn.execute(sql.SQL("grant select (id, contact) on customer to {}").format(sql.Identifier(role)))
    done = shop.run("init", "--yes", conninfo=make_conninfo(shop.conninfo, user=role))
    assert done.returncode == 0, done.stderr
    assert "because of public.customer: no right to read it." in done.stderr
    assert "because of public.secured: row security hides its rows." in done.stderr
    assert shop.redactions["public.secured"] == {}
    assert shop.redactions["public.customer"] == {
        "contact": "hash", "phone": "mask", "api_token": "remove", "contact_words": "remove"
    }  # fmt: skip


def test_a_table_that_is_locked_is_proposed_by_names(
    shop: Shop, conn: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from svc_pg.scaffold import postgres_tables

    monkeypatch.setattr(postgres_tables, "SAMPLE_MILLISECONDS", 50)
    with conn.transaction(), psycopg.connect(shop.conninfo) as other:
        conn.execute("lock table customer")
        found = proposals.propose(other)
    [table] = found.tables
    assert table.unread is not None
    assert {each.column for each in table.redact} == {"phone", "api_token"}


def test_when_the_time_is_over_the_rest_is_proposed_by_names(shop: Shop) -> None:
    times = iter([0, 61])
    with psycopg.connect(shop.conninfo) as conn:
        [table] = proposals.propose(conn, clock=lambda: next(times)).tables
    assert table.unread == "the time for samples was over"


def test_a_sample_leaves_no_transaction_and_no_setting_behind(shop: Shop) -> None:
    with psycopg.connect(shop.conninfo) as other:
        proposals.propose(other)
        assert other.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
        assert other.execute("show row_security").fetchone() == ("on",)
        assert other.execute("show transaction_read_only").fetchone() == ("off",)


def test_a_large_table_is_sampled_by_random_pages(shop: Shop, conn: psycopg.Connection[Any]) -> None:
    conn.execute("create table big (id int primary key, who text, filler text)")
    conn.execute(
        "insert into big select i, case when i > 4000 then i || '@shop.example' else 'nobody' end, repeat('x', 2000)"
        " from generate_series(1, 12000) i"
    )
    conn.execute("vacuum analyze big")
    with psycopg.connect(shop.conninfo) as other:
        found = {table.name.table: table for table in proposals.propose(other).tables}
    assert found["big"].unread is None


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        ("drop table customer, alembic_version, note", "error: the database has no tables to audit\n"),
        ("drop table customer", "error: the database has no table to propose: public.alembic_version (Alembic's own"),
    ],
)
def test_a_database_without_tables_to_audit_is_an_error(
    shop: Shop, conn: psycopg.Connection[Any], prepare: str, words: str
) -> None:
    conn.execute(prepare)
    done = shop.run("init", "--yes")
    assert done.returncode == 1
    assert done.stderr.startswith(words)
    assert not shop.file.exists()


def test_a_table_without_a_primary_key_is_recorded_by_a_unique_one(shop: Shop, conn: psycopg.Connection[Any]) -> None:
    conn.execute(
        "create table device (owner text not null, number int not null, serial text unique, token text not null unique,"
        " unique (owner, number) include (serial));"
        "create table login (name text unique, api_token text unique);"
        "create table ticket (token text not null unique); create table part (id int, unique (id) deferrable)"
    )
    assert shop.run("init", "--yes").returncode == 0
    tables = {each.name: each for each in Config.from_toml(shop.file).audit.tables}
    assert tables.keys() == {"public.customer", "public.device"}
    assert (tables["public.device"].key, shop.redactions["public.device"]) == (["owner", "number"], {"token": "remove"})
    text = shop.file.read_text(encoding="utf-8")
    assert 'key = ["name"], whose unique index lets NULL in\n' in text
    assert "# public.ticket: its unique key token is named like a token or a key, and each entry would have it" in text
    assert shop.run("install").returncode == 0
    conn.execute("insert into device values ('ann', 7, 's', 'secret')")
    [entry] = [json.loads(line) for line in shop.run("log", "--json").stdout.splitlines()]
    assert "secret" not in json.dumps(entry)
    assert (json.loads(entry["recordId"]), entry["operation"]) == (["ann", 7], "INSERT")


def test_the_example_of_an_event_is_installed_without_its_comment_signs(
    shop: Shop, conn: psycopg.Connection[Any]
) -> None:
    conn.execute(
        "create table order_items (id int primary key);"
        " create table shop_orders (id int generated always as identity primary key, customer_name text, status text);"
        " create table invoices (id int primary key)"
    )
    assert shop.run("init", "--yes").returncode == 0
    text = shop.file.read_text(encoding="utf-8")
    assert "# personal, and recorded as they are: customer_name\n" in text
    proposed, mark, example = text.partition("each line.\n")
    assert mark
    lines = [line[2:] for line in example.splitlines()]
    shop.file.write_text("\n".join([proposed + mark, *lines]), encoding="utf-8")
    done = shop.run("install")
    assert done.returncode == 0, done.stderr
    conn.execute("insert into shop_orders (customer_name, status) values ('Ann', 'open')")
    conn.execute("update shop_orders set status = 'paid'")
    [(name, payload)] = conn.execute("select event_name, payload from svc.webhook_messages").fetchall()
    assert (name, payload) == ("order.changed", {"id": 1, "status": "paid", "old_status": "open"})
