"""Capture around Django's migrations: a table that is remade, or whose columns change, gets its triggers anew.

``SVC_CONFIG`` in the settings, a path or ``module:name`` as for the command line, makes ``manage.py migrate`` install
into the default database, also into those of tests; ``SVC_ROLES = False`` does so without roles. On SQLite, MySQL and
MariaDB, whose triggers name the columns of their tables, capture is removed first if there are migrations to run, so
writes of a migration itself are not recorded.
"""

import logging
from typing import Any, Final

from django.apps import AppConfig
from django.conf import settings
from django.core.management import CommandError
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models.signals import post_migrate, pre_migrate

from svc_pg.database.dialects import dialect_of, driver_connection
from svc_pg.errors import InstallError, NotInstalledError, SvcError, UnknownTableError

_log = logging.getLogger("svc_pg")
_AFTER_MIGRATIONS: Final = (
    "The migrations have run. Name the tables of SVC_CONFIG as they are called now, or run the migrations that make"
    " them, then migrate again."
)


def connect(app: AppConfig) -> None:
    """Listen to the migrations of a project that has SVC_CONFIG."""
    if getattr(settings, "SVC_CONFIG", None):
        pre_migrate.connect(_remove, sender=app, dispatch_uid="svc_pg")
        post_migrate.connect(_install, sender=app, dispatch_uid="svc_pg")


def _remove(using: str, plan: Any = (), **_signal: object) -> None:
    from svc_pg import schema  # here, so that a server does not load the installer

    connection = connections[using]
    if using == DEFAULT_DB_ALIAS and plan and dialect_of(connection) != "postgresql":
        try:
            schema.uninstall(driver_connection(connection))
        except SvcError as error:
            raise _explained(error) from error


def _install(using: str, plan: Any = None, **_signal: object) -> None:
    from svc_pg import schema
    from svc_pg.config import Config

    if using == DEFAULT_DB_ALIAS and plan is not None:  # flush, which changes no table, sends the signal without one
        try:
            schema.install(
                driver_connection(connections[using]),
                Config.find(str(settings.SVC_CONFIG)),
                roles=getattr(settings, "SVC_ROLES", None),
            )
        except UnknownTableError as error:
            if _is_new(connections[using]):
                _log.warning("svc-pg is not installed yet: %s, and there are migrations left to run", error.message)
                return
            hint = " ".join(each for each in (error.hint, _AFTER_MIGRATIONS) if each)
            raise _explained(UnknownTableError(error.message, hint=hint)) from error
        except SvcError as error:
            raise _explained(error) from error


def _is_new(connection: Any) -> bool:
    """True if nothing is installed, so that no capture is lost, and not all migrations have run: ``migrate APP``."""
    from django.db.migrations.executor import MigrationExecutor

    from svc_pg import audit

    try:
        audit.query().only("id").limit(1).list(connection)
    except NotInstalledError:
        executor = MigrationExecutor(connection)
        return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    return False


def _explained(error: SvcError) -> CommandError:
    hint = error.hint or ""
    if isinstance(error, InstallError) and "svc_owner" in error.message:
        hint += " SVC_ROLES = False in the settings does without roles."
    return CommandError(f"svc-pg: {error.message}" + (f" ({hint})" if hint else ""))
