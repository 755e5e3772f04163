"""The application objects and engines of a project, found in its syntax trees, and the lines that they get."""

from pathlib import Path

import pytest

from svc_pg.scaffold.next_steps import next_steps
from svc_pg.scaffold.project import read_project
from tests.support.project_files import write

MOUNTED = """\
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Mount
admin = Starlette()
api = FastAPI()
app = FastAPI(routes=[Mount("/admin", app=admin)])
app.mount("/api", api)
"""


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("src/shop/main.py", "shop.main"),
        ("src/shop/__init__.py", "shop"),
        ("shop/src/main.py", "shop.src.main"),
        ("src/main.py", "main"),
        ("src.py", "src"),
        ("src/__init__.py", "src"),
    ],
)
def test_the_folder_src_is_no_package_but_a_module_may_have_its_name(tmp_path: Path, file: str, module: str) -> None:
    write(tmp_path, **{file: "import flask\napp = flask.Flask('x')\n"})
    [application] = read_project(tmp_path).applications
    assert application.place.module == module


@pytest.mark.parametrize(
    ("files", "lines", "mounted"),
    [
        ({"main.py": MOUNTED}, ["app"], ["admin (main.py:4)", "api (main.py:5)"]),
        ({"src/shop/api.py": "import fastapi\nv1 = fastapi.FastAPI()\n",
          "src/shop/main.py": "import fastapi\nfrom .api import v1\nfrom . import api as other\n"
          "app = fastapi.FastAPI()\napp.mount('/v1', v1)\n"}, ["app"], ["v1 (src/shop/api.py:2)"]),
        ({"shop/sub/api.py": "import fastapi\nv1 = fastapi.FastAPI()\n",
          "shop/main.py": "import fastapi\nfrom shop.sub import api\n"
          "def create_app():\n    app = fastapi.FastAPI()\n    app.mount('/v1', api.v1)\n    return app\n"},
         ["app"], ["v1 (shop/sub/api.py:2)"]),
        ({"main.py": "import flask, fastapi\nold = flask.Flask('x')\napp = fastapi.FastAPI()\n"
          "app.mount('/old', WSGIMiddleware(old))\n"}, ["old", "app"], []),
        ({"main.py": "import fastapi\napp = fastapi.FastAPI()\nif base:\n    root = fastapi.FastAPI()\n"
          "    root.mount(base, app)\n"}, ["app", "root"], []),
        ({"main.py": "from nicegui import app\nfrom fastapi import FastAPI\napi = FastAPI()\napp.mount('/api', api)\n"},
         ["api"], []),
    ],
)  # fmt: skip
def test_an_application_in_another_gets_no_lines_of_its_own(
    tmp_path: Path, files: dict[str, str], lines: list[str], mounted: list[str]
) -> None:
    write(tmp_path, **files)
    project = read_project(tmp_path)
    used = [step.lines[-1].partition(".")[0] for step in next_steps(project) if step.place]
    assert used == lines
    told = [problem.partition(" is mounted")[0] for problem in project.problems if " is mounted in another" in problem]
    assert told == mounted


TWO = "from flask import Flask\nfrom svc_pg.integrations.wsgi import WsgiActorMiddleware\none = Flask('x')\n"


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        (f"{TWO}one.wsgi_app = WsgiActorMiddleware(one.wsgi_app)\ntwo = Flask('y')\n", ["two"]),
        (f"{TWO}two = Flask('y')\nfor each in one, two:\n    each.wsgi_app = WsgiActorMiddleware(each.wsgi_app)\n", []),
    ],
)
def test_of_two_applications_in_a_file_the_one_that_lacks_its_lines_gets_them(
    tmp_path: Path, text: str, lacking: list[str]
) -> None:
    write(tmp_path, **{"app.py": text})
    found = read_project(tmp_path).applications
    assert [each.place.target for each in found if not each.is_prepared] == lacking


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("app = application = FastAPI(\n)\n", ("app", 3, 0, None)),
        ("app = wrapped(\n    FastAPI(),\n    1,\n)\n", (None, 5, 0, None)),
        ("if True:\n    app = FastAPI()\n", ("app", 3, 4, "block")),
        ("if app := FastAPI():\n    pass\n", ("app", 2, 4, "block")),
        ("async def main():\n    app = await made(FastAPI())\n", (None, 3, 4, "function")),
        ("def f(app=FastAPI()): ...\n", (None, 2, 0, None)),
        ("app = FastAPI() if new else None\n", ("app", 2, 0, None)),
        ("make = lambda: FastAPI()\n", (None, 2, 0, None)),
        ("class App(FastAPI): ...\nclass Own(App): ...\napp = Own()\n", ("app", 4, 0, None)),
    ],
)
def test_the_lines_go_after_the_whole_statement(
    tmp_path: Path, text: str, place: tuple[str | None, int, int, str | None]
) -> None:
    write(tmp_path, **{"app.py": f"from fastapi import FastAPI\n{text}"})
    [found] = read_project(tmp_path).applications
    assert (found.place.target, found.place.line, found.place.column, found.place.within) == place


def test_a_class_of_the_project_in_another_file_makes_an_application(tmp_path: Path) -> None:
    base = "import flask\nclass Shop(flask.Flask):\n    pass\n"
    write(tmp_path, **{"shop/base.py": base, "shop/__init__.py": "import flask\nfrom .base import Shop\na = Shop(1)\n"})
    [found] = read_project(tmp_path).applications
    assert (found.framework, found.place.module, found.place.target) == ("Flask", "shop", "a")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def create():\n    return FastAPI()\n", ": write app = for return at this application, and add"),
        ("serve(FastAPI())\n", ": the application has no name there, so give it one (app is a guess), and add"),
        ("app = FastAPI()\n", ""),
    ],
)
def test_an_application_without_a_name_is_a_guess(tmp_path: Path, text: str, words: str) -> None:
    write(tmp_path, **{"app.py": f"from fastapi import FastAPI\n{text}"})
    [step] = [step for step in next_steps(read_project(tmp_path)) if step.place]
    assert step.words == f"Name the actor of each request of FastAPI{words}"
    assert ("return app" in step.lines) == ("for return" in words)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("from psycopg_pool import ConnectionPool\nwith ConnectionPool() as pool:\n    pass\n", ["with_audit(pool)"]),
        ("from sqlalchemy import create_engine as new\ndef engine():\n    return new('x')\n", []),
        ("from advanced_alchemy.extensions.litestar import SQLAlchemyAsyncConfig\nalchemy = SQLAlchemyAsyncConfig()\n",
         ["with_audit(alchemy.get_engine())"]),
        ("from alembic import context\nfrom sqlalchemy import create_engine\nengine = create_engine('x')\n", None),
    ],
)  # fmt: skip
def test_an_engine_gets_its_line_where_it_is_made(tmp_path: Path, text: str, lines: list[str] | None) -> None:
    write(tmp_path, **{"db.py": text})
    found = [step for step in next_steps(read_project(tmp_path)) if "tell the database its actor" in step.words]
    assert [[*step.lines][1:] for step in found] == ([] if lines is None else [lines])
    assert all("write with_audit(...) around each of these" in step.words for step in found if not step.lines[1:])
