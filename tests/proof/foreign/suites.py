"""The test suites of others that are run with capture on every table, and the commands that run them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Final, Literal

NAME: Final = "foreign"
"""The name of the saved file: its figures are the last run of each suite."""

Kind = Literal["postgresql", "sqlite", "mariadb"]
Unit = Sequence[str]
"""Files or folders of tests that run in one process."""

_PYTEST: Final = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "foreign_pytest")
_OF_DJANGO: Final = (*_PYTEST, "-p", "pytest_django.plugin", "--ds=tests.settings")
_NO_TESTS: Final = {"gis_tests", "import_error_package", "requirements", "templates", "test_runner_apps"}
_AT_A_TIME: Final = 8
_WITH_PYMYSQL: Final = "\n\nimport pymysql\n\npymysql.install_as_MySQLdb()\n"


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite in the source distribution of a ``release`` on PyPI, such as ``django==5.2``.

    ``command`` is what Python runs before the names of a unit, in ``folder``; ``{port}`` and ``{database}`` in it and
    in the ``variables`` are those of the server. ``prepare`` is SQL for the database. ``tools`` are more packages.
    An application whose ``settings`` of Django are named installs svc-pg as the documentation says, when it migrates;
    the plugin or the runner of other suites captures each table when it is made.
    """

    name: str
    release: str
    kind: Kind
    command: Sequence[str]
    units: Callable[[Path], list[Unit]]
    folder: str = "."
    variables: Mapping[str, str] = field(default_factory=dict)
    prepare: Sequence[str] = ()
    tools: Sequence[str] = ()
    settings: str | None = None
    more_settings: str = ""


def _whole(_source: Path) -> list[Unit]:
    return [["tests"]]


def _orm_tests(source: Path) -> list[Unit]:
    files = (source / "test" / "orm").rglob("test_*.py")
    return _units(str(file.relative_to(source)) for file in files if not file.stem.endswith("_py314"))


def _django_applications(source: Path) -> list[Unit]:
    found = (each.parent.name for each in (source / "tests").glob("*/__init__.py"))
    return _units(name for name in found if name not in _NO_TESTS)


def _units(names: Iterable[str]) -> list[Unit]:
    """Some names at a time, in an order that never changes and in which each part is a sample of the whole."""
    ordered = sorted(names, key=lambda name: sha256(name.encode()).digest())
    return [ordered[first : first + _AT_A_TIME] for first in range(0, len(ordered), _AT_A_TIME)]


def _treebeard(kind: Kind, **options: str) -> Suite:
    return Suite(
        f"treebeard-{kind}",
        "django-treebeard==7.0.3",
        kind,
        _OF_DJANGO,
        _whole,
        tools=("pytest-django==4.11.1",),
        settings="tests/settings.py",
        more_settings=_WITH_PYMYSQL if kind == "mariadb" else "",
        variables=options,
    )


SUITES: Final = (
    Suite(
        "django",
        f"django=={version('django')}",
        "postgresql",
        ("runtests.py", "--settings=foreign_django_settings", "--parallel=1", "--verbosity=0"),
        _django_applications,
        folder="tests",
    ),
    Suite(
        "sqlalchemy-orm",
        f"sqlalchemy=={version('sqlalchemy')}",
        "postgresql",
        (*_PYTEST, "-p", "foreign_sqlalchemy", "--dburi=postgresql+psycopg://postgres@127.0.0.1:{port}/{database}"),
        _orm_tests,
        prepare=("create schema test_schema", "create schema test_schema_2"),
    ),
    _treebeard(
        "postgresql",
        DATABASE_ENGINE="psql",
        DATABASE_HOST="127.0.0.1",
        DATABASE_USER_POSTGRES="postgres",
        DATABASE_PORT_POSTGRES="{port}",
    ),
    _treebeard("sqlite", DATABASE_ENGINE="sqlite"),
    _treebeard(
        "mariadb",
        DATABASE_ENGINE="mysql",
        DATABASE_HOST="127.0.0.1",
        DATABASE_USER_MYSQL="root",
        DATABASE_PORT_MYSQL="{port}",
    ),
    Suite(
        "model-utils-sqlite",
        "django-model-utils==5.0.0",
        "sqlite",
        _OF_DJANGO,
        _whole,
        tools=("pytest-django==4.11.1", "time-machine==2.19.0"),
        settings="tests/settings.py",
        variables={"SQLITE": "1"},
    ),
)
