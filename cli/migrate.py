"""The command migrate."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import svc_pg
from svc_pg import Config
from svc_pg.errors import ConfigError, SvcError
from svc_pg.schema.export.orm_migrations import alembic_revision, django_migration
from svc_pg.schema.postgres.sql_script import script

from . import output
from .database import connect
from .options import ConfigReference, DatabaseUrl
from .schema import Prune, Roles

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
        typer.Option("--format", help="Default: sql, or what alembic.ini or manage.py in this folder needs."),
    ] = None,
    app: Annotated[str | None, typer.Option(metavar="NAME", help="The Django app that gets the migration.")] = None,
    prune: Prune = False,
    roles: Roles = None,
    database_url: DatabaseUrl = None,
    config: ConfigReference = None,
) -> None:
    """Write the steps of install as an SQL script, or as an Alembic or Django migration. Changes nothing."""
    chosen, wanted = form or _detected(file), Config.find(config)
    with connect(database_url) as conn:
        made = script(conn, wanted, prune=prune, roles=roles)
    if made is None:
        output.words("Nothing to change: the database is as the configuration says, and nothing is written.")
        return
    match chosen:
        case ScriptFormat.sql:
            path, text = file, f"-- Made by svc-pg {svc_pg.__version__}\nbegin;\n{made.upgrade}\ncommit;"
        case ScriptFormat.alembic:
            path, text = alembic_revision(made, folder=Path(), path=file)
        case ScriptFormat.django:
            path, text = django_migration(made, folder=Path(), app=app, path=file)
    if path is None:
        output.data(text)
        return
    try:
        path.write_text(text.rstrip() + "\n", encoding="utf-8")
    except OSError as error:
        raise SvcError(f"{path} cannot be written: {error.strerror}") from error
    output.words(f"wrote {path}")


def _detected(file: Path | None) -> ScriptFormat:
    if file is not None and file.suffix == ".sql":
        return ScriptFormat.sql
    formats = [
        form
        for form, sign in ((ScriptFormat.alembic, "alembic.ini"), (ScriptFormat.django, "manage.py"))
        if Path(sign).exists()
    ]
    if len(formats) > 1:
        raise ConfigError("this folder has both alembic.ini and manage.py", hint="Add --format alembic or django.")
    return formats[0] if formats else ScriptFormat.sql
