"""A new project of Django, at its defaults, with the admin, the console and the middleware that docs/ shows."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import httpx
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from svc_pg import audit
from svc_pg.console.http.tokens import new_connection_token
from tests.integration.actor.django_shop import skip_unsupported
from tests.support.commands import environment, forked, svc_pg
from tests.support.documents import examples, inline
from tests.support.ports import free_port
from tests.support.waiting import wait_until

MODELS = """
from django.db import models


class Customer(models.Model):
    email = models.TextField()

    class Meta:
        db_table = "customer"
"""
MODULES = ["django.core.management", "django.db.backends.postgresql.base", "svc_pg.schema"]
EMAIL = "mara@shop.example"
LIMIT = timedelta(seconds=30)


def console_of_staff() -> str:
    """The documented asgi.py, with the argument that lets Django's staff in."""
    [example] = examples("applications.md", "The console beside Django")
    [call] = inline("applications.md", "The console beside Django", start="Console(")
    argument = call.removeprefix("Console(..., ").removesuffix(")")
    plain = "Console(Settings.load(), config=Config.find())"
    assert (argument, example.count(plain)) == ("session_of=django_users()", 1)
    given = example.replace(plain, f"{plain[:-1]}, {argument})")
    return given.replace("from svc_pg.console import Console", "from svc_pg.console import Console, django_users")


def documented_middleware() -> str:
    """The one that takes addresses as actors."""
    [middleware] = inline("howto/actors.md", "Django's users", start='"shop.middleware')
    return middleware


def make_project(folder: Path, conninfo: str, middleware: str | None = None) -> None:
    """Start a project, and add what the pages show; everything else stays as Django makes it."""
    run = [sys.executable, "-m", "django", "startproject", "shop", str(folder)]
    subprocess.run(run, check=True, capture_output=True, env=environment())
    server = conninfo_to_dict(conninfo)
    place = {"ENGINE": "django.db.backends.postgresql", "NAME": server["dbname"]}
    place |= {name.upper(): str(server[name]) for name in ("host", "port", "user")}
    with (folder / "shop" / "settings.py").open("a", encoding="utf-8") as settings:
        settings.write(f"\nDATABASES = {{'default': {place!r}}}\n")
        settings.write("INSTALLED_APPS += ['svc_pg.integrations.django', 'customers']\n")
        settings.write(f"MIDDLEWARE += [{middleware or documented_middleware()}]\nSVC_CONFIG = 'svc-pg.toml'\n")
    with (folder / "shop" / "asgi.py").open("a", encoding="utf-8") as asgi:
        asgi.write(console_of_staff())
    [of_address] = examples("howto/actors.md", "Django's users")
    assert of_address.startswith("# shop/middleware.py\n")
    (folder / "shop" / "middleware.py").write_text(of_address, encoding="utf-8")
    [admin] = examples("applications.md", "The admin of Django")
    customers = folder / "customers"
    customers.mkdir()
    (customers / "__init__.py").touch()
    (customers / "models.py").write_text(MODELS, encoding="utf-8")
    (customers / "admin.py").write_text(f"from customers.models import Customer\n{admin}", encoding="utf-8")
    (folder / "svc-pg.toml").write_text('[[audit.tables]]\nname = "customer"\n', encoding="utf-8")


def manage(folder: Path, *arguments: str, **variables: str) -> None:
    done = forked("", ["manage.py", *arguments], MODULES, folder=folder, variables=variables)
    assert done.returncode == 0, done.stderr


def make_database(folder: Path) -> None:
    """The tables, and the superuser mara."""
    manage(folder, "migrate", "--run-syncdb", "--verbosity=0")
    named = {"DJANGO_SUPERUSER_USERNAME": "mara", "DJANGO_SUPERUSER_EMAIL": EMAIL, "DJANGO_SUPERUSER_PASSWORD": "x"}
    manage(folder, "createsuperuser", "--noinput", **named)


@contextmanager
def served(folder: Path, conninfo: str) -> Iterator[httpx.Client]:
    """uvicorn with the project, as its defaults are."""
    _, token_hash = new_connection_token()
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "shop.asgi:application", "--port", str(port)]
    environ = environment(DATABASE_URL=conninfo, SVC_CONSOLE_CONNECTION_TOKEN_HASH=token_hash)
    url = f"http://127.0.0.1:{port}"
    with (folder / "output").open("wb") as output, httpx.Client(base_url=url, timeout=30) as client:
        process = subprocess.Popen(command, cwd=folder, env=environ, stdout=output, stderr=output)

        def is_up() -> bool:
            assert process.poll() is None, (folder / "output").read_text()
            try:
                return client.get("/.well-known/svc/console/ready").is_success
            except httpx.TransportError:
                return False

        try:
            wait_until(is_up, "the project and the console answer", limit=LIMIT)
            yield client
        finally:
            process.terminate()
            process.wait()


def post(client: httpx.Client, path: str, *, at: str | None = None, **fields: str) -> httpx.Response:
    """Send the form of a page, or of the page ``at`` another address, as a browser does."""
    token = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', client.get(at or path).text)[0]
    answer = client.post(path, data={"csrfmiddlewaretoken": token, **fields}, headers={"Referer": str(client.base_url)})
    assert answer.is_redirect or at, answer.text
    return answer


def test_the_admin_shows_who_changed_what_by_address_and_the_console_lets_its_users_in(
    empty_database: str, tmp_path: Path
) -> None:
    skip_unsupported(empty_database)
    make_project(tmp_path, empty_database)
    make_database(tmp_path)
    with psycopg.connect(empty_database) as conn:
        conn.execute("insert into customer (email) values ('a@exmaple.com')")
    with served(tmp_path, empty_database) as client:
        assert client.get("/.well-known/svc/account/session").status_code == 401
        post(client, "/admin/login/", username="mara", password="x")
        post(client, "/admin/customers/customer/1/change/", email="a@example.com")
        with psycopg.connect(empty_database) as conn:
            assert [each.actor_id for each in audit.last_changes(conn, "public.customer", 1)] == [EMAIL, None]
        history = client.get("/admin/customers/customer/1/history/").text
        assert (EMAIL in history, "a@exmaple.com" in history) == (True, True)
        assert EMAIL in client.get("/admin/svc_pg/entry/").text
        found = client.get("/.well-known/svc/account/session").json()
        assert (found["email"], found["permissions"]) == (EMAIL, ["read", "write", "admin"])


@pytest.mark.parametrize("is_recorded", [False, True])
def test_signing_in_is_not_refused_if_each_change_needs_an_actor_and_is_that_of_the_user(
    empty_database: str, tmp_path: Path, *, is_recorded: bool
) -> None:
    """Also if ``last_login`` is recorded, which init proposes to ignore: Django sets it before the next request."""
    skip_unsupported(empty_database)
    middleware = documented_middleware() if is_recorded else '"svc_pg.integrations.django.actor_middleware"'
    make_project(tmp_path, empty_database, middleware)
    make_database(tmp_path)
    file = tmp_path / "svc-pg.toml"
    file.unlink()
    done = svc_pg("init", "--yes", folder=tmp_path, variables={"DATABASE_URL": empty_database})
    assert done.returncode == 0, done.stderr
    proposed = file.read_text(encoding="utf-8")
    ignored = 'ignore = ["last_login"]    # written at each sign-in, by its name\n'
    assert proposed.count(ignored) == 1
    chosen = proposed.replace(ignored, "") if is_recorded else proposed
    file.write_text(f'[audit]\nunattributed = "refuse"\n\n{chosen}', encoding="utf-8")
    done = svc_pg("install", folder=tmp_path, variables={"DATABASE_URL": empty_database})
    assert done.returncode == 0, done.stderr
    with served(tmp_path, empty_database) as client:
        post(client, "/admin/login/", username="mara", password="x")
        post(client, "/admin/customers/customer/add/", email="a@example.com")
        post(client, "/admin/logout/", at="/admin/customers/customer/")
        post(client, "/admin/login/", username="mara", password="x")
        page = client.get("/.well-known/svc/ui/audit").text
    with psycopg.connect(empty_database) as conn:
        found = conn.execute("select table_name, operation::text, actor_id from svc.audit_logs order by id").fetchall()
    who = EMAIL if is_recorded else "1"
    at_sign_in = [("public.auth_user", "UPDATE", who)] if is_recorded else []
    assert found == [*at_sign_in, ("public.customer", "INSERT", who), *at_sign_in]
    assert is_recorded or "<bdi>mara (1)</bdi>" in page
    status = svc_pg("status", folder=tmp_path, variables={"DATABASE_URL": empty_database})
    assert "without an actor" not in status.stdout + status.stderr
