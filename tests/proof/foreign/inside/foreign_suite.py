"""Inside the process of a foreign suite: the outcomes of its tests, the capture of its tables, the entries made.

FOREIGN_OUTCOMES names the file that gets a line of JSON for each test, so that a suite that is killed tells how far it
came. With FOREIGN_CAPTURE tables are captured as they are made.
"""

import json
import os
from pathlib import Path
from typing import Any, Final

_FILE: Final = Path(os.environ["FOREIGN_OUTCOMES"])
_ENTRIES: Final = {
    "postgresql": "select coalesce(last_value, 0) from pg_sequences where sequencename = 'audit_logs_id_seq'",
    "mysql": "select max(id) from svc.audit_logs",
}
"""The entries so far, those of transactions that were rolled back as well: the last id."""


def is_captured() -> bool:
    """True if this run is the one with capture."""
    return bool(os.environ.get("FOREIGN_CAPTURE"))


def record(test: str, outcome: str) -> None:
    """Write down the outcome of a test; of two the last one counts."""
    with _FILE.open("a", encoding="utf-8") as file:
        file.write(json.dumps([test, outcome]) + "\n")


def record_entries(connection: Any, dialect: str) -> None:
    """Write down how many entries a database got, by a driver's connection to it. SQLite's are counted in Django."""
    if is_captured() and dialect in _ENTRIES:
        cursor = connection.cursor()
        cursor.execute(_ENTRIES[dialect])
        found = cursor.fetchone()
        record("", str(found[0] or 0 if found else 0))


def capture_new_tables(bind: Any) -> None:
    """Do what a revision of the application's migrations does after a change of tables, in its transaction.

    The database has svc-pg, with a pattern that covers every table. ``bind`` is a connection of SQLAlchemy or Django.
    """
    from svc_pg.schema.configuration_change import ConfigurationChange  # only where it is installed
    from svc_pg.schema.installer import installer_of
    from svc_pg.schema.revision_connection import revision_connection

    connection = revision_connection(bind)
    same = ConfigurationChange(version=1, before={}, after={}, prune=True)
    for statement in installer_of(connection).statements(same, backwards=False):
        connection.execute(statement)
