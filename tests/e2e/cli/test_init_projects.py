"""A project of each framework: init, its printed lines, install, a change and the log, with real files and commands."""

from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.integration.actor.django_shop import skip_unsupported
from tests.support.commands import svc_pg
from tests.support.init_projects import ENGINE, OF_ASGI, OF_WSGI, POOL, Project, project_in, shows_who_changed

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
OF_DJANGO_BY_ASGI = """
import asyncio
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
from django.core.asgi import get_asgi_application
app = get_asgi_application()
from django.contrib.auth.models import User
from django.test import Client
import httpx
client = Client()
client.force_login(User.objects.create_user("mara", password="x"))
session = client.cookies["sessionid"].value
async def main():
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        (await http.post("/", cookies={"sessionid": session})).raise_for_status()
asyncio.run(main())
"""


@pytest.fixture
def project(empty_database: str, tmp_path: Path) -> Project:
    return project_in(tmp_path, empty_database)


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


@pytest.mark.parametrize("client", [pytest.param(OF_DJANGO, id="wsgi"), pytest.param(OF_DJANGO_BY_ASGI, id="asgi")])
def test_a_project_of_django_installs_with_its_migrations(project: Project, client: str) -> None:
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
    project.write(**{"shop/urls.py": view, "client.py": client})
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
