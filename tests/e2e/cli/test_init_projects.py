"""A project of each framework: init, its printed lines, install, a change and the log, with real files and commands."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.integration.actor.django_shop import skip_unsupported
from tests.support.commands import environment, svc_pg

ENGINE = """\
import os

from sqlalchemy import create_engine, text

engine = create_engine(os.environ["SHOP_URL"])


def change():
    with engine.begin() as conn:
        conn.execute(text("update customer set name = 'Anna'"))
"""
POOL = """\
import os

from psycopg_pool import ConnectionPool

pool = ConnectionPool(os.environ["DATABASE_URL"], open=True)


def change():
    with pool.connection() as conn:
        conn.execute("update customer set name = 'Anna'")
"""
FASTAPI = """\
from fastapi import FastAPI
from shop.db import change

app = FastAPI()


@app.post("/")
def root() -> dict[str, str]:
    change()
    return {}
"""
STARLETTE = """\
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from shop.db import change


def root(request):
    change()
    return JSONResponse({})


app = Starlette(routes=[Route("/", root, methods=["POST"])])
"""
LITESTAR = """\
from litestar import Litestar, post

from shop.db import change


@post("/", sync_to_thread=True)
def root() -> dict[str, str]:
    change()
    return {}


app = Litestar([root])
"""
FLASK = """\
from flask import Flask

from shop.db import change


def create_app():
    app = Flask(__name__)

    @app.post("/")
    def root():
        change()
        return {}

    return app
"""
OF_ASGI = """
import asyncio
import httpx
from shop.main import app
async def main():
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop") as client:
        (await client.post("/", headers={"X-User": "mara"})).raise_for_status()
asyncio.run(main())
"""
OF_WSGI = """
from shop.main import create_app
assert create_app().test_client().post("/", headers={"X-User": "mara"}).status_code == 200
"""
OF_DJANGO = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
import django
django.setup()
from django.contrib.auth.models import User
from django.test import Client
user = User.objects.create_user("mara", password="x")
client = Client(headers={"host": "localhost"})
client.force_login(user)
assert client.post("/").status_code == 200
"""
SQLALCHEMY_URL = "postgresql+psycopg://{user}@/{dbname}?host={host}&port={port}"


@dataclass(frozen=True)
class Project:
    """A folder with an application, and its database."""

    folder: Path
    conninfo: str

    @property
    def variables(self) -> dict[str, str]:
        url = SQLALCHEMY_URL.format(**conninfo_to_dict(self.conninfo))
        return {"DATABASE_URL": self.conninfo, "SHOP_URL": url, "PYTHONPATH": str(self.folder)}

    def write(self, **files: str) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text, encoding="utf-8")

    def run(self, *arguments: str) -> str:
        done = svc_pg(*arguments, folder=self.folder, variables=self.variables)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def python(self, *arguments: str) -> None:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=environment(**self.variables),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def init(self) -> list[dict[str, Any]]:
        steps: list[dict[str, Any]] = json.loads(self.run("init", "--yes", "--json"))["steps"]
        return steps

    def add_lines(self, steps: list[dict[str, Any]]) -> None:
        """Add the lines of each step after the line that it names, the last first, as deep as that line is."""
        for step in sorted((step for step in steps if step["file"]), key=lambda step: -step["line"]):
            path = self.folder / step["file"]
            lines = path.read_text(encoding="utf-8").split("\n")
            before = lines[step["line"] - 1]
            margin = before[: len(before) - len(before.lstrip())] if before.strip() != "]" else ""
            lines[step["line"] : step["line"]] = [margin + line for line in step["lines"]]
            path.write_text("\n".join(lines), encoding="utf-8")

    def commands(self, steps: list[dict[str, Any]]) -> list[str]:
        return [line for step in steps if not step["file"] for line in step["lines"]]

    def entries(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.run("log", "--json", "--table", "customer").splitlines()]


@pytest.fixture
def project(empty_database: str, tmp_path: Path) -> Project:
    with psycopg.connect(empty_database) as conn:
        conn.execute("create table customer (id int primary key, name text, email text)")
        conn.execute("insert into customer values (1, 'Ann', 'ann@shop.example')")
    return Project(tmp_path, empty_database)


def shows_who_changed(entries: list[dict[str, Any]], actor: str) -> bool:
    [entry] = entries
    return actor in json.dumps(entry) and "Anna" in json.dumps(entry) and "ann@shop" not in json.dumps(entry)


@pytest.mark.parametrize(
    ("main", "db", "client"),
    [
        pytest.param(FASTAPI, ENGINE, OF_ASGI, id="fastapi-sqlalchemy"),
        pytest.param(FASTAPI, POOL, OF_ASGI, id="fastapi-psycopg"),
        pytest.param(STARLETTE, ENGINE, OF_ASGI, id="starlette"),
        pytest.param(LITESTAR, ENGINE, OF_ASGI, id="litestar"),
        pytest.param(FLASK, POOL, OF_WSGI, id="flask"),
    ],
)
def test_the_printed_lines_make_the_log_tell_who_changed_what(
    project: Project, main: str, db: str, client: str
) -> None:
    project.write(**{"shop/__init__.py": "", "shop/main.py": main, "shop/db.py": db, "client.py": client})
    steps = project.init()
    project.add_lines(steps)
    assert project.commands(steps) == ["svc-pg install", "svc-pg log"]
    project.run("install")
    project.python("client.py")
    assert shows_who_changed(project.entries(), "mara")
    assert not [step for step in steps if step["words"].startswith("note")]


def test_a_project_with_alembic_gets_its_migration(project: Project) -> None:
    project.write(**{"shop/__init__.py": "", "shop/main.py": FASTAPI, "shop/db.py": ENGINE, "client.py": OF_ASGI})
    project.python("-m", "alembic", "init", "alembic")
    env = project.folder / "alembic" / "env.py"
    url = 'import os\nconfig.set_main_option("sqlalchemy.url", os.environ["SHOP_URL"])\n'
    text = env.read_text(encoding="utf-8")
    env.write_text(text.replace("target_metadata = None\n", f"target_metadata = None\n{url}"), encoding="utf-8")
    steps = project.init()
    project.add_lines(steps)
    assert project.commands(steps) == ["svc-pg migrate", "alembic upgrade head", "svc-pg log"]
    project.run("migrate")
    project.python("-m", "alembic", "upgrade", "head")
    assert "Nothing to change" in svc_pg("install", folder=project.folder, variables=project.variables).stderr
    project.python("client.py")
    assert shows_who_changed(project.entries(), "mara")


def test_a_project_of_django_installs_with_its_migrations(project: Project) -> None:
    skip_unsupported(project.conninfo)
    project.python("-m", "django", "startproject", "shop", ".")
    server = conninfo_to_dict(project.conninfo)
    place = {"ENGINE": "django.db.backends.postgresql", "NAME": server["dbname"]}
    place |= {name.upper(): str(server[name]) for name in ("host", "port", "user")}
    settings = project.folder / "shop" / "settings.py"
    with settings.open("a", encoding="utf-8") as file:
        file.write(
            f"\nDATABASES = {{'default': {place!r}}}\nMIDDLEWARE.remove('django.middleware.csrf.CsrfViewMiddleware')\n"
        )
    view = (
        "from django.db import connection\nfrom django.http import HttpResponse\nfrom django.urls import path\n"
        "def root(request):\n    with connection.cursor() as cursor:\n"
        "        cursor.execute(\"update customer set name = 'Anna'\")\n    return HttpResponse()\n"
        "urlpatterns = [path('', root)]\n"
    )
    project.write(**{"shop/urls.py": view, "client.py": OF_DJANGO})
    project.python("manage.py", "migrate", "--verbosity=0")
    steps = project.init()
    text = (project.folder / "svc-pg.toml").read_text(encoding="utf-8")
    assert 'name = "public.auth_user"' in text
    assert 'password = "remove"' in text
    assert "# public.django_session: Django's sessions" in text
    project.add_lines(steps)
    assert project.commands(steps) == ["python manage.py migrate", "svc-pg log"]
    project.python("manage.py", "migrate", "--verbosity=0")
    assert "Nothing to change" in svc_pg("install", folder=project.folder, variables=project.variables).stderr
    project.python("client.py")
    [entry] = project.entries()
    assert entry["actorId" if "actorId" in entry else "actor_id"] == "1"
