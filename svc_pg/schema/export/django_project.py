"""Read the apps, tables and migrations of a Django project through its manage.py, in another process."""

import importlib
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from svc_pg.errors import ConfigError

_PROGRAM: Final = "from svc_pg.schema.export.django_project import show; show()"


@dataclass(frozen=True, slots=True)
class DjangoApp:
    """One app with migrations: their folder, the names of the last ones, and the highest number."""

    folder: Path
    migrations: Path
    ends: list[str]
    number: int


@dataclass(frozen=True, slots=True)
class DjangoProject:
    """The apps with migrations by their labels, the label of the app of each table, and the default database.

    ``address`` is set for SQLite, MySQL and MariaDB; for others it is None.
    """

    apps: dict[str, DjangoApp]
    owners: dict[str, str]
    address: str | None


@cache
def read_project(folder: Path) -> DjangoProject:
    """Load the project with its ``manage.py`` in ``folder``. Raises ConfigError if that fails."""
    done = subprocess.run(  # noqa: S603 - the project's own program, as its developer runs it
        [sys.executable, "manage.py", "shell", "-c", _PROGRAM], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines() or ["no reason is known"]
        raise ConfigError(
            f"the Django project cannot be loaded: {reason[-1]}", hint="Try manage.py check, or add --format sql."
        )
    facts = json.loads(done.stdout.splitlines()[-1])
    apps = {
        label: DjangoApp(Path(app["folder"]), Path(app["migrations"]), app["ends"], app["number"])
        for label, app in facts["apps"].items()
    }
    return DjangoProject(apps, facts["owners"], facts["address"])


def show() -> None:
    """Inside a Django project: print the facts as one line of JSON."""
    from django.apps import apps
    from django.db.migrations.loader import MigrationLoader

    loader = MigrationLoader(None)
    found: dict[str, Any] = {}
    for label in loader.migrated_apps:
        names = [name for app, name in loader.disk_migrations if app == label]
        module_name, _ = loader.migrations_module(label)
        if module_name is None:  # switched off by the settings
            continue
        module = importlib.import_module(module_name)
        found[label] = {
            "folder": apps.get_app_config(label).path,
            "migrations": module.__path__[0],
            "ends": [name for _, name in loader.graph.leaf_nodes(label)],
            "number": max((int(name[:4]) for name in names if name[:4].isdecimal()), default=0),
        }
    owners = {model._meta.db_table: model._meta.app_label for model in apps.get_models(include_auto_created=True)}
    sys.stdout.write("\n" + json.dumps({"apps": found, "owners": owners, "address": _address()}) + "\n")


def _address() -> str | None:
    from django.db import connection

    database = {name: str(value) for name, value in connection.settings_dict.items()}
    if connection.vendor == "sqlite" and not connection.is_in_memory_db():  # type: ignore[attr-defined] # SQLite's
        return f"sqlite:///{database['NAME']}"
    if connection.vendor == "mysql":
        user, password, name = (quote(database[part], safe="") for part in ("USER", "PASSWORD", "NAME"))
        host = database["HOST"]
        location = f"/{name}" if host.startswith("/") else f"{host}:{database['PORT']}/{name}"
        who = f"{user}:{password}" if password else user
        options = _tls(connection.settings_dict["OPTIONS"]) | ({"unix_socket": host} if host.startswith("/") else {})
        return f"mysql://{who}@{location.replace(':/', '/')}?{urlencode(options, quote_via=quote)}"
    return None


def _tls(options: Mapping[str, Any]) -> dict[str, str]:
    """Django's TLS options as options of an address, for any driver."""
    given = options.get("ssl")  # mysqlclient's files; PyMySQL takes each by itself
    files = given if isinstance(given, dict) else {}
    found = {f"ssl_{part}": options.get(f"ssl_{part}") or files.get(part) for part in ("ca", "cert", "key")}
    mode = "disabled" if options.get("ssl_disabled") else "verify_ca" if found["ssl_ca"] else None
    return {name: str(value) for name, value in {"ssl_mode": options.get("ssl_mode", mode), **found}.items() if value}
