"""An audited shop, in a database with Django's own tables."""

from collections.abc import Iterator

import django
import psycopg
import pytest
from django.core.management import call_command
from django.db import connections
from django.db.backends.postgresql.features import DatabaseFeatures

from svc_pg import Config, audit, schema
from tests.integration.actor import django_shop
from tests.integration.hosts.pages import HOSTILE, LARGE
from tests.support.postgres import new_database

TABLES = """
create table customer (id int primary key, email text, notes text, password_hash text);
create schema sales;
create table sales.invoice (number text primary key) partition by hash (number);
create table sales.invoice_1 partition of sales.invoice for values with (modulus 1, remainder 0);
"""


def shop_config(*, record_reads: bool = False) -> Config:
    """The configuration of the shop."""
    config = Config()
    config.audit.table("public.customer", redact=["password_hash"], record_reads=record_reads)
    config.audit.table("sales.invoice")
    config.audit.enrich("public.customer", "DELETE", label=HOSTILE, severity="critical")
    return config


def fill(conninfo: str) -> None:
    """Fill the shop: user 1, mara, has changed customer 1; customer 2 has hostile and large values."""
    config = shop_config()
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(TABLES)
        schema.install(conn, config)
        with conn.transaction(), audit.actor(conn, "signup", context={"path": HOSTILE}):
            conn.execute("insert into customer values (1, 'a@exmaple.com', null, 'hunter2'), (3, 'c', null, null)")
        with conn.transaction(), audit.actor(conn, "1"):
            conn.execute("update customer set email = 'a@example.com', password_hash = 'hunter3' where id = 1")
        with conn.transaction(), audit.actor(conn, HOSTILE):
            conn.execute("insert into customer values (2, %s, %s, null)", [HOSTILE, LARGE])
            conn.execute("update customer set email = %s, notes = %s where id = 2", [HOSTILE * 2, LARGE + HOSTILE])
        conn.execute("insert into sales.invoice values ('R/1')")
        conn.execute("delete from customer where id = 3")


@pytest.fixture(scope="session")
def shop_database(postgres: str, template: str) -> Iterator[str]:
    """The conninfo of the shop's database, in which tests make no changes that others see."""
    with new_database(postgres, template=template) as conninfo:
        fill(conninfo)
        yield conninfo


@pytest.fixture(scope="session")
def django_database(shop_database: str) -> str:
    """That database with Django's tables and users: mara (1) may do everything, jonas (2) may not view entries."""
    with psycopg.connect(shop_database) as conn:
        major = conn.info.server_version // 10000
    (needed,) = DatabaseFeatures.minimum_database_version or (0,)
    if major < needed:
        pytest.skip(f"Django {django.__version__} needs PostgreSQL {needed}")
    django_shop.use(shop_database)
    call_command("migrate", verbosity=0)
    from django.contrib.auth.models import Permission, User  # needs Django to be set up

    User.objects.create_superuser("mara", password="x")
    jonas = User.objects.create_user("jonas", password="x", is_staff=True)
    jonas.user_permissions.set(Permission.objects.filter(codename="view_customer"))
    connections.close_all()
    return shop_database


@pytest.fixture
def django_shop_database(django_database: str) -> Iterator[str]:
    """As ``django_database``, with Django's connections to it until the end of the test."""
    django_shop.use(django_database)
    yield django_database
    connections.close_all()
