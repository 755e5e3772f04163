"""The list of who changed a record, in pages of FastAPI, Flask and Django, as docs/applications.md shows it."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from django.db import connection, connections
from django.template import engines
from django.test import override_settings
from jinja2 import DictLoader, Environment, FileSystemLoader, StrictUndefined
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from svc_pg import audit
from svc_pg.formats.unseen import marked
from svc_pg.integrations.django import records
from svc_pg.integrations.jinja import add_templates
from tests.integration.actor.servers import serving_asgi, serving_wsgi
from tests.integration.hosts.pages import HOSTILE, LARGE, Page
from tests.support.documents import examples
from tests.support.isolation import unisolated
from tests.support.tables import add_entry

INCLUDE = '<h1>Customer</h1>{% include "svc_pg/who_changed.html" %}'
TABLE = HOSTILE.replace(".", "")
CLASSES = re.compile(r"`(svc-[a-z]+)`")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the templates of the examples."""
    (tmp_path / "templates").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(params=["FastAPI", "Flask"])
def site(request: pytest.FixtureRequest, shop_database: str, folder: Path) -> Iterator[httpx.Client]:
    """The application of the document."""
    [example] = examples("applications.md", request.param, "python")[:1]
    [include] = examples("applications.md", "FastAPI", "html+jinja")
    (folder / "templates" / "customer.html").write_text(f"<h1>Customer</h1>{include}", encoding="utf-8")
    names: dict[str, Any] = {"__name__": "customers"}
    if request.param == "FastAPI":
        names["pool"] = async_pool = AsyncConnectionPool(shop_database, open=False, min_size=1)
        exec(example, names)
        app = names["app"]
        app.router.on_startup.append(async_pool.open)
        app.router.on_shutdown.append(async_pool.close)
        with serving_asgi(app) as url, httpx.Client(base_url=url) as client:
            yield client
    else:
        with ConnectionPool(shop_database, min_size=1) as pool:
            names["pool"] = pool
            exec(example, names)
            with serving_wsgi(names["app"]) as url, httpx.Client(base_url=url) as client:
                yield client


def test_the_documented_page_tells_who_changed_what_and_when(site: httpx.Client) -> None:
    page = Page(site.get("/customers/1").text)
    assert re.match(r"Customer ?1 changed email, password_hash (just now|\d+ \w+ ago)", page.words), page.words
    assert "emaila@exmaple.com a@example.com" in page.words
    assert "password_hashredacted" in page.words
    assert "signup created this" in page.words
    assert "hunter" not in page.words
    assert page.elements <= {"h1", "ol", "li", "p", "bdi", "b", "time", "dl", "div", "dt", "dd", "del", "ins"}
    assert page.attributes == {"class", "datetime", "title"}


def test_the_documented_page_says_if_there_are_no_changes(site: httpx.Client) -> None:
    assert Page(site.get("/customers/99").text).words == "CustomerNo changes are recorded."


def test_the_documented_page_shows_hostile_values_as_words_and_large_ones_cut(site: httpx.Client) -> None:
    html = site.get("/customers/2").text
    assert marked(HOSTILE) in Page(html).words
    assert "script" not in Page(html).elements
    assert re.search(r"<del><bdi>[^<]+</bdi></del> <ins><bdi>[^<]+</bdi></ins>", html)
    assert len(html) < 10_000


@pytest.fixture(scope="module")
def rendered(shop_database: str) -> str:
    """All kinds of changes, by an environment of Jinja that escapes nothing."""
    environment = Environment(loader=DictLoader({"page": INCLUDE}), undefined=StrictUndefined, autoescape=False)
    add_templates(environment)
    with psycopg.connect(shop_database) as conn:
        conn.execute("select set_config('svc.actor_id', %s, true)", [HOSTILE])
        for operation, severity in (("INSERT", "low"), ("SNAPSHOT", "medium"), ("DELETE", "high"), ("UPDATE", None)):
            add_entry(
                conn,
                f"public.{TABLE}",
                operation,
                record_id=HOSTILE,
                before={HOSTILE: HOSTILE},
                after={HOSTILE: LARGE},
                label=HOSTILE,
                severity=severity,
            )
        changes = audit.last_changes(conn, TABLE, HOSTILE)
        conn.rollback()
    return environment.get_template("page").render(changes=[*changes])


def test_the_snippet_escapes_by_itself(rendered: str) -> None:
    assert "<script" not in rendered
    assert "{{7*7}}" in unescape(rendered)
    assert "49" not in Page(rendered).words.replace(LARGE, "")
    assert rendered.count("svc-change ") == 4


def test_a_template_of_the_application_comes_first(tmp_path: Path) -> None:
    (tmp_path / "svc_pg").mkdir()
    (tmp_path / "svc_pg" / "who_changed.html").write_text("{{ changes | length }} changes", encoding="utf-8")
    environment = Environment(loader=FileSystemLoader(tmp_path), autoescape=True)
    add_templates(environment)
    assert environment.get_template("svc_pg/who_changed.html").render(changes=[]) == "0 changes"


def test_an_environment_without_a_loader_gets_one() -> None:
    environment = Environment(autoescape=True)
    add_templates(environment)
    page = environment.get_template("svc_pg/who_changed.html").render(changes=[])
    assert Page(page).words == "No changes are recorded."


def django_page(template: str, **values: Any) -> str:
    return engines["django"].from_string("{% load svc_pg %}" + template).render(values)


@pytest.mark.usefixtures("django_shop_database")
class TestInDjango:
    def test_the_tag_shows_an_object_with_the_name_of_its_user(self) -> None:
        from tests.integration.hosts.shop.models import Customer, Invoice

        page = Page(django_page("{% who_changed customer %}", customer=Customer.objects.get(pk=1)))
        assert page.words.startswith("mara (1) changed email, password_hash ")
        assert "password_hashredacted" in page.words
        assert "signup created this" in page.words
        invoice = Page(django_page("{% who_changed invoice %}", invoice=Invoice.objects.get(pk="R/1")))
        assert "(a user of the database) created this" in invoice.words
        assert "svc-unknown" in invoice.classes

    def test_the_tag_takes_a_table_and_a_key_as_documented(self) -> None:
        from tests.integration.hosts.shop.models import Customer

        [example] = examples("applications.md", "Django", "html+django")
        customer = Customer.objects.get(pk=1)
        html = django_page(example, customer=customer)
        assert html.count('class="svc-change ') == 3
        assert Page(django_page('{% who_changed "customer" 1 limit=1 %}')).words.startswith("mara (1) changed")
        assert len(re.findall(r"mara \(1\) changed|created this", Page(html).words)) == 3

    def test_an_object_that_is_not_stored_has_no_changes(self) -> None:
        from tests.integration.hosts.shop.models import Customer

        for template in ("{% who_changed customer %}", '{% who_changed "customer" customer.pk %}'):
            assert Page(django_page(template, customer=Customer())).words == "No changes are recorded."

    def test_hostile_values_are_words_also_if_escaping_is_off(self) -> None:
        html = django_page('{% autoescape off %}{% who_changed "public.customer" 2 %}{% endautoescape %}')
        assert marked(HOSTILE) in Page(html).words
        assert "<script" not in html
        assert len(html) < 10_000

    def test_names_of_actors_come_from_where_the_settings_say(self) -> None:
        tag = '{% who_changed "public.customer" 1 limit=1 %}'
        with override_settings(SVC_ACTOR_NAMES=lambda actors: {actor: f"no. {actor}" for actor in actors}):
            assert Page(django_page(tag)).words.startswith("no. 1 changed")
        with override_settings(SVC_ACTOR_NAMES=f"{__name__}.shouted"):
            assert Page(django_page(tag)).words.startswith("1! changed")
        with override_settings(SVC_ACTOR_NAMES=None):
            assert Page(django_page(tag)).words.startswith("1 changed")

    @pytest.mark.parametrize("actor", ["9" * 10, "9" * 19, "9" * 40, "-1", "1.0", " 1", "٧", "1e3", "", "\ud7ff"])  # noqa: RUF001
    def test_actors_that_are_no_users_have_no_name_and_do_no_harm(self, actor: str) -> None:
        assert records.names_of({actor}) == {}
        assert records.names_of({actor, "1"}) == {"1": "mara (1)"}

    def test_a_project_without_users_shows_ids(self) -> None:
        with override_settings(AUTH_USER_MODEL="none.User"):
            assert Page(django_page('{% who_changed "customer" 1 limit=1 %}')).words.startswith("1 changed")

    def test_the_tag_reads_within_the_transaction_of_the_page_and_spares_it(self) -> None:
        connection.ensure_connection()
        before = connections["default"].connection
        django_page('{% who_changed "public.customer" 1 %}')
        assert connections["default"].connection is before
        assert not connection.in_atomic_block

    def test_both_snippets_are_the_same_page(self, shop_database: str) -> None:
        environment = Environment(loader=DictLoader({"page": '{% include "svc_pg/who_changed.html" %}'}))
        add_templates(environment)
        with psycopg.connect(shop_database) as conn:
            conn.execute("select set_config('svc.actor_id', %s, true)", ["\u0430nn"])
            add_entry(
                conn,
                "public.alike",
                "UPDATE",
                record_id="1",
                before={"a": "ann", "b": None, "\u0645": ""},
                after={"a": "\u0430nn", "b": "not set", "\u0645": "x "},
                label="\u202e",
            )
            changes = [*audit.last_changes(conn, "public.customer", 1), *audit.last_changes(conn, "alike", "1")]
            conn.rollback()
        ours = engines["django"].get_template("svc_pg/who_changed.html").render({"changes": changes})
        theirs = environment.get_template("page").render(changes=changes)
        assert Page(ours).words.replace(" ", "") == Page(theirs).words.replace(" ", "")
        assert (Page(ours).classes, Page(ours).elements) == (Page(theirs).classes, Page(theirs).elements)
        for page in (ours, theirs):
            assert unisolated(page) == []
            assert "CYRILLIC SMALL LETTER A" in page
            assert {"svc-note", "svc-doubt", "svc-unset"} <= Page(page).classes


def shouted(actors: set[str]) -> dict[str, str]:
    return {actor: f"{actor}!" for actor in actors}


def test_every_class_of_the_snippet_is_documented(rendered: str) -> None:
    document = Path(__file__).parents[3] / "docs" / "applications.md"
    documented = set(CLASSES.findall(document.read_text(encoding="utf-8")))
    used = Page(rendered).classes | {"svc-note", "svc-doubt", "svc-unset"}
    assert used <= documented | {"svc-medium", "svc-high"}
    assert {"svc-insert", "svc-update", "svc-delete", "svc-snapshot", "svc-fields", "svc-severity"} <= used
