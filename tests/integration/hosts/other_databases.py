"""A shop with Django's admin on SQLite, MariaDB or MySQL: a program, as Django is configured once a process."""

import json
import re
import sys
from datetime import timedelta
from typing import Any

import pymysql
from django.core.management import call_command
from django.db import connection, connections
from django.db.models import Max
from django.http import HttpResponse
from django.test import Client, override_settings
from django.urls import path
from django.utils import timezone

from svc_pg import Config, audit, schema
from svc_pg.formats.unseen import marked
from svc_pg.integrations.django import audit_connections
from tests.integration.actor import django_shop
from tests.integration.hosts.pages import HOSTILE, Page

LIST = "/admin/svc_pg/entry/"
SITE = {
    "MIDDLEWARE": [
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    "STORAGES": {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    },
}


def fill() -> Client:
    """Fill the shop: mara, user 1, changes customer 1, and hostile values customer 2. Returns mara's browser."""
    from django.contrib.auth.models import User

    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("create table customer (id int primary key, email text, notes text, password_hash text)")
    config = Config()
    config.audit.table("customer", redact=["password_hash"])
    config.audit.enrich("customer", "DELETE", label="gone", severity="critical", compliance=["GDPR"])
    schema.install(connection, config)
    with audit.acting("1", context={"path": HOSTILE}), connection.cursor() as cursor:
        cursor.execute("insert into customer values (1, 'a@exmaple.com', null, 'hunter2'), (3, 'c', null, null)")
        cursor.execute("update customer set email = 'a@example.com', password_hash = 'hunter3' where id = 1")
    with audit.acting(HOSTILE), connection.cursor() as cursor:
        cursor.execute("insert into customer values (2, %s, null, null)", [HOSTILE])
    with connection.cursor() as cursor:
        cursor.execute("delete from customer where id = 3")
    mara = User.objects.create_superuser("mara", password="x")
    client = Client()
    client.force_login(mara)
    return client


def page(client: Client, address: str, **query: str) -> str:
    answer: HttpResponse = client.get(address, query)  # type: ignore[assignment]
    assert answer.status_code == 200, (address, answer.status_code)
    html = answer.content.decode()
    assert HOSTILE not in html
    return html


def operations(html: str) -> list[str]:
    """The operations of the entries on a list."""
    return re.findall(r'<td class="field-what[^"]*">(\w+)', html)


def everything(client: Client, name: str) -> None:
    """Test all pages of the admin, and the template tag. ``name`` is the customers' table in entries."""
    from django.template import engines

    from svc_pg.integrations.django import bounds
    from svc_pg.integrations.django.models import Entry
    from tests.integration.hosts.shop.models import Customer

    shown = page(client, LIST)
    assert operations(shown) == ["DELETE", "INSERT", "UPDATE", "INSERT", "INSERT"]
    assert "mara (1)" in Page(shown).words
    for query, number in (
        ({"operation": "UPDATE"}, 1),
        ({"severity": "critical"}, 1),
        ({"table_name": name, "record_id": "1"}, 2),
        ({"q": "1"}, 3),
        ({"timestamp__gte": "2999-01-01 00:00:00+00:00"}, 0),
        ({"timestamp__gte": "2020-01-01 00:00:00+00:00", "timestamp__lt": "2999-01-01 00:00:00+00:00"}, 5),
        ({"after": str(Entry.objects.order_by("-id")[1].pk)}, 3),
    ):
        assert len(operations(page(client, LIST, **query))) == number, query
    newest = Entry.objects.all()[0]
    assert newest.partition is None
    assert (newest.operation, newest.compliance, newest.redacted_fields) == ("DELETE", ["GDPR"], ["password_hash"])
    assert newest.timestamp.utcoffset() is not None
    assert list(Entry.objects.filter(timestamp=newest.timestamp)) == [newest]
    assert list(Entry.objects.filter(timestamp__lt=newest.timestamp, pk=newest.pk)) == []
    assert Entry.objects.filter(pk=-1).aggregate(last=Max("timestamp")) == {"last": None}
    with override_settings(USE_TZ=False):
        [naive] = Entry.objects.filter(timestamp=timezone.make_naive(newest.timestamp))
        assert (naive, naive.timestamp) == (newest, timezone.make_naive(newest.timestamp))
    for entry in Entry.objects.all():
        words = Page(page(client, f"{LIST}{entry.pk}/change/")).words
        assert entry.operation in words
        assert "None" not in words
        assert "hunter" not in words
    update = Entry.objects.get(operation="UPDATE")
    assert "a@exmaple.com" in Page(page(client, f"{LIST}{update.pk}/change/")).words
    assert client.get(f"{LIST}{update.pk}/history/").status_code == 302
    assert client.get(f"{LIST}999/change/").status_code == 302
    history = page(client, "/admin/shop/customer/1/history/")
    assert "a@exmaple.com" in Page(history).words
    assert "mara (1)" in Page(history).words
    link = history.partition(f'href="{LIST}?')[2].partition('"')[0]
    assert link.startswith(f"table_name={name}&")
    tags = "{% who_changed customer %}{% who_changed 'customer' 2 %}"
    template = engines["django"].from_string("{% load svc_pg %}" + tags)
    told = template.render({"customer": Customer.objects.get(pk=1)})
    assert "mara (1)" in Page(told).words
    assert marked(HOSTILE) in Page(told).words
    assert HOSTILE not in told
    with bounds.bounded("default"), connection.cursor() as cursor:
        cursor.execute("select 1")
    slow = {
        "sqlite": "with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) from n",
        "mysql": "select count(*) from information_schema.columns a, information_schema.columns b,"
        " information_schema.columns c, information_schema.columns d",
    }
    bounds.STATEMENT_TIMEOUT = timedelta(seconds=0.2)
    try:
        with bounds.bounded("default"), connection.cursor() as cursor:
            cursor.execute(slow[connection.vendor])
        raise AssertionError
    except bounds.LogIsSlow:
        pass
    assert Entry.objects.count() == 5


def main() -> None:
    pymysql.install_as_MySQLdb()
    django_shop.use_database(**json.loads(sys.argv[1]))
    from django.contrib import admin

    urls: Any = type("Urls", (), {"urlpatterns": [path("admin/", admin.site.urls)]})
    audit_connections()
    with override_settings(ROOT_URLCONF=urls, **SITE):
        everything(fill(), sys.argv[2])
    connections.close_all()


if __name__ == "__main__":
    main()
