"""The audit log in Django's admin: it shows everything, changes nothing, and never counts the log."""

import re
import secrets
from collections.abc import Iterator
from dataclasses import fields
from datetime import timedelta
from html import unescape
from io import StringIO
from typing import Any

import django
import psycopg
import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, connections, transaction
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import path

from svc_pg import audit, schema
from svc_pg.formats.unseen import marked
from svc_pg.integrations.django import bounds
from tests.integration.actor import django_shop
from tests.integration.hosts.conftest import shop_config
from tests.integration.hosts.pages import HOSTILE, Page
from tests.support.isolation import unisolated
from tests.support.postgres import new_database

LIST = "/admin/svc_pg/entry/"
ADDRESSES = [LIST, f"{LIST}{{}}/change/", "/admin/shop/customer/1/history/"]
MANY = 120
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]


@pytest.fixture(autouse=True)
def _site(django_shop_database: str) -> Iterator[None]:  # noqa: ARG001 - the settings are its
    from django.contrib import admin

    urls: Any = type("Urls", (), {"urlpatterns": [path("admin/", admin.site.urls)]})
    with override_settings(ROOT_URLCONF=urls, MIDDLEWARE=MIDDLEWARE, STORAGES=STORAGES):
        yield


STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}


def signed_in(name: str) -> Client:
    from django.contrib.auth.models import User

    client = Client()
    client.force_login(User.objects.get(username=name))
    return client


@pytest.fixture
def mara() -> Client:
    return signed_in("mara")


@pytest.fixture
def jonas() -> Client:
    return signed_in("jonas")


def page(client: Client, address: str, **query: str) -> str:
    answer = client.get(address, query)
    assert answer.status_code == 200, answer
    return answer.content.decode()


def entries(html: str) -> list[int]:
    """The ids of the entries that a list shows, in its order."""
    return [int(entry) for entry in re.findall(r'<th class="field-timestamp[^"]*"><a href="[^"]*?/(\d+)/change/', html)]


def next_address(html: str) -> str | None:
    found = re.search(r'<a href="([^"]*)" rel="next">Older entries</a>', html)
    return LIST + unescape(found[1]) if found else None


def all_ids(where: str = "true") -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(f"select id from svc.audit_logs where {where} order by timestamp desc, id desc")
        return [entry for (entry,) in cursor.fetchall()]


@pytest.mark.skipif(django.VERSION < (5, 0), reason="facets came with Django 5.0")
def test_facets_which_count_are_not_offered(mara: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert "counts" not in Page(page(mara, LIST, _facets="True", table_name="public.customer")).words
    assert not any("count(" in query["sql"].lower() for query in queries if "audit_logs" in query["sql"])


@pytest.fixture(scope="module")
def long_log(postgres: str, django_database: str) -> Iterator[str]:
    """A copy of the shop with more entries than two pages show, and of two days."""
    name = psycopg.conninfo.conninfo_to_dict(django_database)["dbname"]
    connections.close_all()
    with new_database(postgres, template=str(name)) as conninfo:
        with psycopg.connect(conninfo, autocommit=True) as conn:
            conn.execute(
                "insert into svc.audit_logs (timestamp, table_name, table_oid, operation, record_id, actor_id)"
                " select now() - interval '2 days' + n / 3 * interval '1 s', 'public.bulk', 0, 'INSERT', n, 'importer'"
                " from generate_series(1, %s) n",
                [MANY],
            )
        yield conninfo


def test_the_list_leads_through_all_entries_once_and_counts_none_of_them(long_log: str, mara: Client) -> None:
    django_shop.use(long_log)
    connections.close_all()
    mara = signed_in("mara")
    seen: list[int] = []
    address: str | None = LIST
    with CaptureQueriesContext(connection) as queries:
        while address is not None:
            html = page(mara, address)
            seen += entries(html)
            assert ("Newest entries" in html) == (address != LIST)
            assert " results" not in Page(html).words
            address = next_address(html)
    assert seen == all_ids()
    assert len(seen) > MANY
    of_log = [query["sql"] for query in queries if "audit_logs" in query["sql"]]
    assert of_log
    assert not any("count(" in sql.lower() for sql in of_log)
    assert all("limit" in sql.lower() for sql in of_log)
    assert not any("before_data" in sql for sql in of_log)


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ({"table_name": "public.customer"}, "table_name = 'public.customer'"),
        ({"q": "1"}, "actor_id = '1'"),
        ({"actor_id": "signup"}, "actor_id = 'signup'"),
        ({"operation": "UPDATE"}, "operation = 'UPDATE'"),
        ({"severity": "critical"}, "severity = 'critical'"),
        ({"table_name": "public.customer", "record_id": "1"}, "table_name = 'public.customer' and record_id = '1'"),
        ({"timestamp__gte": "2999-01-01 00:00:00+00:00"}, "false"),
        ({"timestamp__gte": "2020-01-01 00:00:00+00:00", "operation": "DELETE"}, "operation = 'DELETE'"),
        ({"q": "nobody"}, "false"),
        ({"operation": "BOGUS"}, "true"),
        ({"o": "1.-3", "all": "", "p": "7"}, "true"),
    ],
)
def test_filters_find_entries_whatever_else_is_asked_for(mara: Client, query: dict[str, str], where: str) -> None:
    assert entries(page(mara, LIST, **query)) == all_ids(where)


@pytest.mark.parametrize(
    "query",
    [
        {"after": "x"},
        {"after": "-1"},
        {"after": "9" * 19},
        {"after": "99999"},
        {"actor_id": "\0"},
        {"record_id": "a\0b"},
        {"q": "\0"},
        {"xact_id": "abc"},
        {"xact_id": "9" * 30},
        {"timestamp__gte": "yesterday"},
        {"timestamp__year__gte": "x"},
        {"operation__exact": "BOGUS"},
        {"severity__in": "BOGUS"},
        {"before_data__a": "1"},
        {"before_data__icontains": "a"},
        {"id__gt": "0"},
    ],
)
@pytest.mark.parametrize("is_atomic", [False, True])
def test_odd_addresses_are_no_errors_of_the_server(mara: Client, query: dict[str, str], is_atomic: bool) -> None:  # noqa: FBT001
    connections.settings["default"]["ATOMIC_REQUESTS"] = is_atomic
    answer = mara.get(LIST, query)
    assert answer.status_code in (200, 302, 400)
    if answer.status_code == 200:
        html = answer.content.decode()
        assert entries(html) == [] or "Null characters are not allowed" in html


def test_an_entry_shows_old_and_new_values_and_leads_to_its_record_actor_and_transaction(mara: Client) -> None:
    [entry] = all_ids("actor_id = '1'")
    html = page(mara, f"{LIST}{entry}/change/")
    words = Page(html).words
    assert "a@exmaple.com a@example.com" in words
    assert "mara (1)" in words
    assert "hunter" not in html
    assert "None" not in words
    links = [unescape(link) for link in re.findall(r'href="(/admin/svc_pg/entry/\?[^"]*)"', html)]
    assert [len(entries(page(mara, link))) for link in links] == [2, 1, 1]
    assert "<input" not in html.partition("content-main")[2].replace('<input type="hidden"', "")


def test_hostile_and_large_values_are_words_on_every_page_of_the_admin(mara: Client) -> None:
    for entry in all_ids("record_id in ('2', '3')"):
        html = page(mara, f"{LIST}{entry}/change/")
        assert "<script>alert" not in html
        assert unisolated(html) == []
        assert len(html) < 600_000
    for address in (LIST, "/admin/shop/customer/2/history/", "/admin/shop/customer/"):
        html = page(mara, address)
        assert "<script>alert" not in html
        assert unisolated(html) == [] or address == "/admin/shop/customer/"  # of the application itself
        assert len(html) < 100_000
    assert marked(HOSTILE) in Page(page(mara, LIST)).words
    assert "\u202e" not in Page(page(mara, LIST)).words


@pytest.mark.parametrize("entry", ["0", "999999", "-1", "x", "1e3", "%D9%A7", "9" * 40, "1%00"])
def test_an_entry_that_is_none_leads_back(mara: Client, entry: str) -> None:
    assert mara.get(f"{LIST}{entry}/change/").status_code == 302


def test_nothing_can_be_changed_by_whoever(mara: Client) -> None:
    [entry] = all_ids("actor_id = '1'")
    assert mara.post(f"{LIST}{entry}/change/", {"label": "x"}).status_code == 403
    assert mara.post(f"{LIST}{entry}/delete/", {"post": "yes"}).status_code == 403
    assert mara.get(f"{LIST}add/").status_code == 403
    mara.post(LIST, {"action": "delete_selected", "_selected_action": [str(entry)], "post": "yes"})
    assert entry in all_ids()

    from svc_pg.integrations.django.models import Entry

    found = Entry.objects.get(pk=entry)
    for change in (found.save, found.delete, lambda: Entry.objects.update(label="x"), Entry(label="x").save):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()


def test_the_history_of_an_entry_is_that_of_its_record(mara: Client, jonas: Client) -> None:
    [entry] = all_ids("actor_id = '1'")
    answer = mara.get(f"{LIST}{entry}/history/", follow=True)
    assert entries(answer.content.decode()) == all_ids("table_name = 'public.customer' and record_id = '1'")
    assert mara.get(f"{LIST}999999/history/").status_code == 302
    assert jonas.get(f"{LIST}{entry}/history/").status_code == 403


def test_the_model_reads_all_columns() -> None:
    from svc_pg.integrations.django.models import Entry

    found = Entry.objects.get(actor_id="1")
    assert found.changed_fields == ["email", "password_hash"]
    assert found.redacted_fields == ["password_hash"]
    assert found.before_data == {"id": 1, "email": "a@exmaple.com", "notes": None}
    assert str(found) == "UPDATE public.customer 1"
    names = {field.name for field in fields(audit.Entry)}
    assert {field.name for field in Entry._meta.get_fields()} == names


def test_an_entry_tells_the_partition_of_its_row(mara: Client) -> None:
    from svc_pg.integrations.django.models import Entry

    found = Entry.objects.get(table_name="sales.invoice")
    assert found.partition == "sales.invoice_1"
    assert "sales.invoice_1" in Page(page(mara, f"{LIST}{found.pk}/change/")).words


def test_the_history_of_an_object_is_that_of_the_log(mara: Client) -> None:
    words = Page(page(mara, "/admin/shop/customer/1/history/")).words
    assert "mara (1)" in words
    assert "a@exmaple.com a@example.com" in words
    assert "password_hashredacted" in words
    assert "signup" in words
    found = re.search(r'<a href="([^"]*)">All entries of this record', page(mara, "/admin/shop/customer/1/history/"))
    assert found is not None
    assert len(entries(page(mara, unescape(found[1])))) == 2
    assert "INSERT" in Page(page(mara, "/admin/shop/invoice/R_2F1/history/")).words


@pytest.fixture
def copied_shop(postgres: str, django_database: str) -> Iterator[str]:
    """A copy of the shop."""
    name = psycopg.conninfo.conninfo_to_dict(django_database)["dbname"]
    connections.close_all()
    with new_database(postgres, template=str(name)) as conninfo:
        django_shop.use(conninfo)
        yield conninfo
        connections.close_all()


@pytest.fixture
def marked_shop(copied_shop: str) -> str:
    """A copy of the shop that records who reads its customers."""
    with psycopg.connect(copied_shop, autocommit=True) as conn:
        schema.install(conn, shop_config(record_reads=True))
    return copied_shop


def test_each_page_that_shows_a_marked_record_is_on_record_with_its_reader(marked_shop: str) -> None:
    mara = signed_in("mara")
    [entry] = all_ids("actor_id = '1'")
    pages = [
        (f"{LIST}{entry}/change/", "entry", ["1"]),
        ("/admin/shop/customer/1/history/", "history", ["1"]),
        (f"{LIST}?table_name=public.customer&record_id=1&of=x&through=%00", "entries", None),
        (f"{LIST}?table_name=public.customer&record_id=1", "entries", ["1"]),
        (f"{LIST}?table_name=sales.invoice", "entries", None),
    ]
    with psycopg.connect(marked_shop, autocommit=True) as conn:
        for address, of, keys in pages:
            before = reads_of(conn)
            assert mara.get(address).status_code in (200, 400), address
            expected = [] if keys is None else [("admin", of, keys, "1")]
            assert reads_of(conn)[len(before) :] == expected, address


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_page_whose_reading_cannot_be_recorded_is_refused(marked_shop: str, address: str) -> None:
    mara = signed_in("mara")
    [entry] = all_ids("actor_id = '1'")
    connections.close_all()
    django_shop.use(marked_shop, OPTIONS={"options": "-c default_transaction_read_only=on"})
    answer = mara.get(address.format(entry))
    assert answer.status_code == 403
    assert b"exmaple" not in answer.content


@pytest.fixture
def plain_role(maintenance: psycopg.Connection[Any], copied_shop: str) -> Iterator[str]:
    """A role that may read all tables of the copy, those of ``svc`` too, and call nothing there."""
    name = f"svc_test_plain_{secrets.token_hex(6)}"
    maintenance.execute(f"create role {name} login")
    with psycopg.connect(copied_shop, autocommit=True) as conn:
        conn.execute(f"grant usage on schema svc to {name}")
        conn.execute(f"grant select on all tables in schema public, svc to {name}")
        yield name
        connections.close_all()
        conn.execute(f"drop owned by {name}")
    maintenance.execute(f"drop role {name}")


def test_without_marked_tables_the_list_needs_the_right_to_read_the_log_alone(
    copied_shop: str, plain_role: str
) -> None:
    mara = signed_in("mara")
    connections.close_all()
    django_shop.use(copied_shop, USER=plain_role)
    assert entries(page(mara, LIST))


def test_a_role_that_may_not_record_is_refused_a_list_with_marked_records(marked_shop: str, plain_role: str) -> None:
    mara = signed_in("mara")
    connections.close_all()
    django_shop.use(marked_shop, USER=plain_role)
    answer = mara.get(LIST)
    assert answer.status_code == 403
    assert b"exmaple" not in answer.content


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_database_that_an_older_install_left_is_shown(copied_shop: str, address: str) -> None:
    mara = signed_in("mara")
    [entry] = all_ids("actor_id = '1'")
    connections.close_all()
    with psycopg.connect(copied_shop, autocommit=True) as conn:
        conn.execute("drop function svc.audit_read_tables(text[])")
    assert page(mara, address.format(entry))


def reads_of(conn: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    return conn.execute(
        "select after_data ->> 'through', after_data -> 'question' ->> 'of', after_data -> 'keys', actor_id"
        "  from svc.audit_logs where table_name = 'svc.audit_reads' order by id"
    ).fetchall()


def test_what_the_admin_itself_noted_stands_below(mara: Client) -> None:
    with transaction.atomic():
        from django.contrib.admin.models import CHANGE, LogEntry
        from django.contrib.contenttypes.models import ContentType

        from tests.integration.hosts.shop.models import Customer

        kind = ContentType.objects.get_for_model(Customer)
        noted = LogEntry.objects.create(
            user_id=1, content_type=kind, object_id="1", object_repr="c", action_flag=CHANGE, change_message="Noted."
        )
    try:
        words = Page(page(mara, "/admin/shop/customer/1/history/")).words
        assert words.index("signup") < words.index("Noted.")
    finally:
        noted.delete()


def test_staff_without_the_permission_see_neither_entries_nor_values(jonas: Client) -> None:
    [entry] = all_ids("actor_id = '1'")
    for address in (LIST, f"{LIST}{entry}/change/"):
        assert jonas.get(address).status_code == 403
    html = page(jonas, "/admin/shop/customer/1/history/")
    assert "exmaple" not in html
    assert "svc_pg" not in html
    assert jonas.get("/admin/shop/invoice/R_2F1/history/").status_code == 403


def test_an_object_that_is_gone_has_no_history_of_its_own(mara: Client) -> None:
    assert mara.get("/admin/shop/customer/3/history/").status_code == 302


@pytest.mark.parametrize(
    "address", [LIST, "/admin/shop/customer/1/history/"], ids=["the list", "the history of an object"]
)
def test_a_log_that_does_not_answer_costs_a_note_and_no_worker(
    django_shop_database: str, mara: Client, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr(bounds, "STATEMENT_TIMEOUT", timedelta(milliseconds=50))
    with psycopg.connect(django_shop_database) as conn:
        conn.execute("lock table svc.audit_logs in access exclusive mode")
        assert "The database took too long." in Page(page(mara, address)).words


def test_questions_to_the_log_end_after_five_seconds_and_others_keep_their_limit() -> None:
    def limit() -> str:
        with connection.cursor() as cursor:
            cursor.execute("show statement_timeout")
            return str(cursor.fetchone()[0])

    for outer in (transaction.atomic(), transaction.atomic()):
        with outer:
            with bounds.bounded("default"):
                assert limit() == "5s"
            assert limit() == "0"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("set local statement_timeout = '1s'")
        with bounds.bounded("default"):
            assert limit() == "1s"
        assert limit() == "1s"


def test_the_application_needs_no_migration_and_passes_the_checks_of_django() -> None:
    output = StringIO()
    call_command("makemigrations", check=True, dry_run=True, stdout=output)
    assert "No changes detected" in output.getvalue()
    call_command("check", fail_level="WARNING", stdout=output, stderr=output)
