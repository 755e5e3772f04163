"""Changes that a comparison found name nobody on the pages of an application."""

from collections.abc import Iterator
from html import unescape

import psycopg
import pytest
from django.template import engines
from jinja2 import DictLoader, Environment

from svc_pg import audit
from svc_pg.integrations.jinja import add_templates
from tests.support.postgres import new_database
from tests.support.tables import audited, create_and_audit

CONFIG = audited("customer")


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, "create table customer (id int primary key, name text)", CONFIG)
        with psycopg.connect(conninfo, autocommit=True) as conn:
            conn.execute("insert into customer values (1, 'Ann'), (2, 'Bob')")
            conn.execute("set session_replication_role = replica")
            conn.execute("update customer set name = 'Anne' where id = 1")
            conn.execute("delete from customer where id = 2; insert into customer values (3, 'Cem')")
            conn.execute("reset session_replication_role")
            conn.execute("select set_config('svc.actor_id', 'mara', false)")
            audit.reconcile(conn, CONFIG, repair=True)
        yield conninfo


def check(page: str, record: int) -> None:
    words = unescape(page)
    assert "Somebody" in words
    assert " unseen, found" in words
    assert "began to record this" not in words
    assert ("deleted this unseen, found" in words) == (record == 2)
    assert ("added this unseen, found" in words) == (record == 3)


@pytest.mark.parametrize("record", [1, 2, 3])
def test_a_page_of_jinja_names_nobody(installed: str, record: int) -> None:
    environment = Environment(loader=DictLoader({}), autoescape=True)
    add_templates(environment)
    with psycopg.connect(installed) as conn:
        changes = audit.last_changes(conn, "customer", record)
    check(environment.get_template("svc_pg/who_changed.html").render(changes=changes), record)


@pytest.mark.usefixtures("django_shop_database")
@pytest.mark.parametrize("record", [1, 2, 3])
def test_a_page_of_django_names_nobody(installed: str, record: int) -> None:
    with psycopg.connect(installed) as conn:
        changes = audit.last_changes(conn, "customer", record)
    check(engines["django"].get_template("svc_pg/who_changed.html").render({"changes": changes}), record)
