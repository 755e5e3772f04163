"""The lines that init prints run in applications of every shape: factories, packages, several and mounted ones."""

from pathlib import Path

import pytest

from tests.support.init_projects import ENGINE, OF_ASGI, OF_WSGI, Project, project_in, shows_who_changed

MOUNTED = """\
from fastapi import FastAPI

from shop.db import change

api = FastAPI()


@api.post("/")
def root() -> dict[str, str]:
    change()
    return {}


app = FastAPI()
app.mount("/", api)
"""
MOUNTED_BY_ROUTE = """\
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from shop.db import change


def root(request):
    change()
    return JSONResponse({})


inner = Starlette(routes=[Route("/", root, methods=["POST"])])
app = Starlette(routes=[Mount("/", app=inner)])
"""
SEVERAL = """\
from fastapi import FastAPI

from shop.db import change

admin = FastAPI()
app = FastAPI()


@app.post("/")
@admin.post("/")
def root() -> dict[str, str]:
    change()
    return {}
"""
FACTORY = """\
from fastapi import FastAPI

from shop.db import change


def create_app() -> FastAPI:
    app = FastAPI(
        title="Shop",
    )

    @app.post("/")
    def root() -> dict[str, str]:
        change()
        return {}

    return app


app = create_app()
"""
LITESTAR_FACTORY = """\
from litestar import Litestar, post

from shop.db import change


@post("/", sync_to_thread=True)
def root() -> dict[str, str]:
    change()
    return {}


def create_app() -> Litestar:
    return Litestar(
        [root],
    )


app = create_app()
"""
FLASK_FACTORY = """\
from flask import Flask

from shop.db import change


def made():
    return Flask(__name__)


def create_app():
    app = made()

    @app.post("/")
    def root():
        change()
        return {}

    return app
"""
FLASK_CLASS = """\
from flask import Flask

from shop.db import change


class Shop(Flask):
    pass


def create_app():
    shop = Shop(__name__)

    @shop.post("/")
    def root():
        change()
        return {}

    return shop
"""


@pytest.mark.parametrize(
    ("file", "main", "client", "steps_of_applications"),
    [
        pytest.param("shop/__init__.py", MOUNTED.replace("shop.db", ".db"), OF_ASGI, 1, id="mounted-in-a-package"),
        pytest.param("shop/main.py", MOUNTED_BY_ROUTE, OF_ASGI, 1, id="mounted-by-a-route"),
        pytest.param("shop/main.py", SEVERAL, OF_ASGI, 2, id="several"),
        pytest.param("shop/main.py", SEVERAL, OF_ASGI.replace("import app", "import admin as app"), 2, id="the-other"),
        pytest.param("shop/main.py", FACTORY, OF_ASGI, 1, id="fastapi-factory"),
        pytest.param("shop/main.py", LITESTAR_FACTORY, OF_ASGI, 1, id="litestar-factory-without-a-name"),
        pytest.param("shop/main.py", FLASK_FACTORY, OF_WSGI, 1, id="flask-factory-without-a-name"),
        pytest.param("shop/main.py", FLASK_CLASS, OF_WSGI, 1, id="flask-subclass"),
    ],
)
def test_the_printed_lines_run_in_an_application_of_any_shape(
    empty_database: str, tmp_path: Path, file: str, main: str, client: str, steps_of_applications: int
) -> None:
    project = project_in(tmp_path, empty_database)
    if file == "shop/__init__.py":
        client = client.replace("shop.main", "shop")
    project.write(**{"shop/__init__.py": "", "shop/db.py": ENGINE, file: main, "client.py": client})
    steps = project.init()
    assert len([step for step in steps if step["words"].startswith("Name the actor")]) == steps_of_applications
    project.add_lines(steps)
    project.run("install")
    project.python("client.py")
    assert shows_who_changed(project.entries(), "mara")
    again = Project(project.folder, project.conninfo).run("init", "--json")
    assert '"steps": []' in again or '"steps":[]' in again
