"""``svc-pg migrate`` for SQLite, MariaDB and MySQL: the same state as an install, around changes of tables."""

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pymysql
import pytest

from svc_pg import Config, schema
from svc_pg.errors import InstallError
from svc_pg.other_databases.schema.mysql import sql_script as mysql_script
from svc_pg.other_databases.schema.sqlite import sql_script as sqlite_script
from svc_pg.schema.export.script import Script
from tests.e2e.cli.test_migrate import sqlalchemy_url
from tests.support.commands import forked, svc_pg
from tests.support.documents import examples
from tests.support.mysql import MySqlServer

# Everything is in it that a framework could misread: %, colons, backslashes, quotes, ends of statements
CONFIG = """
[[audit.tables]]
name = "shop_customer"
redact = ["odd%s:name"]

[[audit.tables.enrich]]
operation = "INSERT"
label = '''100% :new \\: "customer"; $$ it's
end;'''
"""
ORDERS = '\n[[audit.tables]]\nname = "shop_order"\n'
TABLES = (
    "create table shop_customer (id integer primary key, email varchar(100), {odd} varchar(100))",
    "create table shop_order (id integer primary key, customer_id integer)",
)
ODD = "odd%s:name"
INSERT = "insert into shop_customer (id, email) values (1, 'a@example.com')"


@dataclass(frozen=True)
class Place:
    """A folder with a configuration, a database with tables, and how to ask it."""

    folder: Path
    address: str
    connect: Callable[[], Any]
    make_script: Callable[..., Script | None]
    make_removal: Callable[..., Script]

    def query(self, statement: str) -> list[Any]:
        with closing(self.connect()) as conn, closing(conn.cursor()) as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def apply(self, made: Script | None, *, back: bool = False) -> None:
        """Run the statements in one session, as a migration does; SQLite's in one transaction."""
        assert made
        with closing(self.connect()) as conn, closing(conn.cursor()) as cursor:
            if made.closing == "commit;":
                cursor.execute("begin")
            for statement in made.split(made.downgrade if back else made.upgrade):
                cursor.execute(statement)
            conn.commit()

    def script(self, config: Config, **options: Any) -> Script | None:
        with closing(self.connect()) as conn:
            return self.make_script(conn, config, **options)

    def removal(self, config: Config, *tables: str) -> Script:
        with closing(self.connect()) as conn:
            return self.make_removal(conn, config, tables)

    def states(self, config: Config) -> set[str]:
        with closing(self.connect()) as conn:
            return {entry.state for entry in schema.status(conn, config)}

    def facts(self, log: str) -> list[Any]:
        """Everything that an install leaves, but times and keys."""
        return [
            sorted(self.query(f"select {columns} from {log.format(table)}"))
            for table, columns in (
                ("installed_objects", "kind, identity, audited_table, source_sha256, catalog_sha256"),
                ("migrations", "number, name, sha256"),
                ("installation", "version"),
            )
        ]

    def run(self, *arguments: str, named: bool = True) -> "subprocess.CompletedProcess[str]":
        """Run the command; the environment names the database unless told."""
        return svc_pg(*arguments, folder=self.folder, variables={"DATABASE_URL": self.address} if named else {})

    def tool(self, function: str, command: list[str], *modules: str) -> str:
        done = forked(function, command, modules, folder=self.folder, variables={"SHOP_URL": self.address})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr


def configuration(folder: Path, text: str) -> Config:
    path = folder / "svc-pg.toml"
    path.write_text(text, encoding="utf-8")
    return Config.find(str(path))


@pytest.fixture
def sqlite(tmp_path: Path) -> Place:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as conn:
        for table in TABLES:
            conn.execute(table.format(odd=f'"{ODD}"'))
    return Place(
        tmp_path,
        f"sqlite:///{path}",
        lambda: sqlite3.connect(path, isolation_level=None),
        sqlite_script.script,
        sqlite_script.removal,
    )


@pytest.fixture
def mysql(tmp_path: Path, mysql_server: MySqlServer) -> Iterator[Place]:
    # as servers that others run are set, on MySQL also for temporary tables
    strict = {} if mysql_server.kind == "mariadb" else {"init_command": "set sql_require_primary_key = on"}
    with mysql_server.new_database() as name:
        with closing(mysql_server.connect(name)) as conn, conn.cursor() as cursor:
            for table in TABLES:
                cursor.execute(table.format(odd=f"`{ODD}`"))
        yield Place(
            tmp_path,
            mysql_server.address(name).replace("://", "+pymysql://"),
            lambda: mysql_server.connect(name, **strict),
            mysql_script.script,
            mysql_script.removal,
        )


def around_a_change(place: Place, log: str, change: str, change_back: str) -> None:
    """The script is the same as an install; then a table changes between a script that drops and one that makes."""
    config = configuration(place.folder, CONFIG + ORDERS)
    made = place.script(config)
    assert made
    assert [table.partition(".")[2] for table in made.tables] == ["shop_customer", "shop_order"]
    place.apply(made)
    assert place.states(config) == {"ok"}
    assert place.script(config) is None
    facts = place.facts(log)
    with closing(place.connect()) as conn:
        schema.uninstall(conn, drop_data=True)
        schema.install(conn, config)
    assert place.facts(log) == facts

    removal = place.removal(config, "shop_order")
    place.apply(removal)
    place.query(change)
    after = place.script(config)
    place.apply(after)
    assert place.states(config) == {"ok"}
    place.apply(after, back=True)
    place.query(change_back)
    place.apply(removal, back=True)
    assert place.facts(log) == facts


def test_sqlite_around_a_change_of_a_table(sqlite: Place) -> None:
    around_a_change(
        sqlite,
        "svc_{}",
        "alter table shop_order drop column customer_id",
        "alter table shop_order add column customer_id integer",
    )


def test_mysql_around_a_change_of_a_table(mysql: Place) -> None:
    around_a_change(
        mysql,
        "svc.{}",
        "alter table shop_order change customer_id buyer_id int",
        "alter table shop_order change buyer_id customer_id int",
    )


def beside_a_new_column(place: Place, log: str) -> None:
    """Down again, the triggers are those of before: those of the script name a column that goes next."""
    config = configuration(place.folder, CONFIG + ORDERS)
    place.apply(place.script(config))
    facts = place.facts(log)
    place.query("alter table shop_order add column note varchar(20)")
    beside = place.script(config)
    place.apply(beside)
    assert place.states(config) == {"ok"}
    place.apply(beside, back=True)
    assert place.facts(log) == facts
    place.query("alter table shop_order drop column note")
    place.query("insert into shop_order (id, customer_id) values (7, 8)")
    assert place.states(config) == {"ok"}
    place.query("alter table shop_order add column note varchar(20)")
    place.apply(beside)
    assert place.states(config) == {"ok"}


def test_sqlite_goes_down_beside_a_new_column(sqlite: Place) -> None:
    beside_a_new_column(sqlite, "svc_{}")


def test_mysql_goes_down_beside_a_new_column(mysql: Place) -> None:
    beside_a_new_column(mysql, "svc.{}")


def mends_what_others_changed(place: Place, name: str, *changes: str) -> None:
    """The fingerprint of its source is that of after the script, which has not run yet."""
    config = configuration(place.folder, CONFIG)
    place.apply(place.script(config))
    for change in changes:
        place.query(change.format(name))
    assert place.states(config) == {"ok", "tampered"}
    place.apply(place.script(config))
    assert place.states(config) == {"ok"}


def test_a_script_of_sqlite_mends_what_others_changed(sqlite: Place) -> None:
    name = '"00_svc_audit_insert_shop_customer"'
    made = "create trigger {} after insert on shop_customer begin select 1; end"
    mends_what_others_changed(sqlite, name, "drop trigger {}", made)


def test_a_script_of_mysql_mends_what_others_changed(mysql: Place) -> None:
    name = "`00_svc_audit_insert_shop_customer`"
    made = "create trigger {} after insert on shop_customer for each row begin end"
    mends_what_others_changed(mysql, name, "drop trigger {}", made)


def a_name_that_reads_like_two(place: Place, quoted: str) -> None:
    """The identity of a trigger is its name, " on " and its table, and either may have " on " in it."""
    place.query(f"create table {quoted} (id integer primary key)")
    config = configuration(place.folder, '[[audit.tables]]\nname = "a on b"\n')
    made = place.script(config)
    place.apply(made)
    assert place.states(config) == {"ok"}
    removal = place.removal(config, "a on b")
    place.apply(removal)
    assert place.states(config) == {"ok", "missing"}
    place.apply(removal, back=True)
    assert place.states(config) == {"ok"}
    place.apply(made, back=True)
    with closing(place.connect()) as conn:
        schema.install(conn, config)
        place.query(f"alter table {quoted} rename to renamed")
        moved = configuration(place.folder, '[[audit.tables]]\nname = "renamed"\n')
        place.apply(place.script(moved))
        assert place.states(moved) == {"ok"}
        place.query(f"alter table renamed rename to {quoted}")
        schema.install(conn, config)
        assert place.states(config) == {"ok"}
        place.query(f"drop table {quoted}")
        schema.install(conn, Config(), prune=True)
    assert place.states(Config()) == {"ok"}


def test_sqlite_takes_a_trigger_apart_from_its_table(sqlite: Place) -> None:
    a_name_that_reads_like_two(sqlite, '"a on b"')


def test_mysql_takes_a_trigger_apart_from_its_table(mysql: Place) -> None:
    a_name_that_reads_like_two(mysql, "`a on b`")


def refuses_what_does_not_fit(place: Place, failure: type[Exception]) -> None:
    config = configuration(place.folder, CONFIG)
    first = place.script(config)
    place.apply(first)
    with pytest.raises(failure, match=r"script.has.run.in.this.database.already"):
        place.apply(first)
    later = configuration(place.folder, CONFIG + ORDERS)
    second = place.script(later)
    place.apply(first, back=True)
    assert place.states(config) == {"ok", "missing"}
    place.apply(first)
    assert place.states(config) == {"ok"}
    place.apply(second)
    place.apply(second, back=True)
    assert place.states(config) == {"ok"}
    changed = configuration(place.folder, CONFIG.replace("odd%s:name", "email"))
    third = place.script(changed)
    with closing(place.connect()) as conn:
        schema.install(conn, configuration(place.folder, CONFIG.replace("INSERT", "UPDATE")))
    with pytest.raises(failure, match=r"script.was.made.for.another.state"):
        place.apply(third)
    with pytest.raises(InstallError, match="not as the configuration says"):
        place.removal(changed, "shop_customer")
    with pytest.raises(InstallError, match="is not audited here"):
        place.removal(changed, "shop_order")


def test_sqlite_refuses_a_script_that_does_not_fit(sqlite: Place) -> None:
    refuses_what_does_not_fit(sqlite, sqlite3.IntegrityError)


def test_mysql_refuses_a_script_that_does_not_fit(mysql: Place, mysql_server: MySqlServer) -> None:
    refuses_what_does_not_fit(mysql, pymysql.OperationalError)
    made = mysql.script(configuration(mysql.folder, CONFIG))
    assert made
    with mysql_server.connect() as conn, conn.cursor() as cursor:
        cursor.execute("create database svc_test_other")
        conn.select_db("svc_test_other")
    elsewhere = replace(mysql, connect=lambda: mysql_server.connect("svc_test_other"))
    with pytest.raises(pymysql.OperationalError, match="script_was_made_for_another_database"):
        elsewhere.apply(made)
    elsewhere.query("drop database svc_test_other")


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="needs SQLite's shell")
def test_sqlites_shell_runs_the_file_or_nothing_of_it(sqlite: Place) -> None:
    configuration(sqlite.folder, CONFIG)
    done = sqlite.run("migrate", "-o", "svc.sql")
    assert (done.returncode, done.stderr) == (0, "wrote svc.sql\n")
    text = (sqlite.folder / "svc.sql").read_text(encoding="utf-8")

    def shell() -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["sqlite3", "shop.db"], cwd=sqlite.folder, input=text, capture_output=True, text=True, check=False
        )

    assert (shell().returncode, shell().returncode) == (0, 1)
    assert sqlite.run("status").returncode == 0
    assert "this script has run in this database already" in shell().stderr
    sqlite.query(INSERT)
    assert sqlite.query("select label from svc_audit_logs") == [('100% :new \\: "customer"; $$ it\'s\nend;',)]


def test_roles_and_postgresqls_columns_are_refused(sqlite: Place, conn: Any, shared_database: str) -> None:
    del conn
    configuration(sqlite.folder, CONFIG)
    assert "roles are for PostgreSQL" in sqlite.run("migrate", "--roles").stderr
    done = sqlite.run("migrate", "--drop-capture", "shop_customer", "--database-url", shared_database)
    assert (done.returncode, done.stdout) == (1, "")
    assert "capture follows the columns" in done.stderr


ENV = """
import os
from alembic import context
from sqlalchemy import create_engine

if context.is_offline_mode():
    context.configure(url=context.config.get_main_option("sqlalchemy.url"), literal_binds=True)
    context.run_migrations()
else:
    with create_engine(context.config.get_main_option("sqlalchemy.url")).connect() as connection:
        context.configure(connection=connection)
        with context.begin_transaction():
            context.run_migrations()
"""
CHANGE = """
from alembic import op

revision = "change"
down_revision = {after!r}


def upgrade():
    with op.batch_alter_table("shop_order", recreate={recreate!r}) as table:
        table.alter_column("customer_id", new_column_name="buyer_id", existing_type={kind})


def downgrade():
    with op.batch_alter_table("shop_order", recreate={recreate!r}) as table:
        table.alter_column("buyer_id", new_column_name="customer_id", existing_type={kind})
"""


def alembic(place: Place, *arguments: str) -> str:
    return place.tool("alembic.config:main", ["alembic", *arguments], "alembic.config", "sqlalchemy", "pymysql")


def through_alembic(place: Place, change: str) -> None:
    """A project whose alembic.ini alone names the database."""
    alembic(place, "init", "migrations")
    (place.folder / "migrations" / "env.py").write_text(ENV, encoding="utf-8")
    ini = place.folder / "alembic.ini"
    text = ini.read_text(encoding="utf-8")
    ini.write_text(text.replace("driver://user:pass@localhost/dbname", place.address), encoding="utf-8")
    config = configuration(place.folder, CONFIG + ORDERS)
    versions = place.folder / "migrations" / "versions"

    def write(*options: str) -> str:
        known = set(versions.glob("*_svc_pg.py"))
        done = place.run("migrate", *options, named=False)
        assert done.returncode == 0, done.stderr
        [written] = set(versions.glob("*_svc_pg.py")) - known
        return written.name.split("_")[0]

    first = write()
    alembic(place, "upgrade", "head")
    assert place.states(config) == {"ok"}
    alembic(place, "downgrade", "base")
    assert "missing" in place.states(config)
    alembic(place, "upgrade", "head")
    dropped = write("--drop-capture", "shop_order")
    alembic(place, "upgrade", "head")
    (versions / "change.py").write_text(change.replace("AFTER", dropped), encoding="utf-8")
    alembic(place, "upgrade", "head")
    write()
    alembic(place, "upgrade", "head")
    assert place.run("status").returncode == 0
    place.query("insert into shop_order (id, buyer_id) values (1, 2)")
    alembic(place, "downgrade", first)
    assert place.run("status").returncode == 0
    alembic(place, "upgrade", "head")
    assert place.run("status").returncode == 0


def test_alembic_on_sqlite_goes_up_and_down_around_a_remade_table(sqlite: Place) -> None:
    through_alembic(sqlite, CHANGE.format(after="AFTER", recreate="always", kind="__import__('sqlalchemy').Integer()"))


def test_alembic_on_mysql_goes_up_and_down_around_a_renamed_column(mysql: Place) -> None:
    through_alembic(mysql, CHANGE.format(after="AFTER", recreate="never", kind="__import__('sqlalchemy').Integer()"))


def test_a_table_that_alembic_remakes_on_sqlite_is_noticed(sqlite: Place) -> None:
    """So it is told without a script that drops before: its triggers went without a word."""
    config = configuration(sqlite.folder, CONFIG + ORDERS)
    sqlite.apply(sqlite.script(config))
    (sqlite.folder / "remake.py").write_text(
        dedent(f"""
        import sqlalchemy
        from alembic.migration import MigrationContext
        from alembic.operations import Operations

        with sqlalchemy.create_engine({sqlite.address!r}).begin() as conn:
            with Operations(MigrationContext.configure(conn)).batch_alter_table("shop_order", recreate="always") as t:
                t.alter_column("customer_id", new_column_name="buyer_id")
        """),
        encoding="utf-8",
    )
    sqlite.tool("", ["remake.py"], "alembic.operations", "sqlalchemy")
    done = sqlite.run("status")
    assert done.returncode == 3
    assert "missing" in done.stdout
    assert sqlite.run("install").returncode == 0
    assert sqlite.run("status").returncode == 0


def changes_that_alembic_sees(address: str, **options: Any) -> list[Any]:
    import sqlalchemy
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    metadata = sqlalchemy.MetaData()
    [example] = examples("upgrading.md", "Alembic's autogenerate")
    with sqlalchemy.create_engine(address, poolclass=sqlalchemy.NullPool).connect() as conn:
        context = SimpleNamespace(configure=options.update)
        exec(example, {"context": context, "connection": conn, "target_metadata": metadata})
        documented: list[Any] = compare_metadata(MigrationContext.configure(conn, opts=options), metadata)
        del options["include_name"]
        assert "audit_logs" in str(compare_metadata(MigrationContext.configure(conn, opts=options), metadata))
    return documented


def test_alembics_autogenerate_drops_nothing_of_ours_as_documented(sqlite: Place, installed_database: str) -> None:
    sqlite.apply(sqlite.script(configuration(sqlite.folder, CONFIG)))
    assert {change.name for _, change in changes_that_alembic_sees(sqlite.address)} == {"shop_customer", "shop_order"}
    address = sqlalchemy_url(installed_database).replace("postgresql:", "postgresql+psycopg:")
    assert changes_that_alembic_sees(address, include_schemas=True) == []


def test_a_column_that_is_renamed_on_mysql_is_noticed(mysql: Place) -> None:
    config = configuration(mysql.folder, CONFIG + ORDERS)
    mysql.apply(mysql.script(config))
    mysql.query("alter table shop_order change customer_id buyer_id int")
    with pytest.raises(pymysql.OperationalError, match="Unknown column"):
        mysql.query("insert into shop_order (id) values (1)")
    done = mysql.run("status")
    assert done.returncode == 3
    assert "outdated" in done.stdout
    mysql.apply(mysql.script(config))
    mysql.query("insert into shop_order (id) values (1)")
    assert mysql.states(config) == {"ok"}


SETTINGS = """
import json
import os

import pymysql

pymysql.install_as_MySQLdb()
SECRET_KEY = "test"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
INSTALLED_APPS = ["shop", "django.contrib.contenttypes", "svc_pg.integrations.django"]
DATABASES = {"default": json.loads(os.environ["SHOP_DATABASE"])}
SVC_CONFIG = os.environ.get("SHOP_CONFIG")
"""
MODELS = """
from django.db import models


class Customer(models.Model):
    email = models.TextField()
    odd = models.TextField(db_column="odd:name\\\\", default="")
"""
TESTS = """
from django.db import connection
from django.test import TestCase
from shop.models import Customer


class Audited(TestCase):
    def test_an_insert_is_on_record(self):
        Customer.objects.create(email="a@example.com")
        with connection.cursor() as cursor:
            cursor.execute("select operation, record_id from LOG")
            self.assertEqual(cursor.fetchall()[-1], ("INSERT", "1"))
"""
MANAGE = """
import os
import sys

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
from django.core.management import execute_from_command_line

execute_from_command_line(sys.argv)
"""
CUSTOMERS = '[[audit.tables]]\nname = "shop_customer"\n'


@dataclass(frozen=True)
class Django:
    """A Django project in a folder, and the variables that tell it the database."""

    folder: Path
    database: dict[str, object]
    variables: dict[str, str]

    def manage(self, *arguments: str, is_audited: bool = False) -> str:
        told = {"SHOP_CONFIG": "svc-pg.toml"} if is_audited else {}
        done = forked(
            "",
            ["manage.py", *arguments],
            ["django.core.management", "django.db.backends.sqlite3.base", "pymysql", "svc_pg.schema"],
            folder=self.folder,
            variables=self.variables | told,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def run(self, *arguments: str, address: str | None = None) -> "subprocess.CompletedProcess[str]":
        named = {"DATABASE_URL": address} if address else {}
        return svc_pg(*arguments, folder=self.folder, variables=self.variables | named)

    def change(self, models: str) -> None:
        (self.folder / "shop" / "models.py").write_text(models, encoding="utf-8")
        self.manage("makemigrations", "shop")


def django(folder: Path, database: dict[str, object], log: str) -> Django:
    """A project that is not migrated yet."""
    files = {"manage.py": MANAGE, "settings.py": SETTINGS, "shop/models.py": MODELS, "shop/tests.py": TESTS}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace("LOG", log), encoding="utf-8")
    (folder / "shop" / "__init__.py").touch()
    (folder / "svc-pg.toml").write_text(CUSTOMERS, encoding="utf-8")
    project = Django(folder, database, {"SHOP_DATABASE": json.dumps(database)})
    project.manage("makemigrations", "shop")
    return project


@pytest.fixture
def django_on_sqlite(tmp_path: Path) -> Django:
    database: dict[str, object] = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(tmp_path / "django.db")}
    return django(tmp_path, database, "svc_audit_logs")


def test_django_on_sqlite_goes_forward_and_back_and_forward_again(django_on_sqlite: Django) -> None:
    project = django_on_sqlite
    address = f"sqlite:///{project.database['NAME']}"
    project.manage("migrate")
    done = project.run("migrate", "--app", "shop")
    assert done.returncode == 0, done.stderr
    assert "0002_svc_pg.py" in done.stderr
    project.manage("migrate")
    assert project.run("status", address=address).returncode == 0
    project.manage("migrate", "shop", "0001")
    assert project.run("status", address=address).returncode == 3
    project.manage("migrate")
    assert project.run("status", address=address).returncode == 0
    assert "OK" in project.manage("test", "shop")
    project.change(MODELS.replace("email = models.TextField()", "email = models.CharField(max_length=90, null=True)"))
    project.manage("migrate")
    noticed = project.run("status", address=address)
    assert noticed.returncode == 3
    assert "missing" in noticed.stdout


def around_djangos_migrations(project: Django, address: str) -> None:
    """SVC_CONFIG alone installs, again after each change of a table, and into the database of tests."""
    project.manage("migrate", is_audited=True)
    assert project.run("status", address=address).returncode == 0
    project.change(MODELS.partition("    odd")[0].replace("TextField()", "CharField(max_length=90)"))
    assert "Nothing to change" in project.run("install", address=address).stderr
    project.manage("migrate", is_audited=True)
    assert project.run("status", address=address).returncode == 0
    project.manage("migrate", "shop", "0001", is_audited=True)
    assert project.run("status", address=address).returncode == 0


def test_djangos_signals_install_on_sqlite(django_on_sqlite: Django) -> None:
    around_djangos_migrations(django_on_sqlite, f"sqlite:///{django_on_sqlite.database['NAME']}")
    assert "OK" in django_on_sqlite.manage("test", "shop", is_audited=True)


def test_djangos_signals_install_on_mysql(tmp_path: Path, mysql_server: MySqlServer) -> None:
    with mysql_server.new_database() as name:
        database = mysql_server.in_django(name)
        project = django(tmp_path, database, "svc.audit_logs")
        around_djangos_migrations(project, mysql_server.address(name))
        database["OPTIONS"] = {"ssl": {"ca": "/nowhere/ca.pem"}}
        told = replace(project, variables={"SHOP_DATABASE": json.dumps(database)}).run("migrate")
        assert "what ssl_ca names cannot be loaded" in told.stderr


def test_django_migrates_one_application_of_a_new_database(django_on_sqlite: Django) -> None:
    project = django_on_sqlite
    pattern = CUSTOMERS.replace("shop_customer", "shop_*")
    (project.folder / "svc-pg.toml").write_text(pattern, encoding="utf-8")
    told = project.manage("migrate", "contenttypes", is_audited=True)
    assert 'svc-pg is not installed yet: no table matches "public.shop_*"' in told
    project.manage("migrate", is_audited=True)
    assert project.run("status", address=f"sqlite:///{project.database['NAME']}").returncode == 0


def test_a_table_that_is_not_there_ends_djangos_migrate_with_its_name(django_on_sqlite: Django) -> None:
    (django_on_sqlite.folder / "svc-pg.toml").write_text(CUSTOMERS + ORDERS, encoding="utf-8")
    with pytest.raises(AssertionError, match=r"CommandError: svc-pg: .*shop_order.*The migrations have run"):
        django_on_sqlite.manage("migrate", is_audited=True)
