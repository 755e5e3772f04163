"""The differences of a database of MySQL or MariaDB from a configuration."""

from svc_pg.config import Config
from svc_pg.dbapi import DbApiConnection
from svc_pg.errors import ConfigError
from svc_pg.schema.comparison import compare
from svc_pg.schema.mysql import installed, migrations, preflight
from svc_pg.schema.mysql.session import Server, pinned
from svc_pg.schema.mysql.target import Target, target_of
from svc_pg.schema.status import Status
from svc_pg.schema_objects import Trigger


def status(conn: DbApiConnection, config: Config) -> list[Status]:
    """All objects that are or should be installed for this database, with their states. Changes nothing.

    ``conn`` must be outside a transaction. Raises the errors of ``install`` that come before any change.
    """
    with pinned(conn) as server:
        preflight.check_server(server)
        preflight.check_sight(conn)
        return look(conn, server, target_of(conn, server, config))


def plan(conn: DbApiConnection, config: Config) -> list[Status]:
    """The steps of an install, in its order; removals are last and only done with ``prune``. Changes nothing."""
    return [step for step in status(conn, config) if step.action != "keep"]


def look(conn: DbApiConnection, server: Server, target: Target) -> list[Status]:
    """As ``status``. What other databases of the server have installed is not looked at."""
    pending = set(migrations.pending(conn))
    steps = migrations.missing(conn)
    steps += [
        Status("migration", str(migration), "missing" if migration in pending else "ok", migration.sql)
        for migration in migrations.released()
    ]
    notes = installed.recorded(conn) if "installed_objects" in migrations.tables(conn) else {}
    others = {key: home for key, (home, _) in notes.items() if home not in (server.database, installed.SERVER)}
    for item in target.objects:
        if home := others.get((item.kind, item.identity)):
            raise ConfigError(
                f'table "{item.audited_table}" is audited from database "{home}" already',
                hint="Name it in one configuration only.",
            )
    ours = [note for key, (_, note) in notes.items() if key not in others]
    identities = [note.identity for note in ours] + [item.identity for item in target.objects]
    places = [Trigger.parse(identity).table.schema for identity in identities]
    found = installed.found(conn, [server.database, *places], [note for _, note in notes.values()])
    made = compare(target.objects, [each for each in found if each.recorded_key not in others], ours)
    return sorted([*steps, *made], key=lambda entry: entry.action == "remove")
