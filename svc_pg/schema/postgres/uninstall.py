"""Free a database of svc-pg, in one transaction."""

from datetime import timedelta
from typing import Any, Final

from psycopg import Connection

from svc_pg.capture.postgres.foreign_code import check_partition_keys
from svc_pg.database.query import scalar
from svc_pg.database.statements import statement
from svc_pg.errors import InstallError
from svc_pg.schema.install_waits import FOR_TABLE
from svc_pg.schema.postgres import ddl_triggers, installation, log_indexes, preflight
from svc_pg.schema.postgres.installation import look_around
from svc_pg.schema.postgres.roles import drop_unused
from svc_pg.schema.postgres.steps import removal_plan, tables_with_triggers, take
from svc_pg.schema.postgres.transactions import Patience
from svc_pg.schema.postgres.units import in_unit
from svc_pg.schema.status import Status

_FOREIGN_VIEWS: Final = statement("queries/schema/foreign_views.sql")


def uninstall(conn: Connection[Any], *, drop_data: bool = False, wait_for_table: timedelta = FOR_TABLE) -> list[Status]:
    """Remove our triggers, views and functions, and with ``drop_data`` the schema ``svc`` with the log and the queue.

    Without ``drop_data`` the tables stay, the audit log is still guarded against change, and a later install continues
    with them. With it, roles that no database of the cluster needs go too. Returns the steps taken: none if svc-pg is
    not installed. ``conn`` must be outside a transaction. Raises InstallError if views outside ``svc`` depend on its
    tables, a right is missing, an event trigger belongs to another role or a table stays locked.
    """
    return in_unit(conn, Patience(for_table=wait_for_table), lambda: _uninstall(conn, drop_data=drop_data))


def _uninstall(conn: Connection[Any], *, drop_data: bool) -> list[Status]:
    around = look_around(conn)
    if around.schema_owner is None:
        return []
    preflight.check_rights(conn, around)
    present = installation.read_installation(conn, around)
    if not present.has("installed_objects"):
        return []
    ddl_triggers.refuse_others(conn)
    kept, steps = removal_plan(conn, present)
    check_partition_keys(conn, tables_with_triggers(steps))
    if present.has("audit_logs"):
        conn.execute(log_indexes.DROP)
    done = take(conn, steps)
    if done and present.has("installation"):
        installation.forget_configuration(conn, present)
    if drop_data:
        done += _drop_schema(conn, has_roles=kept.access.has_roles)
    return done


def _drop_schema(conn: Connection[Any], *, has_roles: bool) -> list[Status]:
    if views := scalar(conn, _FOREIGN_VIEWS):
        raise InstallError(f"these views read from schema svc: {views}", hint="Drop them first.")
    step = Status("schema", "svc", "orphan", "drop schema svc cascade")
    conn.execute(step.sql.encode())
    dropped = drop_unused(conn, has_roles=has_roles)
    return [step, *(Status("role", role, "orphan", f"drop role {role}") for role in dropped)]
