"""Write a script as a migration of Alembic or Django, after those of the project."""

import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from svc_pg.database.table_names import TableName
from svc_pg.errors import ConfigError
from svc_pg.schema.export import migration_texts
from svc_pg.schema.export.django_project import DjangoProject, read_project
from svc_pg.schema.export.revision_history import refuse_unknown
from svc_pg.schema.export.script import Script


class Revision(NamedTuple):
    """A file to be written."""

    path: Path
    text: str


_OF_SEVERAL: Final = re.compile(r"\brun_migrations\(\s*engine_name\s*=")  # the templates multidb, and Flask-Migrate's


def alembic_revision(script: Script, *, folder: Path, path: Path | None = None) -> Revision:
    """A revision after the current head of the project whose ``alembic.ini`` is in ``folder`` or is Flask-Migrate's.

    Without a ``path`` it goes to the project's versions. Loads the project's revisions. Raises ConfigError.
    """
    try:
        from alembic.config import Config
        from alembic.script import ScriptDirectory
        from alembic.util import CommandError
    except ImportError as error:
        raise ConfigError("Alembic is not installed here", hint="Install it, or add --format sql.") from error
    ini = alembic_ini(folder)
    if ini is None:
        raise ConfigError("there is no alembic.ini here", hint="Run it where that is, or add --format sql.")
    is_flask = ini.parent != folder
    config, toml = Config(ini), folder / "pyproject.toml"
    try:
        if config.get_main_option("script_location") is None:
            if (ini.parent / "env.py").exists():  # Flask-Migrate tells Alembic the folder by itself
                config.set_main_option("script_location", str(ini.parent))
            elif toml.exists() and "[tool.alembic]" in toml.read_text(encoding="utf-8"):
                config = Config(ini, toml_file=toml)
        directory = ScriptDirectory.from_config(config)
        head = directory.get_current_head()
        versions = Path(directory.versions)
    except CommandError as error:
        hint = "Merge the heads first." if "heads" in str(error) else None
        raise ConfigError(f"{ini}: {error}", hint=hint) from error
    environment = Path(directory.dir, "env.py")
    if environment.exists() and _OF_SEVERAL.search(environment.read_text(encoding="utf-8")):
        hint = "Add --format sql, and execute the file in the function of a revision that is for this database."
        raise ConfigError(f"{environment} runs each revision in several databases", hint=hint)
    changes = migration_texts.changes_of(script)
    last = directory.get_revision(head) if head else None
    run = "flask db upgrade" if is_flask else "alembic upgrade head"
    _refuse_repetition(changes, Path(last.path) if last else None, path, run=run)
    _refuse_unrun(script, versions, run=run)
    refuse_unknown(script.change, (Path(each.path) for each in directory.walk_revisions()))
    revision = secrets.token_hex(6)
    text = migration_texts.alembic_text(script, revision=revision, down_revision=head)
    return Revision(path or versions / f"{revision}_svc_pg.py", text)


def alembic_ini(folder: Path) -> Path | None:
    """The ``alembic.ini`` in ``folder``, or Flask-Migrate's in ``migrations``."""
    for ini in (folder / "alembic.ini", folder / "migrations" / "alembic.ini"):
        with suppress(OSError):  # of migrations that this user may not look into
            if ini.exists():
                return ini
    return None


def alembic_address(folder: Path) -> str | None:
    """The address of ``alembic.ini``, if it is one of SQLite, MySQL or MariaDB."""
    try:
        from alembic.config import Config
        from alembic.util import CommandError
    except ImportError:
        return None
    ini = alembic_ini(folder)
    try:
        address = (Config(ini).get_main_option("sqlalchemy.url") if ini else None) or ""
    except CommandError:  # it has no section of Alembic, which is told when it is needed
        return None
    return address if address.startswith(("sqlite", "mysql", "mariadb")) else None


def django_migration(script: Script, *, folder: Path, app: str | None = None, path: Path | None = None) -> Revision:
    """A migration after the last one of an app, and after those of every app whose tables the script audits.

    ``folder`` holds ``manage.py``. Without ``app`` it is the app in whose migrations ``path`` lies, or the project's
    only one. Loads the project in a process of its own. Raises ConfigError.
    """
    project = read_project(folder)
    label = _chosen_app(project, folder.resolve(), app, path)
    audited = {TableName.parse(table).table for table in script.tables}
    others = {owner for table, owner in project.owners.items() if table in audited and owner in project.apps}
    dependencies = [(each, end) for each in [label, *sorted(others - {label})] for end in project.apps[each].ends]
    chosen = project.apps[label]
    changes = migration_texts.changes_of(script)
    for end in chosen.ends:
        _refuse_repetition(changes, chosen.migrations / f"{end}.py", path, run="manage.py migrate")
    _refuse_unrun(script, chosen.migrations, run="manage.py migrate")
    files = (file for each in project.apps.values() for file in each.migrations.glob("*.py"))
    refuse_unknown(script.change, files)
    text = migration_texts.django_text(script, dependencies=dependencies)
    return Revision(path or chosen.migrations / f"{chosen.number + 1:04d}_svc_pg.py", text)


def _chosen_app(project: DjangoProject, folder: Path, label: str | None, path: Path | None) -> str:
    own = {name: app for name, app in project.apps.items() if app.folder.is_relative_to(folder)}
    if label is None and path is not None:
        own = {name: app for name, app in own.items() if app.migrations == path.resolve().parent} or own
    found = [label] if label in project.apps else [] if label else list(own)
    if len(found) != 1:
        known = ", ".join(sorted(own)) or "none"
        raise ConfigError(
            "it is not clear in which app the migration belongs"
            if label is None
            else f'no app "{label}" has migrations',
            hint=f"Name it with --app; this project's apps with migrations: {known}.",
        )
    [chosen] = found
    if len(project.apps[chosen].ends) > 1:
        raise ConfigError(
            f'the migrations of "{chosen}" have several ends: {", ".join(project.apps[chosen].ends)}',
            hint="Run: manage.py makemigrations --merge",
        )
    return chosen


def _refuse_repetition(changes: str, last: Path | None, path: Path | None, *, run: str) -> None:
    """Raise ConfigError if the last migration has these changes, or if the file exists and is a migration itself."""
    if last is not None and last.is_file() and changes.encode() in last.read_bytes():
        raise ConfigError(
            f"{last} has these changes already, so nothing is written",
            hint=f"Run it: {run}. If it has run, the database was changed since: svc-pg install puts it right.",
        )
    if path is not None and path.exists():
        raise ConfigError(f"{path} exists already", hint="Name a new file, which follows the project's last migration.")


def _refuse_unrun(script: Script, folder: Path, *, run: str) -> None:
    """Raise ConfigError if a migration for the same state of the database exists, because only one of them can run."""
    for file in filter(Path.is_file, folder.glob("*.py")):  # an editor's lock is a link to nothing
        if script.made_for and script.made_for.encode() in file.read_bytes():
            raise ConfigError(
                f"{file} has not run in this database, so nothing is written",
                hint=f"Run it first: {run}. Or delete it, and write one for all changes.",
            )
