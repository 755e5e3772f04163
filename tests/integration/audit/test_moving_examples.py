"""The views of docs/howto/move.md show the logs of other tools, and ours beside."""

import subprocess
import sys
import tomllib
from typing import Any, Final

import psycopg
import pytest

from svc_pg import Config, schema
from tests.support.documents import examples

CONTENT: Final = """
insert into account (id, customer_id, email, name, balance, status, meta, created_at, updated_at)
values (1, 1, 'a@example.com', 'Ann', 0, 'new', '{}', now(), now());
update account set name = 'Anna' where id = 1;
delete from account;
"""
TABLE: Final = """
create table account (
    id bigint primary key, customer_id int not null, email text not null, name text, balance numeric(12, 2) not null,
    status text not null, meta jsonb not null, created_at timestamptz not null, updated_at timestamptz not null,
    note text
);
"""
SIMPLE_HISTORY: Final = """
import sys

import django
from django.apps import AppConfig
from django.conf import settings
from django.db import connection, models
from psycopg.conninfo import conninfo_to_dict


class Shop(AppConfig):
    name, label = "__main__", "shop"
    path = "."


parameters = conninfo_to_dict(sys.argv[1])
database = {"ENGINE": "django.db.backends.postgresql", "NAME": parameters.pop("dbname"), "OPTIONS": parameters}
applications = ["django.contrib.contenttypes", "django.contrib.auth", "simple_history", "__main__.Shop"]
settings.configure(INSTALLED_APPS=applications, DATABASES={"default": database}, USE_TZ=True)
django.setup()

from django.contrib.auth.models import User
from django.core.management import call_command
from simple_history.models import HistoricalRecords


class Account(models.Model):
    id = models.BigIntegerField(primary_key=True)
    customer_id = models.IntegerField()
    email = models.TextField()
    name = models.TextField(null=True)
    balance = models.DecimalField(max_digits=12, decimal_places=2)
    status = models.TextField()
    meta = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    history = HistoricalRecords(app="shop")

    class Meta:
        app_label, db_table = "shop", "account"


call_command("migrate", verbosity=0)
with connection.schema_editor() as editor:
    for model in (Account, Account.history.model):
        editor.create_model(model)
ann = User.objects.create(username="ann")
account = Account(id=1, customer_id=1, email="a@example.com", name="Ann", balance=0, status="new", meta={})
account._history_user = ann
account.save()
account.name = "Anna"
account.save()
account.delete()
"""
SUPA_AUDIT: Final = """
create schema audit;
create table audit.record_version (
    id bigserial primary key, record_id uuid, old_record_id uuid, op varchar(8), ts timestamptz not null default now(),
    table_oid oid not null, table_schema name not null, table_name name not null, record jsonb, old_record jsonb
);
insert into audit.record_version (op, table_oid, table_schema, table_name, record, old_record)
values ('INSERT', 0, 'public', 'account', '{"id": 1, "name": "Ann"}', null),
       ('UPDATE', 0, 'public', 'account', '{"id": 1, "name": "Anna"}', '{"id": 1, "name": "Ann"}'),
       ('DELETE', 0, 'public', 'account', null, '{"id": 1, "name": "Anna"}');
"""
OWN: Final = """
create table old_audit (
    id bigserial primary key, tbl text not null, pk bigint not null, who text, at timestamptz not null default now(),
    old jsonb, new jsonb
);
insert into old_audit (tbl, pk, who, old, new)
values ('account', 1, 'ann', null, '{"id": 1, "name": "Ann"}'),
       ('public.account', 1, 'ann', '{"id": 1, "name": "Ann"}', '{"id": 1, "name": "Anna"}'),
       ('account', 1, null, '{"id": 1, "name": "Anna"}', null);
"""


def postgresql_audit(conninfo: str) -> None:
    pytest.importorskip("postgresql_audit")
    from tests.benchmarks.capture.peers import install_postgresql_audit

    with psycopg.connect(conninfo) as conn:
        conn.execute(TABLE)
    install_postgresql_audit(conninfo, level="row")
    with psycopg.connect(conninfo) as conn:
        conn.execute("alter table transaction add actor_id text")
        conn.execute(CONTENT)


def pghistory(conninfo: str) -> None:
    pytest.importorskip("pghistory")
    from tests.benchmarks.capture.peers import install_pghistory
    from tests.benchmarks.installed import PeerError

    with psycopg.connect(conninfo) as conn:
        conn.execute(TABLE)
    try:
        install_pghistory(conninfo, level="row")
    except PeerError as error:  # Django does not know this version of PostgreSQL
        pytest.skip(str(error))
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(CONTENT)


def simple_history(conninfo: str) -> None:
    pytest.importorskip("simple_history")
    done = subprocess.run([sys.executable, "-c", SIMPLE_HISTORY, conninfo], capture_output=True, text=True, check=False)
    if "or later is required" in done.stderr:  # Django does not know this version of PostgreSQL
        pytest.skip(done.stderr.strip().rpartition("\n")[2])
    assert done.returncode == 0, done.stderr


def by_hand(conninfo: str, tables: str) -> None:
    with psycopg.connect(conninfo) as conn:
        conn.execute(tables.encode())


TOOLS: Final[dict[str, Any]] = {
    "From postgresql-audit": postgresql_audit,
    "From django-pghistory": pghistory,
    "From django-simple-history": simple_history,
    "From supa_audit": lambda conninfo: by_hand(conninfo, TABLE + SUPA_AUDIT),
    "From a table of your own": lambda conninfo: by_hand(conninfo, TABLE + OWN),
}


@pytest.mark.parametrize("section", list(TOOLS))
def test_an_old_log_stays_readable_beside_ours(section: str, empty_database: str) -> None:
    TOOLS[section](empty_database)
    [both] = examples("howto/move.md", "", "sql")
    [old] = examples("howto/move.md", section, "sql")
    with psycopg.connect(empty_database) as conn:
        schema.install(conn, Config.model_validate({"audit": {"tables": [{"name": "account"}]}}))
        conn.execute(old.encode())
        conn.execute(both.encode())
        names = "table_name, operation, record_id, before_data ->> 'name', after_data ->> 'name'"
        life = [
            ("public.account", "DELETE", "1", "Anna", None),
            ("public.account", "INSERT", "1", None, "Ann"),
            ("public.account", "UPDATE", "1", "Ann", "Anna"),
        ]
        assert sorted(conn.execute(f"select {names} from old_changes".encode())) == life
        conn.execute(CONTENT)
        of_old = conn.execute("select count(*) from old_changes").fetchone()
        found = sorted(conn.execute(f"select {names} from changes where table_name = 'public.account'".encode()))
        assert found == sorted(life * (2 if of_old == (3,) else 3))  # the old tool's triggers, if any, record them too


def test_an_outbox_is_handed_over_once_and_its_rule_sends_what_comes_later(database: str) -> None:
    section = "From an outbox of your own"
    [hand_over], [rule] = examples("howto/move.md", section, "sql"), examples("howto/move.md", section, "toml")
    stored = "insert into outbox (id, topic, payload) values (%s, %s, %s)"
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("create table outbox (id int primary key, topic text, payload jsonb, sent_at timestamptz)")
        conn.execute(stored, [1, "order.paid", '{"n": 1}'])
        conn.execute(stored, [2, "order.paid", '{"n": 2}'])
        conn.execute("update outbox set sent_at = now() where id = 2")
        schema.install(conn, Config.model_validate(tomllib.loads(rule)))
        conn.execute(hand_over.encode())
        conn.execute(hand_over.encode())
        conn.execute(stored, [3, "order.paid", '{"n": 3}'])
        conn.execute(stored, [4, "other", '{"n": 4}'])
        sent = conn.execute("select payload::jsonb from svc.webhook_messages order by id").fetchall()
        assert sent == [({"n": 1},), ({"id": 3, "payload": {"n": 3}},)]
