"""A SQLite database in which the table ``note`` is audited, and the actors in its log."""

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from svc_pg import Config, schema

TABLE = "create table note (id integer primary key, body text not null default '')"
INSERT = "insert into note (id) values (?)"

CONFIG = Config()
CONFIG.audit.table("note")


class Told(NamedTuple):
    """The part of an entry with the actor."""

    actor_id: str | None
    tenant_id: str | None
    context: Any


@dataclass(frozen=True, slots=True)
class Notes:
    """The file, and the id of the last entry before the case."""

    path: Path
    since: int = 0

    def told(self) -> list[Told]:
        """The actors of all entries, oldest first."""
        return [told for _, told in self._entries()]

    def actors(self) -> dict[int, str | None]:
        """The actor of the last entry of each note."""
        return {note: told.actor_id for note, told in self._entries()}

    def _entries(self) -> list[tuple[int, Told]]:
        with closing(sqlite3.connect(self.path)) as conn:
            rows = conn.execute(
                "select record_id, actor_id, tenant_id, context from svc_audit_logs where id > ? order by id",
                [self.since],
            )
            return [
                (int(record), Told(actor, tenant, context and json.loads(context)))
                for record, actor, tenant, context in rows
            ]


def make(path: Path) -> Path:
    """Create the file."""
    with closing(sqlite3.connect(path)) as conn:
        conn.execute(TABLE)
        schema.install(conn, CONFIG)
    return path


def begin(path: Path) -> Notes:
    """Empty the table for a case."""
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("delete from note")
        [since] = conn.execute("select coalesce(max(id), 0) from svc_audit_logs").fetchone()
        return Notes(path, since)
