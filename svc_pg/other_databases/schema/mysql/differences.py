"""The differences of a database of MySQL or MariaDB from a configuration."""

from collections.abc import Sequence
from dataclasses import replace

from svc_pg.config import Config
from svc_pg.database.dbapi import DbApiConnection
from svc_pg.errors import ConfigError, InstallError
from svc_pg.other_databases.schema.mysql import definers, installed, log_ids, migrations, preflight
from svc_pg.other_databases.schema.mysql.installation import Installation, read_installation
from svc_pg.other_databases.schema.mysql.session import Server, pinned
from svc_pg.other_databases.schema.mysql.target import target_of
from svc_pg.rendering.schema_objects import SchemaObject, Trigger
from svc_pg.schema.comparison import compare
from svc_pg.schema.status import Status, in_order


def status(conn: DbApiConnection, config: Config) -> list[Status]:
    """All objects that are or should be installed for this database, with their states. Changes nothing.

    ``conn`` must be outside a transaction. Raises the errors of ``install`` that come before any change.
    """
    with pinned(conn) as server:
        preflight.check_server(server)
        preflight.check_sight(conn)
        return look(conn, server, read_installation(conn), target_of(conn, server, config))


def look(conn: DbApiConnection, server: Server, present: Installation, wanted: Sequence[SchemaObject]) -> list[Status]:
    """As ``status``, without the installs of other databases of the server."""
    if present.is_of_others:
        raise InstallError(
            "a schema svc exists on this server, and svc-pg did not make it",
            hint="Rename or drop it; the name is fixed.",
        )
    steps = [*migrations.missing(conn, present.tables), *migrations.states(present.migrations)]
    others = {key: home for key, (home, _) in present.notes.items() if home not in (server.database, installed.SERVER)}
    for item in wanted:
        if home := others.get((item.kind, item.identity)):
            raise ConfigError(
                f'table "{item.audited_table}" is audited from database "{home}" already',
                hint="Name it in one configuration only.",
            )
    ours = [note for key, (_, note) in present.notes.items() if key not in others]
    identities = [note.identity for note in ours] + [item.identity for item in wanted]
    schemas = [Trigger.parse(identity).table.schema for identity in identities]
    found = installed.catalog_objects(conn, [server.database, *schemas], [note for _, note in present.notes.values()])
    wanted_in = [Trigger.parse(item.identity).table.schema for item in wanted]
    early, powerless = installed.early(conn, wanted_in), definers.powerless(conn, server, wanted_in)
    made = [
        replace(state, state="outdated", note=powerless.get(state.identity) if state.audited_table else None)
        if state.state == "ok" and state.identity in early | powerless.keys()
        else state
        for state in compare(wanted, [each for each in found if each.recorded_key not in others], ours, rewrites=True)
    ]
    ids = log_ids.state(conn) if "audit_logs" in present.tables else []
    return in_order([*steps, *made, *ids])
