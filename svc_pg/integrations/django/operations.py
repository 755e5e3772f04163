"""The operation of a Django migration that installs svc-pg: ``svc-pg migrate`` writes it."""

from collections.abc import Mapping
from typing import Any

from django.db import router
from django.db.migrations.operations.base import Operation

from svc_pg.config.installed_parts import names_of
from svc_pg.schema.configuration_change import ConfigurationChange
from svc_pg.schema.installer import installer_of
from svc_pg.schema.revision_connection import revision_connection

__all__ = ["InstallSvcPg"]


class InstallSvcPg(Operation):
    """Install in the transaction of the migration as ``schema.up``, with its arguments; backwards as ``schema.down``.

    PostgreSQL only. ``manage.py sqlmigrate`` prints the SQL for the database that it looks at.
    """

    reduces_to_sql = True
    reversible = True

    def __init__(
        self,
        *,
        version: int,
        before: Mapping[str, Any] | None,
        after: Mapping[str, Any],
        prune: bool = False,
        roles: bool | None = None,
    ) -> None:
        """Changes nothing yet."""
        self.change = ConfigurationChange(version, before, after, prune, roles)

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Models stay as they are."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Install."""
        self._run(app_label, schema_editor, backwards=False)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Undo it, and keep the data."""
        self._run(app_label, schema_editor, backwards=True)

    def describe(self) -> str:
        """The words of ``manage.py migrate --plan``."""
        difference = self.change.difference
        names = names_of(list({**difference.before, **difference.after}))
        return f"Install svc-pg, version {self.change.version}: {names or 'the same configuration'}"

    def _run(self, app_label: str, schema_editor: Any, *, backwards: bool) -> None:
        connection = schema_editor.connection
        if not router.allow_migrate(connection.alias, app_label):
            return
        statements = installer_of(revision_connection(connection)).statements(
            self.change, backwards=backwards, is_printed=schema_editor.collect_sql
        )
        for statement in statements:
            schema_editor.execute(statement, params=None)
