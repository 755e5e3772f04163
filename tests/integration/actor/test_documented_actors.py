"""The examples of docs/howto/actors.md name the actor, at the defaults of what they integrate with."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from svc_pg import Config, audit, schema
from svc_pg.database.query import scalar
from tests.integration.actor.django_shop import skip_unsupported
from tests.support.commands import environment
from tests.support.documents import examples, inline
from tests.support.postgres import Prepare

PAGE = "howto/actors.md"
CONFIG = {"audit": {"tables": [{"name": "invoice"}, {"name": "product"}]}}
COMMAND = """
from django.core.management.base import BaseCommand
from django.db import connection
from svc_pg import audit

class Command(BaseCommand):
    def handle(self, *args, **options):
        with audit.acting("manage.py reprice"), connection.cursor() as cursor:
            cursor.execute("update invoice set status = 'paid' where id = 7")
"""


def install(conninfo: str) -> None:
    with psycopg.connect(conninfo) as conn:
        conn.execute("create table invoice (id bigint primary key, status text)")
        conn.execute("create table product (id bigint primary key, price numeric)")
        conn.execute("insert into invoice values (7, 'open')")
        conn.execute("insert into product values (1, 10)")
        conn.commit()
        schema.install(conn, Config.model_validate(CONFIG))


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return install


@pytest.fixture
def connected(database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The conninfo, with the variables of libpq that name the same database, as the page assumes."""
    for variable, value in libpq(database).items():
        monkeypatch.setenv(variable, value)
    return database


def libpq(conninfo: str) -> dict[str, str]:
    found = psycopg.conninfo.conninfo_to_dict(conninfo)
    names = {"PGHOST": "host", "PGPORT": "port", "PGUSER": "user", "PGDATABASE": "dbname"}
    return {variable: str(found[name]) for variable, name in names.items()}


def last(conninfo: str) -> Any:
    with psycopg.connect(conninfo) as conn:
        return audit.query().operation("UPDATE").limit(1).list(conn).data[0]


def test_one_transaction_has_its_actor_tenant_and_context(connected: str) -> None:
    [block] = examples(PAGE, "One transaction")
    exec(block, {"psycopg": psycopg})
    entry = last(connected)
    assert (entry.actor_id, entry.tenant_id, entry.context) == ("mara", "acme", {"ticket": "T-81"})


def test_a_pool_at_its_defaults_names_the_actor_of_a_job(connected: str) -> None:
    [block] = examples(PAGE, "Jobs, scripts and tasks")
    names: dict[str, Any] = {"conninfo": connected}
    exec(block, names)
    names["pool"].close()
    entry = last(connected)
    assert (entry.actor_id, entry.context) == ("nightly-import", {"file": "prices.csv"})


def test_changes_without_an_actor_are_found_and_then_refused_until_the_role_has_one(connected: str) -> None:
    [found], [setting] = examples(PAGE, "", "sql"), examples(PAGE, "Refuse changes without an actor", "toml")
    [default] = examples(PAGE, "Refuse changes without an actor", "sql")
    change = "update invoice set status = 'void' where id = 7"
    role = f"node_{os.getpid()}"
    with psycopg.connect(connected) as conn:
        conn.execute(change)
        conn.commit()
        assert [row[0] for row in conn.execute(found).fetchall()] == ["public.invoice"]
        conn.commit()
        config = CONFIG | {"audit": {**CONFIG["audit"], **tomllib.loads(setting)["audit"]}}
        schema.install(conn, Config.model_validate(config))
        with pytest.raises(psycopg.Error, match="nobody is named as the actor of this change") as refused:
            conn.execute("update invoice set status = 'open' where id = 7")
        assert refused.value.sqlstate == "SV005"
        conn.rollback()
        conn.execute(SQL("create role {} login").format(Identifier(role)))
        conn.execute(SQL("grant select, update on invoice to {}").format(Identifier(role)))
        database = scalar(conn, "select current_database()")
        conn.execute(default.replace("node_service", role).replace("database shop", f"database {database}"))
    try:
        with psycopg.connect(connected, user=role) as conn:
            conn.execute("update invoice set status = 'open' where id = 7")
        assert last(connected).actor_id == "node-service"
    finally:
        with psycopg.connect(connected) as conn:
            conn.execute(SQL("drop owned by {}").format(Identifier(role)))
            conn.execute(SQL("drop role {}").format(Identifier(role)))


def test_psql_names_the_actor_of_its_session(connected: str, tmp_path: Path) -> None:
    [command], [setting] = examples(PAGE, "psql", "sh"), inline(PAGE, "psql", start="set svc.actor_id")
    file = tmp_path / "psqlrc"
    file.write_text(f"{setting}\n", encoding="utf-8")
    database = libpq(connected)["PGDATABASE"]
    asked = command.replace("psql shop", f"psql {database}").strip()
    given = {**libpq(connected), "PATH": os.environ["PATH"]}
    for status, run, environ, actor in (
        ("void", f"{asked} -X", given, "mara@corp.example"),
        ("paid", "psql", given | {"PSQLRC": str(file)}, given["PGUSER"]),
    ):
        change = f"{run} -c \"update invoice set status = '{status}' where id = 7\""
        subprocess.run(["sh", "-c", change], env=environment(**environ), check=True, capture_output=True)
        assert last(connected).actor_id == actor


def test_a_management_command_of_a_new_project_names_its_actor(connected: str, tmp_path: Path) -> None:
    skip_unsupported(connected)
    [app] = examples(PAGE, "Django's management commands and shell")
    run = [sys.executable, "-m", "django", "startproject", "site_", str(tmp_path)]
    subprocess.run(run, check=True, capture_output=True, env=environment())
    found = libpq(connected)
    database = {
        "ENGINE": "django.db.backends.postgresql", "NAME": found["PGDATABASE"], "USER": found["PGUSER"],
        "HOST": found["PGHOST"], "PORT": found["PGPORT"],
    }  # fmt: skip
    with (tmp_path / "site_" / "settings.py").open("a", encoding="utf-8") as settings:
        settings.write(f"\nDATABASES = {{'default': {database!r}}}\nINSTALLED_APPS += ['shop']\n")
    commands = tmp_path / "shop" / "management" / "commands"
    commands.mkdir(parents=True)
    for folder in (commands, commands.parent, commands.parent.parent):
        (folder / "__init__.py").touch()
    (tmp_path / "shop" / "apps.py").write_text(app, encoding="utf-8")
    (commands / "reprice.py").write_text(COMMAND, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "manage.py", "reprice"], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert last(connected).actor_id == "manage.py reprice"
