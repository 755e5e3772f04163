"""Run a revision of Alembic that names its changes instead of carrying their SQL."""

from collections.abc import Mapping
from typing import Any

from svc_pg.schema.configuration_change import ConfigurationChange
from svc_pg.schema.installer import installer_of


def up(
    op: Any,
    *,
    version: int,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any],
    prune: bool = False,
    roles: bool | None = None,
) -> None:
    """Install, in the transaction of a revision of Alembic, whose ``op`` this is. ``svc-pg migrate`` writes the call.

    ``before`` and ``after`` are the parts of the configuration that the revision changes; all others stay as the
    database has them. ``before`` is None in the first revision. Everything of schema ``svc`` becomes as this svc-pg has
    it: ``version`` is the oldest version of the schema that will do. With ``prune`` captures and events that are no
    longer named are removed; ``roles`` are those of ``install``. Does nothing if everything is so already.

    In Alembic's offline mode it prints SQL, and looks at the database of ``DATABASE_URL`` or of ``alembic.ini`` for it.

    Raises ConfigError if a part is neither as before nor as after the revision, InstallError if this svc-pg is older
    than the revision or svc-pg is not installed before a later one, and the errors of ``install`` that come before any
    change. PostgreSQL only.
    """
    _run(op, ConfigurationChange(version, before, after, prune, roles), backwards=False)


def down(op: Any, *, version: int, before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> None:
    """Undo what ``up`` did to the configuration, and keep all data. Schema ``svc`` stays as this svc-pg has it.

    The way back of the first revision removes all triggers, views and functions, as ``uninstall`` does. Raises as
    ``up``.
    """
    _run(op, ConfigurationChange(version, before, after), backwards=True)


def _run(op: Any, change: ConfigurationChange, *, backwards: bool) -> None:
    from svc_pg.schema import offline  # here, so that programs on other databases do not load psycopg
    from svc_pg.schema.revision_connection import revision_connection

    context = op.get_context()
    if context.as_sql:
        made = offline.statements(context, change, backwards=backwards)
    else:
        made = installer_of(revision_connection(op.get_bind())).statements(change, backwards=backwards)
    for statement in made:
        op.execute(statement.replace(":", r"\:"))  # or SQLAlchemy would read :name as a parameter
