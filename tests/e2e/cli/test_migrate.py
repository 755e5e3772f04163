import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import psycopg
import pytest
from django.db.backends.postgresql.features import DatabaseFeatures
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import SQL, Identifier
from sqlalchemy import URL

from svc_pg.database.query import scalar
from svc_pg.schema.export.script import statements
from tests.support.commands import environment, forked, svc_pg
from tests.support.postgres import URL_VARIABLE, copied, new_database, server

# A configuration in which everything is that a framework could misread: %, colons, backslashes, quotes
CONFIG = """
[[audit.tables]]
name = "public.shop_customer"
redact = ["odd%s:name\\\\"]

[webhooks.events."order.created"]
description = 'An order, 100% :placed \\: by {somebody} and "others"'
schema = { type = "object", enum = [":a", "%s", "\\\\:b", '""\"'] }
"""
TABLES = """
create table shop_customer (id int primary key, email text, "odd%s:name\\" text);
create table shop_order (id int primary key, customer_id int)
"""
RETRY = '\n[webhooks]\nretry = "long"\n'
KEPT_FUNCTIONS = (
    "select array_agg(proname::text order by proname) from pg_proc where pronamespace = 'svc'::regnamespace"
)
GUARDS = ["audit_guard", "audit_guard_holds", "audit_new_epoch", "console_guard_events"]
ORDERS = '\n[[audit.tables]]\nname = "shop_order"\n'


@dataclass(frozen=True)
class Project:
    """A folder with a configuration, and the database of its developer."""

    folder: Path
    conninfo: str

    def run(self, *arguments: str, conninfo: str | None = None) -> "subprocess.CompletedProcess[str]":
        return svc_pg(*arguments, folder=self.folder, variables={"DATABASE_URL": conninfo or self.conninfo})

    def configure(self, text: str) -> None:
        (self.folder / "svc-pg.toml").write_text(text, encoding="utf-8")

    def status(self) -> str:
        done = self.run("status")
        return done.stderr if done.returncode == 0 else done.stdout + done.stderr

    def alembic(self, *arguments: str) -> str:
        """Run Alembic's own command in the folder, with the database in its environment."""
        modules = ["alembic.config", "sqlalchemy.ext.asyncio", "sqlalchemy.dialects.postgresql.psycopg", "psycopg"]
        return self.tool("alembic.config:main", ["alembic", *arguments], *modules)

    def manage(self, *arguments: str) -> str:
        """Run the project's manage.py in the folder."""
        return self.tool("", ["manage.py", *arguments], "django.core.management", "django.db.backends.postgresql.base")

    def tool(self, function: str, command: list[str], *modules: str) -> str:
        variables = {"DATABASE_URL": self.conninfo, "SHOP_URL": sqlalchemy_url(self.conninfo)}
        done = forked(function, command, modules, folder=self.folder, variables=variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr


def sqlalchemy_url(conninfo: str) -> str:
    parts: dict[str, Any] = conninfo_to_dict(conninfo)
    return URL.create(
        "postgresql",
        username=parts["user"],
        password=parts.get("password"),
        host=parts["host"],
        port=int(parts["port"]),
        database=parts["dbname"],
    ).render_as_string(hide_password=False)


def query(project: Project, text: Any) -> Any:
    with psycopg.connect(project.conninfo) as conn:
        return scalar(conn, text)


@pytest.fixture
def project(empty_database: str, tmp_path: Path) -> Project:
    """A project with tables and nothing of svc-pg."""
    with psycopg.connect(empty_database) as conn:
        conn.execute(TABLES)
    made = Project(tmp_path, empty_database)
    made.configure(CONFIG)
    return made


@pytest.fixture(scope="module")
def unchanged(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """As ``project``, for all cases that change nothing in the database."""
    with new_database(postgres) as conninfo:
        with psycopg.connect(conninfo) as conn:
            conn.execute(TABLES)
        made = Project(tmp_path_factory.mktemp("unchanged"), conninfo)
        made.configure(CONFIG)
        yield made


@pytest.fixture(scope="module")
def script(unchanged: Project) -> str:
    """The script for the database of a project, which is the same for each."""
    return unchanged.run("migrate", "--format", "sql").stdout


def execute(project: Project, script: str) -> None:
    """As ``psql -f`` does: statement by statement, transactions as the script says, and on after an error."""
    with psycopg.connect(project.conninfo, autocommit=True) as conn:
        failure = None
        for statement in statements(script):
            try:
                conn.execute(statement.encode())
            except psycopg.Error as error:
                failure = failure or error
    if failure:
        raise failure


def test_after_the_script_everything_is_installed(project: Project) -> None:
    done = project.run("migrate", "-o", "svc.sql")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "wrote svc.sql\n")
    assert query(project, "select to_regnamespace('svc') is null")
    execute(project, (project.folder / "svc.sql").read_text(encoding="utf-8"))
    assert project.status().startswith("ok: all ")
    assert project.run("install").stderr.startswith("Nothing to change")
    with psycopg.connect(project.conninfo) as conn:
        conn.execute("insert into shop_customer values (1, 'a@example.com', 'secret')")
        assert scalar(conn, "select after_data::text from svc.audit_logs") == '{"id": 1, "email": "a@example.com"}'


def test_the_script_is_the_same_as_an_install(project: Project, script: str) -> None:
    """Not only status, which reads the records that the script wrote, says so: the catalog does too."""
    execute(project, script)
    facts = """
        select array_agg(fact order by fact) from (
            select p.oid::regprocedure || pg_get_functiondef(p.oid) || pg_get_userbyid(p.proowner)
                   || array(select item::text from unnest(p.proacl) item order by 1)::text
              from pg_proc p where pronamespace = 'svc'::regnamespace
            union all
            select c.relname || c.relkind::text || pg_get_userbyid(c.relowner)
                   || array(select item::text from unnest(c.relacl) item order by 1)::text
              from pg_class c where relnamespace = 'svc'::regnamespace
            union all
            select tgrelid::regclass || pg_get_triggerdef(oid) || tgenabled::text
              from pg_trigger where tgfoid in (select oid from pg_proc where pronamespace = 'svc'::regnamespace)
            union all
            select r::text from svc.installed_objects o cross join lateral
                   (select o.kind, o.identity, o.audited_table, o.source_sha256, o.catalog_sha256) r
        ) x (fact)"""
    of_script = query(project, facts)
    assert project.run("uninstall", "--drop-data", "--yes").returncode == 0
    assert project.run("install").returncode == 0
    assert of_script == query(project, facts)


def test_a_database_that_quotes_all_identifiers_gets_the_same(project: Project) -> None:
    with psycopg.connect(project.conninfo) as conn:
        name = Identifier(conn.info.dbname)
        conn.execute(SQL("alter database {} set quote_all_identifiers = on").format(name))
    execute(project, project.run("migrate").stdout)
    assert project.status().startswith("ok: all ")


def test_a_second_run_fails_and_changes_nothing(project: Project, script: str) -> None:
    execute(project, script)
    installed_at = query(project, "select max(installed_at) from svc.installed_objects")
    with pytest.raises(psycopg.errors.RaiseException, match="has run in this database already"):
        execute(project, script)
    assert query(project, "select max(installed_at) from svc.installed_objects") == installed_at
    assert project.status().startswith("ok")


def test_a_script_for_another_state_fails_and_says_what_differs(project: Project) -> None:
    assert project.run("install").returncode == 0
    project.configure(CONFIG + RETRY)
    script = project.run("migrate").stdout
    with psycopg.connect(project.conninfo) as conn:
        conn.execute("update svc.installed_objects set source_sha256 = 'other' where identity ~ '^svc.send[(]'")
    with pytest.raises(psycopg.errors.RaiseException, match=r"another state of the database: .*function svc\.send"):
        execute(project, script)


def test_a_later_script_needs_an_installation(project: Project) -> None:
    assert project.run("install").returncode == 0
    project.configure(CONFIG + ORDERS)
    script = project.run("migrate").stdout
    assert project.run("uninstall", "--drop-data", "--yes").returncode == 0
    with pytest.raises(psycopg.errors.RaiseException, match="is not installed in this database"):
        execute(project, script)


def test_a_schema_svc_of_somebody_else_is_left_alone(project: Project, script: str) -> None:
    with psycopg.connect(project.conninfo) as conn:
        conn.execute("create schema svc")
    with pytest.raises(psycopg.errors.RaiseException, match="svc-pg did not make it"):
        execute(project, script)


def test_without_a_transaction_the_script_stops_before_it_changes_anything(unchanged: Project, script: str) -> None:
    [_begin, settings, lock, check, *_changes] = statements(script)
    with psycopg.connect(unchanged.conninfo, autocommit=True) as conn:
        conn.execute(settings.encode())
        conn.execute(lock.encode())
        with pytest.raises(psycopg.errors.RaiseException, match="in one transaction"):
            conn.execute(check.encode())


def test_a_later_script_brings_changes_of_every_kind(project: Project) -> None:
    project.configure(CONFIG + ORDERS)
    assert project.run("install").returncode == 0
    with psycopg.connect(project.conninfo) as conn:
        conn.execute(
            "drop function svc.webhook_next_due;"
            "create function svc.webhook_next_due(p_x int) returns int language sql as 'select 1'"
        )
        conn.execute(
            'alter table shop_customer disable trigger "00_svc_audit_write"; alter table shop_customer add phone text'
        )
        conn.execute("grant select on svc.audit_logs to public")
    project.configure(CONFIG + RETRY)
    refused = project.run("migrate")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "public.shop_order" in refused.stderr
    execute(project, project.run("migrate", "--prune").stdout)
    assert "svc-pg install --backfill" in project.status()  # a trigger was off
    assert project.run("install", "--backfill").returncode == 0
    assert project.status().startswith("ok")
    assert query(project, "select count(*) from pg_trigger where tgrelid = 'shop_order'::regclass") == 0


def test_whoever_may_create_roles_and_schemas_can_run_the_script(postgres_choice: str | None, tmp_path: Path) -> None:
    if os.environ.get(URL_VARIABLE):
        pytest.skip(f"needs a server on which the roles are not there yet, and {URL_VARIABLE} names one")
    with server(postgres_choice) as superuser:
        with psycopg.connect(superuser, autocommit=True) as conn:
            conn.execute("create role deployer login createrole")
            conn.execute("create database shop owner deployer")
        project = Project(tmp_path, make_conninfo(superuser, user="deployer", dbname="shop"))
        project.configure(CONFIG)
        with psycopg.connect(project.conninfo) as conn:
            conn.execute(TABLES)
        execute(project, project.run("migrate").stdout)
        assert project.status().startswith("ok")
        assert query(project, "select nspowner::regrole::text from pg_namespace where nspname = 'svc'") == "svc_owner"
        project.configure(CONFIG + ORDERS)
        execute(project, project.run("migrate").stdout)
        assert project.status().startswith("ok")


def test_with_nothing_to_change_nothing_is_written(project: Project) -> None:
    assert project.run("install").returncode == 0
    done = project.run("migrate", "-o", "svc.sql")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("Nothing to change")
    assert not (project.folder / "svc.sql").exists()


def test_the_script_is_the_same_each_time(project: Project, script: str) -> None:
    assert project.run("migrate").stdout == script


@pytest.mark.parametrize(
    ("files", "arguments", "code", "message"),
    [
        ([], ["-o", "nowhere/svc.sql"], 1, "nowhere/svc.sql cannot be written"),
        ([], ["--format", "flyway"], 2, "flyway"),
        (["alembic.ini", "manage.py"], [], 1, "both alembic.ini and manage.py"),
        (["alembic.ini"], [], 1, "alembic.ini: "),
        (["manage.py"], [], 1, "the Django project cannot be loaded"),
        ([], ["--format", "alembic"], 1, "there is no alembic.ini here"),
        ([], ["-o", "svc.py"], 1, "neither alembic.ini nor manage.py"),
        ([], ["--format", "django"], 1, "the Django project cannot be loaded"),
    ],
)
def test_what_is_wrong_is_said(
    unchanged: Project, tmp_path: Path, files: list[str], arguments: list[str], code: int, message: str
) -> None:
    project = Project(tmp_path, unchanged.conninfo)
    project.configure(CONFIG)
    for file in files:
        (project.folder / file).write_text(
            "raise SystemExit('broken')" if file == "manage.py" else "", encoding="utf-8"
        )
    done = project.run("migrate", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


ENV = """
import os
from alembic import context
from sqlalchemy import create_engine, make_url

url = make_url(os.environ["SHOP_URL"]).set(drivername="postgresql+{driver}")
if context.is_offline_mode():
    context.configure(url=url, literal_binds=True, dialect_opts={{"paramstyle": "named"}})
    with context.begin_transaction():
        context.run_migrations()
else:
    with create_engine(url).connect() as connection:
        context.configure(connection=connection)
        with context.begin_transaction():
            context.run_migrations()
"""
ASYNC_ENV = """
import asyncio
import os
from alembic import context
from sqlalchemy import make_url
from sqlalchemy.ext.asyncio import create_async_engine


def migrate(connection):
    context.configure(connection=connection)
    with context.begin_transaction():
        context.run_migrations()


async def run():
    engine = create_async_engine(make_url(os.environ["SHOP_URL"]).set(drivername="postgresql+{driver}"))
    async with engine.connect() as connection:
        await connection.run_sync(migrate)
    await engine.dispose()


asyncio.run(run())
"""


@pytest.fixture(scope="module")
def alembic_folder(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with Alembic and its first revision."""
    made = Project(tmp_path_factory.mktemp("alembic"), postgres)
    made.alembic("init", "migrations")
    made.alembic("revision", "-m", "tables", "--rev-id", "first")
    return made.folder


@pytest.fixture
def alembic(project: Project, alembic_folder: Path) -> Project:
    """The project with Alembic, whose first revision has made the tables."""
    return with_alembic(project, alembic_folder, ENV.format(driver="psycopg"))


def with_alembic(project: Project, folder: Path, env: str) -> Project:
    shutil.copytree(folder, project.folder, dirs_exist_ok=True)
    (project.folder / "migrations" / "env.py").write_text(env, encoding="utf-8")
    with psycopg.connect(project.conninfo) as conn:
        conn.execute("create table alembic_version (version_num text primary key)")
        conn.execute("insert into alembic_version values ('first')")
    return project


@pytest.mark.parametrize(
    ("env", "driver"), [(ENV, "psycopg"), (ENV, "psycopg2"), (ASYNC_ENV, "asyncpg"), (ASYNC_ENV, "psycopg_async")]
)
def test_alembic_goes_up_and_down_and_up_again(project: Project, alembic_folder: Path, env: str, driver: str) -> None:
    pytest.importorskip(driver.removesuffix("_async"))
    with_alembic(project, alembic_folder, env.format(driver=driver))
    done = project.run("migrate")
    assert done.returncode == 0, done.stderr
    [written] = (project.folder / "migrations" / "versions").glob("*_svc_pg.py")
    assert str(written.relative_to(project.folder)) in done.stderr.replace("\n", "")
    project.alembic("upgrade", "head")
    assert project.status().startswith("ok")
    assert query(project, "select version_num from alembic_version") == written.name.split("_")[0]
    with psycopg.connect(project.conninfo) as conn:
        conn.execute("insert into shop_customer values (1)")
    project.alembic("downgrade", "-1")
    assert query(project, "select count(*) from pg_trigger where tgrelid = 'shop_customer'::regclass") == 0
    assert query(project, "select count(*) from svc.audit_logs") == 1
    assert query(project, KEPT_FUNCTIONS) == GUARDS
    project.alembic("upgrade", "head")
    assert "svc-pg install --backfill" in project.status()  # nothing was captured between
    assert project.run("install", "--backfill").returncode == 0
    assert project.status().startswith("ok")


@pytest.mark.parametrize(
    ("template", "driver"), [("generic", "psycopg"), ("pyproject", "psycopg"), ("async", "asyncpg")]
)
def test_alembics_own_templates_need_only_an_address(project: Project, template: str, driver: str) -> None:
    with_template(project, template, driver)
    done = project.run("migrate")
    assert done.returncode == 0, done.stderr
    for step in (["upgrade", "head"], ["downgrade", "-1"], ["upgrade", "head"]):
        project.alembic(*step)
    assert "svc-pg install --backfill" in project.status()  # nothing was captured between
    assert project.run("install", "--backfill").returncode == 0
    assert project.status().startswith("ok")


def test_alembics_template_for_several_databases_is_refused(project: Project) -> None:
    with_template(project, "multidb", "psycopg")
    done = project.run("migrate")
    assert (done.returncode, "in several databases" in done.stderr) == (1, True)
    assert project.run("migrate", "--format", "sql").returncode == 0


def with_template(project: Project, template: str, driver: str) -> None:
    if template == "pyproject":
        (project.folder / "pyproject.toml").write_text('[project]\nname = "shop"\nversion = "1"\n', encoding="utf-8")
    project.alembic("init", "--template", template, "migrations")
    ini = project.folder / "alembic.ini"
    server = conninfo_to_dict(project.conninfo)
    address = f"postgresql+{driver}://{server['user']}@{server['host']}:{server['port']}/{server['dbname']}"
    changed = re.sub(r"(?m)^sqlalchemy.url = .*$", f"sqlalchemy.url = {address}", ini.read_text(encoding="utf-8"))
    ini.write_text(changed, encoding="utf-8")


def test_a_second_alembic_revision_follows_the_first(alembic: Project) -> None:
    alembic.run("migrate")
    [first] = (alembic.folder / "migrations" / "versions").glob("*_svc_pg.py")
    again = alembic.run("migrate")
    assert (again.returncode, f"{first.name} has these changes" in again.stderr.replace("\n", "")) == (1, True)
    (first.parent / ".#lock.py").symlink_to("nobody@nowhere")
    formatted = first.read_text(encoding="utf-8").replace("MADE_FOR = '", 'MADE_FOR = "').replace("'  # a", '"  # ä')
    first.write_text(f"# -*- coding: latin-1 -*-\n{formatted}", encoding="latin-1")
    alembic.configure(CONFIG + ORDERS)
    edited = alembic.run("migrate")
    assert (edited.returncode, f"{first.name} has not run in this" in edited.stderr.replace("\n", "")) == (1, True)
    assert len(list(first.parent.glob("*_svc_pg.py"))) == 1
    alembic.alembic("upgrade", "head")
    alembic.configure(CONFIG + ORDERS)
    assert f"{first} exists already" in alembic.run("migrate", "-o", str(first)).stderr
    alembic.run("migrate")
    alembic.alembic("upgrade", "head")
    assert alembic.status().startswith("ok")
    alembic.alembic("downgrade", "-1")
    alembic.configure(CONFIG)
    assert alembic.status().startswith("ok")
    alembic.alembic("downgrade", "first")
    alembic.alembic("upgrade", "head")


def test_the_folders_of_flask_migrate_and_of_alembics_pyproject_are_found(alembic: Project) -> None:
    ini, versions = alembic.folder / "alembic.ini", alembic.folder / "migrations" / "versions"
    ini.write_text("[alembic]\n", encoding="utf-8")
    (alembic.folder / "pyproject.toml").write_text('[tool.alembic]\nscript_location = "migrations"\n', encoding="utf-8")
    assert alembic.run("migrate", "-o", "toml.py").returncode == 0
    ini.rename(versions.parent / "alembic.ini")
    assert alembic.run("migrate").returncode == 0
    [written] = versions.glob("*_svc_pg.py")
    assert "down_revision = 'first'" in written.read_text(encoding="utf-8")
    assert "hint: Run it: flask db upgrade" in alembic.run("migrate").stderr


def test_alembic_writes_the_revision_as_sql_too(alembic: Project) -> None:
    alembic.run("migrate")
    [written] = (alembic.folder / "migrations" / "versions").glob("*_svc_pg.py")
    program = Path(sys.executable).with_name("alembic")
    script = subprocess.run(
        [program, "upgrade", "first:head", "--sql"],
        cwd=alembic.folder,
        env=environment(SHOP_URL=sqlalchemy_url(alembic.conninfo), DATABASE_URL=alembic.conninfo),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    execute(alembic, script)
    assert alembic.status().startswith("ok")
    assert query(alembic, "select version_num from alembic_version") == written.name.split("_")[0]


def test_several_heads_of_alembic_are_named(alembic: Project) -> None:
    alembic.alembic("revision", "-m", "left", "--head", "first")
    alembic.alembic("revision", "-m", "right", "--head", "first", "--splice")
    done = alembic.run("migrate")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Merge the heads" in done.stderr


SETTINGS = """
import os
from psycopg.conninfo import conninfo_to_dict, make_conninfo

parts = conninfo_to_dict(os.environ["DATABASE_URL"])
SECRET_KEY = "test"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
INSTALLED_APPS = ["shop", "billing", "django.contrib.contenttypes"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts["dbname"], "HOST": parts["host"], "PORT": parts["port"], "USER": parts["user"],
        "PASSWORD": parts.get("password", ""),
    }
}
"""
SHOP = """
from django.db import models


class Customer(models.Model):
    email = models.TextField()
    odd = models.TextField(db_column="odd:name\\\\")
"""
BILLING = """
from django.db import models


class Invoice(models.Model):
    total = models.DecimalField(max_digits=10, decimal_places=2)
"""
INVOICES = '\n[[audit.tables]]\nname = "billing_invoice"\n'


@pytest.fixture(scope="module")
def migrated(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A Django project with two apps, migrated."""
    with psycopg.connect(postgres) as conn:
        if conn.info.server_version < (DatabaseFeatures.minimum_database_version or (0,))[0] * 10000:
            pytest.skip("this Django needs a newer PostgreSQL")
    with new_database(postgres) as conninfo:
        project = Project(tmp_path_factory.mktemp("django"), conninfo)
        make_django(project)
        yield project


@pytest.fixture
def django(maintenance: psycopg.Connection[Any], postgres: str, migrated: Project, tmp_path: Path) -> Iterator[Project]:
    """A copy of ``migrated``."""
    shutil.copytree(migrated.folder, tmp_path, dirs_exist_ok=True)
    template = str(conninfo_to_dict(migrated.conninfo)["dbname"])
    with copied(maintenance, postgres, template=template) as conninfo:
        yield Project(tmp_path, conninfo)


def make_django(project: Project) -> None:
    project.configure(CONFIG.replace("odd%s", "odd") + INVOICES)  # Django itself cannot write to a column with a %
    program = "import os, sys\nos.environ.setdefault('DJANGO_SETTINGS_MODULE', 'settings')\n"
    program += "from django.core.management import execute_from_command_line\nexecute_from_command_line(sys.argv)\n"
    files = {"manage.py": program, "settings.py": SETTINGS, "shop/models.py": SHOP, "billing/models.py": BILLING}
    for name, text in files.items():
        path = project.folder / name
        path.parent.mkdir(exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(dedent(text), encoding="utf-8")
    (project.folder / "__init__.py").unlink()
    project.manage("makemigrations", "shop", "billing")
    project.manage("migrate")


def test_django_goes_forward_and_back_and_forward_again(django: Project) -> None:
    done = django.run("migrate", "--app", "shop")
    assert done.returncode == 0, done.stderr
    written = django.folder / "shop" / "migrations" / "0002_svc_pg.py"
    text = written.read_text(encoding="utf-8")
    assert "dependencies = [('shop', '0001_initial'), ('billing', '0001_initial')]" in text
    again = django.run("migrate", "--app", "shop")
    assert (again.returncode, "hint: Run it: manage.py migrate. If" in again.stderr) == (1, True)
    django.manage("makemigrations", "--check")
    django.manage("migrate")
    assert django.status().startswith("ok")
    with psycopg.connect(django.conninfo) as conn:
        conn.execute("insert into shop_customer values (1, 'a', 'b')")
    django.manage("migrate", "shop", "0001")
    assert query(django, "select count(*) from svc.audit_logs") == 1
    assert query(django, KEPT_FUNCTIONS) == GUARDS
    django.manage("migrate")
    assert "svc-pg install --backfill" in django.status()  # nothing was captured between
    assert django.run("install", "--backfill").returncode == 0
    assert django.status().startswith("ok")


def test_django_builds_a_new_database_from_nothing(django: Project) -> None:
    django.run("migrate", "--app", "shop")
    (django.folder / "shop" / "tests.py").write_text(
        dedent("""
        from django.db import connection
        from django.test import TestCase
        from shop.models import Customer

        class Audited(TestCase):
            def test_an_insert_is_on_record(self):
                Customer.objects.create(email="a@example.com", odd="secret")
                with connection.cursor() as cursor:
                    cursor.execute("select after_data::text from svc.audit_logs")
                    self.assertEqual(cursor.fetchall(), [('{"id": 1, "email": "a@example.com"}',)])
        """),
        encoding="utf-8",
    )
    assert "OK" in django.manage("test", "shop")


def test_of_several_django_apps_one_has_to_be_named(django: Project) -> None:
    unclear = django.run("migrate")
    assert unclear.returncode == 1
    assert "apps with migrations: billing, shop" in unclear.stderr
    unknown = django.run("migrate", "--app", "shpo")
    assert unknown.returncode == 1
    assert 'no app "shpo" has migrations' in unknown.stderr


def test_a_file_in_the_migrations_of_an_app_tells_the_app(django: Project) -> None:
    file = "billing/migrations/0002_audit.py"
    done = django.run("migrate", "-o", file)
    assert (done.returncode, done.stderr) == (0, f"wrote {file}\n")
    assert "('billing', '0001_initial'), ('shop', '0001_initial')" in (django.folder / file).read_text(encoding="utf-8")
    django.manage("migrate")
    assert django.status().startswith("ok")


def test_a_file_called_sql_is_sql_also_in_a_django_project(django: Project) -> None:
    assert django.run("migrate", "-o", "svc.sql").returncode == 0
    assert "begin;" in (django.folder / "svc.sql").read_text(encoding="utf-8")
    assert not list(django.folder.glob("*/migrations/*svc_pg.py"))


def test_statements_end_at_semicolons_that_are_none_inside_something() -> None:
    script = """-- a; b
        select ';', e'\\';', "a;b" /* ; */; do $x$ begin; $y$;$y$ end $x$;
        -- the end; of it
    """
    assert statements(script) == [
        """-- a; b\n        select ';', e'\\';', "a;b" /* ; */""",
        "do $x$ begin; $y$;$y$ end $x$",
    ]
