"""The facts of a project, read from its files."""

from pathlib import Path

import pytest

from svc_pg.scaffold import project as projects
from svc_pg.scaffold import source_files
from svc_pg.scaffold.applications import PACKAGES
from svc_pg.scaffold.next_steps import next_steps
from svc_pg.scaffold.project import read_project
from tests.support.documents import examples
from tests.support.project_files import write

MANAGE = 'import os\nos.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")\n'


@pytest.mark.parametrize(
    ("text", "framework", "line", "target", "in_function"),
    [
        ("from fastapi import FastAPI\n\napp = FastAPI(\n    title='x',\n)\n", "FastAPI", 5, "app", False),
        ("import fastapi as f\napi: f.FastAPI = f.FastAPI()\n", "FastAPI", 2, "api", False),
        ("import starlette.applications\na = starlette.applications.Starlette()\n", "Starlette", 2, "a", False),
        ("from litestar import Litestar as L\napp = L([])\n", "Litestar", 2, "app", False),
        ("from flask import Flask\ndef create():\n    app = Flask('x')\n    return app\n", "Flask", 3, "app", True),
        ("from flask import Flask\ndef create():\n    return Flask('x')\n", "Flask", 3, None, True),
        ("from fastapi import FastAPI\nclass S:\n    def run(self):\n        self.app = FastAPI()\n", "FastAPI", 4,
         "self.app", True),
    ],
)  # fmt: skip
def test_an_application_is_found_with_its_line(
    tmp_path: Path, text: str, framework: str, line: int, target: str | None, *, in_function: bool
) -> None:
    write(tmp_path, **{"shop/main.py": text})
    [found] = read_project(tmp_path).applications
    place = found.place
    assert (found.framework, str(place.file), place.module) == (framework, "shop/main.py", "shop.main")
    assert (place.line, place.target, place.within == "function") == (line, target, in_function)


@pytest.mark.parametrize(
    "file", ["tests/app.py", ".hidden/app.py", ".venv/app.py", "node_modules/app.py", "test_app.py", "docs/app.py"]
)
def test_what_is_no_part_of_the_application_is_not_read(tmp_path: Path, file: str) -> None:
    write(tmp_path, **{file: "from fastapi import FastAPI\napp = FastAPI()\n"})
    assert read_project(tmp_path).applications == []


def test_a_virtual_environment_of_any_name_and_links_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path, **{"my-env/pyvenv.cfg": "", "my-env/lib/app.py": "from flask import Flask\napp = Flask('x')\n"})
    (tmp_path / "link").symlink_to(tmp_path / "my-env" / "lib")
    assert read_project(tmp_path).applications == []


def test_the_code_of_a_project_is_not_run(tmp_path: Path) -> None:
    made = tmp_path / "made"
    write(tmp_path, **{"app.py": f"from flask import Flask\nopen({str(made)!r}, 'w')\napp = Flask('x')\n"})
    assert len(read_project(tmp_path).applications) == 1
    assert not made.exists()


@pytest.mark.parametrize("text", ["def (", "\0", "(" * 100_000, "x = " + "-" * 50_000 + "1"])
def test_a_file_that_is_no_python_is_passed_over(tmp_path: Path, text: str) -> None:
    write(tmp_path, **{"a.py": text, "b.py": "from flask import Flask\napp = Flask('x')\n"})
    (tmp_path / "c.py").write_bytes(b"\xff\xfe")
    assert [str(each.place.file) for each in read_project(tmp_path).applications] == ["b.py"]


def test_more_files_than_the_bound_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_files, "MAX_FILES", 2)
    write(tmp_path, **{f"{name}.py": "" for name in "abc"})
    assert any("only the first were looked at" in problem for problem in read_project(tmp_path).problems)


def test_only_files_that_can_tell_something_are_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(source_files, "parsed", lambda text: seen.append(text))
    told = ["DJANGO_SETTINGS_MODULE", "MIDDLEWARE = []", "SVC_CONFIG = 1", *(f"import {each}" for each in PACKAGES)]
    assert {"flask", "sqlmodel"} <= PACKAGES
    write(tmp_path, **{f"m{number:02}.py": text for number, text in enumerate([*told, "import csv", "def f(): ..."])})
    assert source_files.SourceFiles.read(tmp_path).is_cut is False
    assert seen == told


def test_two_applications_are_both_told(tmp_path: Path) -> None:
    text = "from flask import Flask\napp = Flask('x')\n"
    write(tmp_path, **{"a.py": text, "b.py": text})
    [problem] = read_project(tmp_path).problems
    assert problem == "there are 2 applications (a.py:2, b.py:2): each that writes needs the lines below"


@pytest.mark.parametrize(
    ("files", "migrations", "problem"),
    [
        ({"alembic.ini": "[alembic]\nscript_location = %(here)s/alembic\n", "alembic/env.py": ""}, ["alembic"], None),
        ({"migrations/alembic.ini": "[alembic]\n", "migrations/env.py": ""}, ["flask-migrate"], None),
        ({"alembic.ini": "[alembic]\n", "pyproject.toml": "[tool.alembic]\nscript_location = 'm'\n", "m/env.py": ""},
         ["alembic"], None),
        ({"alembic.ini": "[alembic]\n"}, [], "alembic.ini has no script_location"),
        ({"alembic.ini": "[alembic]\nscript_location = gone\n"}, [], "alembic.ini names the folder gone"),
        ({"alembic.ini": f"[alembic]\nscript_location = {'y' * 5000}\n"}, [], "alembic.ini names the folder yyy"),
        ({"alembic.ini": "nonsense"}, [], "alembic.ini is broken"),
        ({"shop/migrations/alembic.ini": "[alembic]\n", "shop/migrations/env.py": ""}, [],
         "shop/migrations/alembic.ini is below this folder: svc-pg migrate finds it in shop, with --config ../svc-pg"),
        ({"a/b/alembic.ini": "[alembic]\n", "a/b/revisions/env.py": ""}, [],
         "a/b/alembic.ini is below this folder: svc-pg migrate finds it in a/b, with --config ../../svc-pg.toml"),
        ({"pyproject.toml": "[project"}, [], "pyproject.toml is not valid TOML"),
        ({"pyproject.toml": "[project]\ndependencies = ['FastAPI>=0.1', 7]\n"}, [],
         "FastAPI is among the requirements, and no application"),
        ({"requirements.txt": "# x\nflask[async]==3\n"}, [], "Flask is among the requirements, and no application"),
        ({"pyproject.toml": "project = 1\ntool = 'x'\n"}, [], None),
        ({"manage.py": ""}, ["django"], "manage.py names no settings"),
        ({"manage.py": "def ("}, ["django"], "manage.py names no settings"),
        ({"manage.py": MANAGE}, ["django"], "the settings of manage.py are shop.settings, and there is no such file"),
        ({"manage.py": MANAGE, "shop/settings.py": "X = 1\n"}, ["django"], "shop/settings.py sets no MIDDLEWARE"),
        ({"manage.py": MANAGE, "shop/settings.py": "MIDDLEWARE = [\n]\n"}, ["django"], None),
        ({"manage.py": "import shop.cli", "shop/cli.py": MANAGE, "shop/settings.py": "MIDDLEWARE = []"},
         ["django"], None),
        ({"src/manage.py": MANAGE}, [], "src/manage.py is below this folder"),
    ],
)  # fmt: skip
def test_migrations_and_problems_of_a_project(
    tmp_path: Path, files: dict[str, str], migrations: list[str], problem: str | None
) -> None:
    write(tmp_path, **files)
    found = read_project(tmp_path)
    assert found.migrations == migrations
    assert [each[: len(problem or "")] for each in found.problems] == ([problem] if problem else [])


def test_settings_in_a_folder_are_found_where_middleware_is_set(tmp_path: Path) -> None:
    settings = {"shop/settings/__init__.py": "", "shop/settings/base.py": "A = 1\nMIDDLEWARE = [\n    'a',\n]\n"}
    write(tmp_path, **{"manage.py": MANAGE}, **settings)
    place = read_project(tmp_path).settings
    assert place is not None
    assert (str(place.file), place.line) == ("shop/settings/base.py", 4)


def test_a_tuple_of_djangos_settings_gets_a_tuple_and_the_lines_come_after_both_settings(tmp_path: Path) -> None:
    settings = "INSTALLED_APPS: tuple = ('shop',)\nMIDDLEWARE = ()\nMIDDLEWARE = []\nINSTALLED_APPS += ('extra',)\n"
    write(tmp_path, **{"manage.py": MANAGE, "shop/settings.py": settings})
    [step] = [step for step in next_steps(read_project(tmp_path)) if step.place]
    assert step.place is not None
    assert step.place.line == 4
    values: dict[str, object] = {}
    exec(settings + "\n".join(step.lines), values)
    assert values["INSTALLED_APPS"] == ("shop", "extra", "svc_pg.integrations.django")
    assert values["MIDDLEWARE"] == ["svc_pg.integrations.django.actor_middleware"]


def test_a_project_without_a_known_framework_gets_the_lines_of_its_engine_and_of_an_actor(tmp_path: Path) -> None:
    engine = "from sqlalchemy import create_engine\nengine = create_engine('x')\n"
    write(tmp_path, **{"hub/orm.py": engine})
    lines = [line for step in next_steps(read_project(tmp_path)) for line in step.lines]
    assert "with_audit(engine)" in lines
    assert 'with audit.acting("nightly-import"):' in lines
    assert 'with audit.acting("nightly-import", context' in "\n".join(
        examples("howto/actors.md", "Jobs, scripts and tasks")
    )
    write(tmp_path, **{"hub/orm.py": f"from svc_pg.integrations.sqlalchemy import with_audit\n{engine}"})
    assert not any(step.words.startswith("Name the actor") for step in next_steps(read_project(tmp_path)))


def test_lines_that_are_there_already_are_not_proposed_again(tmp_path: Path) -> None:
    text = "from fastapi import FastAPI\nfrom svc_pg.integrations.asgi import ActorMiddleware\napp = FastAPI()\n"
    write(tmp_path, **{"app.py": text})
    assert not any("ActorMiddleware" in line for step in next_steps(read_project(tmp_path)) for line in step.lines)


def proposed(folder: Path) -> list[str]:
    """The lines that the project's files are to get."""
    return [line for step in next_steps(read_project(folder)) if step.place for line in step.lines]


APP = "INSTALLED_APPS += ['svc_pg.integrations.django']\n"
MIDDLEWARE = "MIDDLEWARE += ['svc_pg.integrations.django.actor_middleware']\n"
CONFIG = "SVC_CONFIG = 'svc-pg.toml'\n"


@pytest.mark.parametrize(
    ("settings", "lacking"),
    [
        ({"shop/settings.py": ""}, ["INSTALLED_APPS", "MIDDLEWARE", "SVC_CONFIG"]),
        ({"shop/settings.py": f"# {APP}"}, ["INSTALLED_APPS", "MIDDLEWARE", "SVC_CONFIG"]),
        ({"shop/settings.py": APP}, ["MIDDLEWARE", "SVC_CONFIG"]),
        ({"shop/settings.py": APP.replace("django'", "django.apps.SvcPgConfig'")}, ["MIDDLEWARE", "SVC_CONFIG"]),
        ({"shop/settings.py": MIDDLEWARE}, ["INSTALLED_APPS", "SVC_CONFIG"]),
        ({"shop/settings.py": "", "shop/who.py": "from svc_pg.integrations.django import acting_as\n"},
         ["INSTALLED_APPS", "SVC_CONFIG"]),
        ({"shop/settings.py": APP + MIDDLEWARE}, ["SVC_CONFIG"]),
        ({"shop/settings.py": APP + MIDDLEWARE,
          "shop/migrations/0002.py": "from svc_pg.integrations.django.operations import InstallSvcPg\n"}, []),
        ({"shop/settings.py": APP + MIDDLEWARE + CONFIG}, []),
        ({"shop/settings.py": APP + MIDDLEWARE, "shop/production.py": CONFIG}, []),
    ],
)  # fmt: skip
def test_only_the_settings_that_django_lacks_are_proposed(
    tmp_path: Path, settings: dict[str, str], lacking: list[str]
) -> None:
    text = "INSTALLED_APPS = []\nMIDDLEWARE = []\n"
    write(tmp_path, **{"manage.py": MANAGE}, **settings)
    write(tmp_path, **{"shop/settings.py": text + settings["shop/settings.py"]})
    assert [line.split()[0] for line in proposed(tmp_path)] == lacking
    words = [step.words for step in next_steps(read_project(tmp_path))]
    assert any(each.startswith("The actor is then the user") for each in words) == ("MIDDLEWARE" in lacking)
    assert ("The lines of svc-pg are in the application already" in words) == (not lacking)


FASTAPI = "from fastapi import FastAPI\napp = FastAPI()\n"
ENGINE = "from sqlalchemy import create_engine\nengine = create_engine('x')\n"
ACTOR = "from svc_pg.integrations.asgi import ActorMiddleware\n"
WRAPPED = "from svc_pg.integrations.sqlalchemy import with_audit\n"


@pytest.mark.parametrize(
    ("files", "lacking"),
    [
        ({"app.py": ACTOR + FASTAPI, "db.py": ENGINE}, ["db.py"]),
        ({"app.py": FASTAPI, "db.py": WRAPPED + ENGINE}, ["app.py"]),
        ({"app.py": ACTOR + FASTAPI, "other.py": FASTAPI, "db.py": ENGINE + WRAPPED}, ["other.py"]),
        ({"app.py": FASTAPI, "db.py": ENGINE, "setup.py": ACTOR + WRAPPED}, []),
        ({"app.py": ACTOR + FASTAPI, "db.py": ENGINE + WRAPPED}, []),
    ],
)
def test_only_the_applications_and_engines_that_lack_their_lines_get_them(
    tmp_path: Path, files: dict[str, str], lacking: list[str]
) -> None:
    write(tmp_path, **files)
    project = read_project(tmp_path)
    assert [str(step.place.file) for step in next_steps(project) if step.place] == lacking
    assert project.problems == []


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ("from fastapi import FastAPI\napp = FastAPI()\n", "tutorial/fastapi.md"),
        ("from flask import Flask\napp = Flask('x')\n", "tutorial/flask.md"),
    ],
)
def test_the_lines_are_those_of_the_tutorial(tmp_path: Path, text: str, document: str) -> None:
    write(tmp_path, **{"app.py": text})
    shown = "\n".join(examples(document, "Write the application"))
    [step] = [step for step in next_steps(read_project(tmp_path)) if step.words.startswith("Name the actor")]
    assert len(step.lines) == 3
    assert all(line in shown for line in step.lines)


def test_djangos_lines_are_those_of_its_tutorial(tmp_path: Path) -> None:
    write(tmp_path, **{"manage.py": MANAGE, "shop/settings.py": "MIDDLEWARE = []\n"})
    shown = "\n".join(examples("tutorial/django.md", "Write the application"))
    [step] = [step for step in next_steps(read_project(tmp_path)) if step.words.startswith("Name the actor")]
    assert step.lines[1] in shown
    assert "svc_pg.integrations.django" in step.lines[0]
    assert projects.read_project(tmp_path).has_django


def test_engines_with_the_same_lines_are_one_step_and_that_of_flask_sqlalchemy_comes_after_its_application(
    tmp_path: Path,
) -> None:
    engine = "from sqlalchemy import create_engine\nengine = create_engine('x')\n"
    flask = "from flask import Flask\nfrom flask_sqlalchemy import SQLAlchemy\ndb = SQLAlchemy()\napp = Flask('x')\n"
    write(tmp_path, **{"a.py": engine, "b.py": engine, "c.py": flask})
    steps = [step for step in next_steps(read_project(tmp_path)) if "tell the database its actor" in step.words]
    assert [step.words.partition(": ")[2] for step in steps] == [
        "after the application has its db (c.py:3)",
        "after each of these that the application uses (a.py:2, b.py:2)",
    ]
    assert list(steps[0].lines)[1:] == ["with app.app_context():", "    with_audit(db.engine)"]
