"""The tests that docs/howto/test.md shows for Django pass with the shop of its tutorial."""

from pathlib import Path
from textwrap import dedent

import django
import psycopg
import pytest
from django.db.backends.postgresql.features import DatabaseFeatures
from psycopg.conninfo import conninfo_to_dict

from tests.e2e.testing import documented
from tests.support.commands import forked

SETTINGS = """
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


def test_the_documented_tests_pass(empty_database: str, tmp_path: Path) -> None:
    with psycopg.connect(empty_database) as conn:
        (needed,) = DatabaseFeatures.minimum_database_version or (0,)
        if conn.info.server_version // 10000 < needed:
            pytest.skip(f"Django {django.__version__} needs PostgreSQL {needed}")
    shown = dict(documented.files("tutorial/django.md"))
    server = conninfo_to_dict(empty_database)
    place = {"NAME": server["dbname"], "HOST": server["host"], "PORT": str(server["port"]), "USER": server["user"]}
    files = shown | {
        "manage.py": dedent(MANAGE),
        "shop/settings.py": "\n".join(
            [
                SETTINGS,
                shown["shop/settings.py"],
                f'DATABASES["default"] |= {place!r}',
                'SVC_CONFIG = "svc-pg.toml"',
            ]
        ),
        **{name: text for name, text in documented.files("howto/test.md") if name.startswith("orders/")},
        **dict.fromkeys(["shop/__init__.py", "orders/__init__.py", "orders/migrations/__init__.py"], ""),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    for command in (["makemigrations", "orders"], ["test", "--no-color"]):
        done = forked("", ["manage.py", *command], MODULES, folder=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "Ran 4 tests" in done.stderr
