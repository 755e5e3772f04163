"""The command ``migrate``."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, assert_never

import typer

import svc_pg
from svc_pg import Config
from svc_pg.errors import ConfigError
from svc_pg.schema.export.django_project import read_project
from svc_pg.schema.export.orm_migrations import alembic_address, alembic_ini, alembic_revision, django_migration
from svc_pg.schema.installer import installer_of
from svc_pg.settings import Settings

from . import output
from .database import open_database
from .files.output_file import explained
from .options import ConfigReference, DatabaseUrl, Prune, Roles
from .products import All, Only, with_products

app = typer.Typer()


class ScriptFormat(StrEnum):
    """The tool that runs the script."""

    sql = "sql"
    alembic = "alembic"
    django = "django"


@app.command()
def migrate(
    *,
    file: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="The file to write. Default: chosen by --format."),
    ] = None,
    form: Annotated[
        ScriptFormat | None,
        typer.Option(
            "--format", help="Default: sql, or what alembic.ini, Flask-Migrate or manage.py in this folder needs."
        ),
    ] = None,
    app: Annotated[str | None, typer.Option(metavar="NAME", help="The Django app that gets the migration.")] = None,
    drop_capture: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TABLE",
            help="Write the removal of this table's capture instead, to run before its columns change. Repeatable."
            " SQLite, MySQL and MariaDB only: on PostgreSQL capture follows the columns.",
        ),
    ] = None,
    sql: Annotated[
        bool,
        typer.Option(
            "--sql",
            help="Write all the SQL into the Alembic or Django migration. By default it names the changes, and makes"
            " the SQL when it runs. On SQLite, MySQL and MariaDB a migration always has its SQL.",
        ),
    ] = False,
    only: Only = None,
    everything: All = False,
    prune: Prune = False,
    roles: Roles = None,
    database_url: DatabaseUrl = None,
    config: ConfigReference = None,
) -> None:
    """Write the steps of install as an SQL script, or as an Alembic or Django migration. Changes nothing.

    Without an address, that of alembic.ini or of Django's settings is taken if it is one of SQLite or MySQL.
    """
    chosen = form or _detected(file)
    wanted = with_products(Config.find(config), only=only, everything=everything)
    with open_database(_address(database_url, chosen)) as conn:
        installer = installer_of(conn)
        made = (
            installer.removal(wanted, drop_capture)
            if drop_capture
            else installer.script(wanted, prune=prune, roles=roles)
        )
    if made is None:
        output.words("Nothing to change: the database is as the configuration says, and nothing is written.")
        return
    if sql:
        made = replace(made, change=None)
    match chosen:
        case ScriptFormat.sql:
            path, text = file, f"-- Made by svc-pg {svc_pg.__version__}\n{made.file}"
        case ScriptFormat.alembic:
            path, text = alembic_revision(made, folder=Path(), path=file)
        case ScriptFormat.django:
            path, text = django_migration(made, folder=Path(), app=app, path=file)
        case _:
            assert_never(chosen)
    if path is None:
        output.sql(text)
        return
    with explained(path):
        path.write_text(text.rstrip() + "\n", encoding="utf-8")
    output.words(f"wrote {path}")


def _address(given: str | None, form: ScriptFormat) -> str | None:
    """The address from the command or the environment, else the project's."""
    if given is not None or Settings.load().database_url is not None:
        return given
    match form:
        case ScriptFormat.alembic:
            return alembic_address(Path())
        case ScriptFormat.django:
            return read_project(Path()).address
        case ScriptFormat.sql:
            return None
        case _:
            assert_never(form)


def _detected(file: Path | None) -> ScriptFormat:
    if file is not None and file.suffix == ".sql":
        return ScriptFormat.sql
    formats = []
    if alembic_ini(Path()) is not None:
        formats.append(ScriptFormat.alembic)
    if Path("manage.py").exists():
        formats.append(ScriptFormat.django)
    if len(formats) > 1:
        raise ConfigError("this folder has both alembic.ini and manage.py", hint="Add --format alembic or django.")
    if file is not None and file.suffix == ".py" and not formats:
        raise ConfigError(
            f"{file} would be a migration, and neither alembic.ini nor manage.py is here to say of which kind",
            hint="Run it where one of them is, or name a file that ends in .sql.",
        )
    return formats[0] if formats else ScriptFormat.sql
