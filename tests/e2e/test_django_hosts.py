"""Django's admin and template tag show the log of SQLite, MariaDB and MySQL too."""

import json
import subprocess
import sys
from pathlib import Path

from tests.support.commands import environment
from tests.support.mysql import MySqlServer


def shows_everything(name: str, **database: object) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.hosts.other_databases", json.dumps(database), name],
        cwd=Path(__file__).parents[2],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_on_sqlite(tmp_path: Path) -> None:
    shows_everything("main.customer", ENGINE="django.db.backends.sqlite3", NAME=str(tmp_path / "shop.db"))


def test_on_mysql(mysql_server: MySqlServer) -> None:
    with mysql_server.new_database() as name:
        shows_everything(f"{name}.customer", **mysql_server.in_django(name))
