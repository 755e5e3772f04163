"""Revisions that name their changes, in the life of a project: new databases, production, ways back, branches."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from svc_pg import __version__
from svc_pg.schema.postgres.migrations import released
from tests.e2e.cli.test_migrate import (
    CONFIG,
    ENV,
    ORDERS,
    RETRY,
    TABLES,
    Project,
    alembic_folder,
    django,
    execute,
    migrated,
    project,
    query,
    sqlalchemy_url,
    with_alembic,
)
from tests.support.commands import forked
from tests.support.postgres import new_database

__all__ = ["alembic_folder", "django", "migrated", "project"]  # fixtures

REDACTED = CONFIG.replace('redact = ["odd', 'redact = ["email", "odd')
CONFIGURATION = "select configuration::text from svc.installation"
SOURCES = (
    "select array_agg(o order by o) from (select kind || identity || source_sha256 from svc.installed_objects) x(o)"
)


@pytest.fixture
def shop(project: Project, alembic_folder: Path) -> Project:
    """A project with Alembic and its tables, in which svc-pg is installed by a first revision."""
    with_alembic(project, alembic_folder, ENV.format(driver="psycopg"))
    revise(project, CONFIG)
    return project


@pytest.fixture
def production(postgres: str, shop: Project) -> Iterator[Project]:
    """The same project beside another database, which has its tables alone."""
    with new_database(postgres) as conninfo:
        with psycopg.connect(conninfo) as conn:
            conn.execute(TABLES)
            conn.execute("create table alembic_version (version_num text primary key)")
            conn.execute("insert into alembic_version values ('first')")
        yield Project(shop.folder, conninfo)


def written(project: Project, configuration: str, *options: str) -> Path:
    """Write a revision for the configuration, and return its file."""
    before = set(versions(project).glob("*.py"))
    project.configure(configuration)
    done = project.run("migrate", *options)
    assert done.returncode == 0, done.stderr
    [file] = set(versions(project).glob("*.py")) - before
    return file


def revise(project: Project, configuration: str, *options: str) -> Path:
    """Write a revision for the configuration, run it, and return its file."""
    file = written(project, configuration, *options)
    project.alembic("upgrade", "head")
    assert project.status().startswith("ok")
    return file


def versions(project: Project) -> Path:
    return project.folder / "migrations" / "versions"


def alembic(project: Project, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run Alembic, which may fail, also without a database in its environment."""
    url = sqlalchemy_url(project.conninfo) if project.conninfo else "postgresql://"
    variables = {"DATABASE_URL": project.conninfo, "SHOP_URL": url}
    return forked(
        "alembic.config:main", ["alembic", *arguments], ["alembic.config"], folder=project.folder, variables=variables
    )


def refused(project: Project, *arguments: str) -> str:
    """Run Alembic, which fails, and return the end of what it says."""
    done = alembic(project, *arguments)
    assert done.returncode != 0
    return done.stderr


def test_a_revision_is_short_and_names_its_changes(shop: Project) -> None:
    file = written(shop, CONFIG + ORDERS)
    text = file.read_text(encoding="utf-8")
    assert text.count("\n") < 40
    assert "BEFORE = {}\n" in text
    assert "'public.shop_order': {},\n" in text
    assert "shop_customer" not in text
    assert f"schema.up(op, version={released()[-1].number}, before=BEFORE, after=AFTER)" in text


def test_a_new_database_gets_all_revisions_one_after_the_other(shop: Project, production: Project) -> None:
    revise(shop, CONFIG + ORDERS)
    revise(shop, REDACTED + ORDERS + RETRY)
    revise(shop, REDACTED + RETRY, "--prune")
    shop.configure(CONFIG + "a file that is of no use to a revision that was written before")
    production.alembic("upgrade", "head")
    assert query(production, SOURCES) == query(shop, SOURCES)
    assert query(production, CONFIGURATION) == query(shop, CONFIGURATION)
    shop.configure(REDACTED + RETRY)
    assert production.status().startswith("ok")
    assert production.run("install").stderr.startswith("Nothing to change")


def test_production_goes_on_from_the_revision_before(shop: Project, production: Project) -> None:
    production.alembic("upgrade", "head")
    revise(shop, REDACTED + ORDERS)
    production.alembic("upgrade", "head")
    assert production.status().startswith("ok")


def test_the_way_back_of_one_revision_brings_the_configuration_before_it(shop: Project) -> None:
    revise(shop, CONFIG.replace(CONFIG[CONFIG.index("[webhooks") :], "") + ORDERS + RETRY, "--prune")
    shop.alembic("downgrade", "-1")
    shop.configure(CONFIG)
    assert shop.status().startswith("ok")
    with psycopg.connect(shop.conninfo) as conn:
        conn.execute("insert into shop_customer values (1, 'a@example.com', 'secret')")
        conn.execute("insert into shop_order values (1, 1)")
    assert query(shop, "select array_agg(after_data::text) from svc.audit_logs") == [
        '{"id": 1, "email": "a@example.com"}'
    ]


def test_an_upgrade_of_svc_pg_is_a_revision_without_changes_of_the_configuration(shop: Project) -> None:
    with psycopg.connect(shop.conninfo) as conn:  # as another version made it
        conn.execute("update svc.installed_objects set source_sha256 = 'other' where identity ~ '^svc.send[(]'")
    text = revise(shop, CONFIG).read_text(encoding="utf-8")
    assert "BEFORE = {}\nAFTER = {}\n" in text
    assert "The configuration is the same" in text
    assert query(shop, CONFIGURATION) is not None


@pytest.mark.parametrize("options", [[], ["--sql"]])
def test_a_revision_mends_what_others_changed_if_nothing_else_differs(shop: Project, options: list[str]) -> None:
    with psycopg.connect(shop.conninfo) as conn:
        conn.execute("create or replace function svc.webhook_notify() returns void language sql as ''")
        conn.execute("drop view svc.audit_log_export")
    revise(shop, CONFIG, *options)


def test_a_revision_that_a_newer_svc_pg_wrote_is_refused(shop: Project) -> None:
    file = written(shop, CONFIG + ORDERS)
    newest = released()[-1].number
    file.write_text(file.read_text(encoding="utf-8").replace(f"version={newest}", f"version={newest + 1}"))
    words = refused(shop, "upgrade", "head")
    assert f"needs version {newest + 1} of schema svc, and svc-pg {__version__} has version {newest}" in words
    assert "hint: Upgrade svc-pg" in words


def branched(shop: Project, left: str, right: str) -> None:
    """Two developers write a revision each, from the same state, and somebody merges them."""
    one = written(shop, left)
    hidden = one.rename(shop.folder / "hidden")
    written(shop, right)
    hidden.rename(one)
    shop.alembic("merge", "heads", "-m", "both")


def test_two_branches_that_change_different_tables_are_merged(shop: Project, production: Project) -> None:
    branched(shop, CONFIG + ORDERS, REDACTED)
    shop.configure(REDACTED + ORDERS)
    for each in (shop, production):
        each.alembic("upgrade", "head")
        assert each.status().startswith("ok")
    [first] = [file for file in versions(shop).glob("*_svc_pg.py") if down_revision(file) == "first"]
    shop.alembic("downgrade", first.name.split("_")[0])
    shop.configure(CONFIG)
    assert shop.status().startswith("ok")


def test_two_branches_that_change_one_table_are_refused_with_its_name(shop: Project) -> None:
    branched(shop, CONFIG.replace("redact =", "ignore ="), REDACTED)
    words = refused(shop, "upgrade", "head")
    assert (
        "in this database audit.tables.public.shop_customer is neither as before this revision nor as after it" in words
    )
    assert "write it anew: svc-pg migrate" in words
    shop.configure(CONFIG)
    assert shop.status().startswith("ok")  # nothing has changed, also not by the first of them


def test_a_later_revision_needs_an_installation(shop: Project, production: Project) -> None:
    file = revise(shop, CONFIG + ORDERS)
    with psycopg.connect(production.conninfo) as conn:
        conn.execute("update alembic_version set version_num = %s", (down_revision(file),))
    words = refused(production, "upgrade", "head")
    assert "svc-pg is not installed in this database, and this revision goes on from an installation" in words
    assert "hint: Run the revisions before it first" in words


def down_revision(file: Path) -> str:
    [line] = [each for each in file.read_text(encoding="utf-8").splitlines() if each.startswith("down_revision")]
    return line.split("'")[1]


def test_the_first_revision_takes_over_what_install_made(shop: Project, production: Project) -> None:
    shop.configure(CONFIG)
    assert production.run("install").returncode == 0
    production.alembic("upgrade", "head")
    assert production.status().startswith("ok")


def test_a_database_that_install_took_further_is_refused(shop: Project, production: Project) -> None:
    shop.configure(REDACTED)
    assert production.run("install").returncode == 0
    assert "mark the revision as run" in refused(production, "upgrade", "head")
    production.alembic("stamp", "head")
    revise(shop, REDACTED)
    production.alembic("upgrade", "head")
    assert production.status().startswith("ok")


def test_a_database_that_another_branch_has_changed_is_not_one_to_go_on_from(shop: Project) -> None:
    file = revise(shop, REDACTED)
    away = file.rename(shop.folder / "away")  # as a checkout of another branch does
    with psycopg.connect(shop.conninfo) as conn:
        conn.execute("update alembic_version set version_num = %s", (down_revision(away),))
    shop.configure(CONFIG + ORDERS)
    done = shop.run("migrate")
    assert done.returncode == 1
    assert "has audit.tables.public.shop_customer as no revision here installs it" in done.stderr.replace("\n", " ")


def test_what_install_made_needs_a_first_revision_from_another_database(project: Project, alembic_folder: Path) -> None:
    with_alembic(project, alembic_folder, ENV.format(driver="psycopg"))
    assert project.run("install").returncode == 0
    project.configure(CONFIG + ORDERS)
    done = project.run("migrate")
    assert done.returncode == 1
    assert "no revision here installs it" in done.stderr.replace("\n", " ")


def test_plan_prints_the_sql_of_a_revision_before_it_runs(shop: Project) -> None:
    file = written(shop, CONFIG + ORDERS)
    shop.configure("")  # what a revision installs, it says by itself
    planned = shop.run("plan", "--revision", str(file))
    assert planned.returncode == 0, planned.stderr
    assert "-- create trigger 00_svc_audit_write on public.shop_order\n" in planned.stdout
    assert "only with --prune" not in planned.stdout
    shop.alembic("upgrade", "head")
    assert shop.run("plan", "--revision", str(file)).stderr == "Nothing to change.\n"


def test_a_file_without_a_call_of_svc_pg_cannot_be_planned(shop: Project) -> None:
    [first] = versions(shop).glob("first_*.py")
    for file, words in ((first, "0 calls that install svc-pg"), (shop.folder / "none.py", "cannot be read")):
        done = shop.run("plan", "--revision", str(file))
        assert (done.returncode, words in done.stderr) == (1, True), done.stderr


def test_offline_two_revisions_are_printed_for_the_database_that_is_looked_at(
    shop: Project, production: Project
) -> None:
    file = written(shop, REDACTED + ORDERS)
    script = production.alembic("upgrade", "first:head", "--sql")
    assert query(production, "select to_regnamespace('svc') is null")
    execute(production, script.partition("\nINFO")[0])
    assert production.status().startswith("ok")
    assert "which has its changes already" in refused(production, "upgrade", f"{down_revision(file)}:head", "--sql")


def test_offline_a_revision_asks_for_a_database_to_look_at(shop: Project) -> None:
    words = refused(Project(shop.folder, ""), "upgrade", "first:head", "--sql")
    assert "offline, this revision needs a database to look at" in words
    assert "hint: Set DATABASE_URL; nothing is changed there. Or write the revision with all its SQL" in words


def test_offline_a_revision_looks_at_the_database_that_alembics_own_file_names(
    shop: Project, production: Project
) -> None:
    file = shop.folder / "alembic.ini"
    url = f"sqlalchemy.url = {sqlalchemy_url(production.conninfo)}"
    file.write_text(re.sub("(?m)^sqlalchemy.url = .*$", url, file.read_text(encoding="utf-8")), encoding="utf-8")
    done = alembic(Project(shop.folder, ""), "upgrade", "first:head", "--sql")
    assert (done.returncode, "create trigger" in done.stdout) == (0, True), done.stderr


def test_with_sql_a_revision_carries_all_of_it(shop: Project) -> None:
    file = revise(shop, CONFIG + ORDERS, "--sql")
    assert "create trigger" in file.read_text(encoding="utf-8")
    shop.alembic("downgrade", "-1")
    shop.configure(CONFIG)
    assert shop.status().startswith("ok")
    assert ORDERS.split('"')[1] not in query(shop, CONFIGURATION)


def test_the_way_back_of_a_log_with_an_index_for_words_leaves_no_function(shop: Project) -> None:
    search = CONFIG + "\n[audit]\nsearch = ['text']\n"
    shop.configure(search)
    assert shop.run("install").returncode == 0
    shop.alembic("downgrade", "-1")
    assert query(shop, "select to_regproc('svc.audit_words') is null")


def test_django_prints_the_sql_of_a_migration_and_says_what_it_changes(django: Project) -> None:
    django.run("migrate", "--app", "shop")
    [file] = (django.folder / "shop" / "migrations").glob("0002_*.py")
    assert file.read_text(encoding="utf-8").count("\n") < 50
    assert "create schema svc;" in django.manage("sqlmigrate", "shop", "0002")
    assert "audit.tables.public.shop_customer" in django.manage("migrate", "--plan")
    django.manage("migrate")
    assert django.status().startswith("ok")


def test_django_changes_a_configuration_and_takes_it_back(django: Project) -> None:
    before = (django.folder / "svc-pg.toml").read_text(encoding="utf-8")
    django.run("migrate", "--app", "shop")
    django.manage("migrate")
    django.configure(before.replace('redact = ["odd', 'redact = ["email", "odd') + RETRY)
    done = django.run("migrate", "--app", "shop")
    assert done.returncode == 0, done.stderr
    django.manage("migrate")
    assert django.status().startswith("ok")
    django.manage("migrate", "shop", "0002")
    django.configure(before)
    assert django.status().startswith("ok")
