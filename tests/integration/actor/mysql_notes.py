"""A database of MySQL or MariaDB in which the table ``note`` is audited, and the actors in its log."""

import json
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from svc_pg import schema
from tests.integration.actor.sqlite_notes import CONFIG, Told
from tests.support.mysql import MySqlServer

TABLE = "create table note (id int primary key, body varchar(200) not null default '')"
INSERT = "insert into note (id) values (%s)"


@dataclass(frozen=True, slots=True)
class Notes:
    """The database of a module, and the id of the last entry before the case."""

    server: MySqlServer
    database: str
    since: int

    def connect(self, **options: Any) -> Any:
        """Connect by PyMySQL."""
        return self.server.connect(self.database, **options)

    def told(self) -> dict[int, Told]:
        """The actor of the last entry of each note."""
        with closing(self.connect()) as conn, conn.cursor() as cursor:
            cursor.execute(
                "select record_id, actor_id, tenant_id, context from svc.audit_logs where id > %s order by id",
                [self.since],
            )
            return {
                int(record): Told(actor, tenant, context and json.loads(context))
                for record, actor, tenant, context in cursor.fetchall()
            }

    def actors(self) -> dict[int, str | None]:
        """The actor of the last entry of each note."""
        return {note: told.actor_id for note, told in self.told().items()}


def make(server: MySqlServer, database: str) -> None:
    """Create the table in an empty database, and audit it."""
    with closing(server.connect(database)) as conn, conn.cursor() as cursor:
        cursor.execute(TABLE)
        schema.install(conn, CONFIG)


def begin(server: MySqlServer, database: str) -> Notes:
    """Empty the table for a case."""
    with closing(server.connect(database)) as conn, conn.cursor() as cursor:
        cursor.execute("truncate table note")
        cursor.execute("select coalesce(max(id), 0) from svc.audit_logs")
        [(since,)] = cursor.fetchall()
        return Notes(server, database, since)
