"""The tests that docs/howto/test.md shows for Django pass with the shop of its tutorial."""

from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import django
import psycopg
import pytest
from django.db.backends.postgresql.features import DatabaseFeatures
from psycopg.conninfo import conninfo_to_dict

from tests.e2e.testing import documented
from tests.support.commands import forked
from tests.support.roles import new_role

SETTINGS = """
import os

SECRET_KEY = "of the tests alone"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ROOT_URLCONF = "shop.urls"
INSTALLED_APPS = ["django.contrib.contenttypes"]
MIDDLEWARE = []
"""
MANAGE = """
import os
import sys

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
from django.core.management import execute_from_command_line

execute_from_command_line(sys.argv)
"""
MODULES = ["django.core.management", "django.db.backends.postgresql.base", "svc_pg.schema", "svc_pg.testing.delivering"]


@pytest.fixture
def developer(empty_database: str) -> Iterator[str]:
    """A role that may make databases, and no roles."""
    with new_role(empty_database, "login createdb") as role:
        yield role


def test_the_documented_tests_pass(empty_database: str, developer: str, tmp_path: Path) -> None:
    with psycopg.connect(empty_database) as conn:
        (needed,) = DatabaseFeatures.minimum_database_version or (0,)
        if conn.info.server_version // 10000 < needed:
            pytest.skip(f"Django {django.__version__} needs PostgreSQL {needed}")
    shown = dict(documented.files("tutorial/django.md"))
    server = conninfo_to_dict(empty_database)
    place = {"NAME": server["dbname"], "HOST": server["host"], "PORT": str(server["port"]), "USER": developer}
    files = shown | {
        "manage.py": dedent(MANAGE),
        "shop/settings.py": "\n".join(
            [
                SETTINGS,
                shown["shop/settings.py"],
                f'DATABASES["default"] |= {place!r}',
                'SVC_CONFIG = "svc-pg.toml"',
                'SVC_ROLES = False if "SHOP_WITHOUT_ROLES" in os.environ else None',
            ]
        ),
        **{name: text for name, text in documented.files("howto/test.md") if name.startswith("orders/")},
        **dict.fromkeys(["shop/__init__.py", "orders/__init__.py", "orders/migrations/__init__.py"], ""),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert forked("", ["manage.py", "makemigrations", "orders"], MODULES, folder=tmp_path).returncode == 0
    test = ["manage.py", "test", "--no-color", "--noinput"]
    refused = forked("", test, MODULES, folder=tmp_path)
    assert "SVC_ROLES = False in the settings does without roles" in refused.stderr
    done = forked("", test, MODULES, folder=tmp_path, variables={"SHOP_WITHOUT_ROLES": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Ran 4 tests" in done.stderr
