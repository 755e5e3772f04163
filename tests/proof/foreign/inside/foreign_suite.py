"""Inside the process of a foreign suite: the outcomes of its tests, the capture of its tables, the entries made.

FOREIGN_OUTCOMES names the file that gets a line of JSON for each test, so that a suite that is killed tells how far it
came. With FOREIGN_CAPTURE tables are captured as they are made.
"""

import json
import os
from pathlib import Path
from typing import Any, Final

_FILE: Final = Path(os.environ["FOREIGN_OUTCOMES"])
_COUNTS: Final = {
    "postgresql": """
        select (select coalesce(max(last_value), 0) from pg_sequences where sequencename = 'audit_logs_id_seq'),
               count(*) filter (where is_captured), count(*) filter (where not is_captured)
        from (
            select exists (
                select from pg_trigger t join pg_proc f on f.oid = t.tgfoid
                where t.tgrelid = c.oid and t.tgenabled = 'O' and f.pronamespace = 'svc'::regnamespace
            ) as is_captured
            from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where c.relkind in ('r', 'p') and c.relpersistence <> 't'
              and n.nspname not in ('svc', 'elsewhere', 'information_schema', 'pg_catalog', 'pg_toast')
        ) as tables""",
    "mysql": """
        select (select max(auto_increment) - 1 from information_schema.tables
                where table_schema = 'svc' and table_name = 'audit_logs'),
               coalesce(sum(is_captured), 0), coalesce(sum(not is_captured), 0)
        from (
            select exists (
                select 1 from information_schema.triggers g
                where g.event_object_schema = t.table_schema and g.event_object_table = t.table_name
            ) as is_captured
            from information_schema.tables t where t.table_schema = database() and t.table_type = 'BASE TABLE'
        ) as tables""",
}
"""The entries so far, those of transactions that were rolled back as well, and the tables with capture and without."""


def is_captured() -> bool:
    """True if this run is the one with capture."""
    return bool(os.environ.get("FOREIGN_CAPTURE"))


def record(test: str, outcome: str) -> None:
    """Write down the outcome of a test; of two the last one counts."""
    with _FILE.open("a", encoding="utf-8") as file:
        file.write(json.dumps([test, outcome]) + "\n")


def record_counts(**counts: int) -> None:
    """Write down counts, of which those of ``entries`` are added and the greatest of others counts."""
    with _FILE.open("a", encoding="utf-8") as file:
        file.write(json.dumps(counts) + "\n")


def count_capture(cursor: Any, dialect: str, *, is_over: bool) -> None:
    """Write down the tables with capture and without, and, when the suite ``is_over``, the entries that they made."""
    if is_captured() and dialect in _COUNTS:
        cursor.execute(_COUNTS[dialect])
        entries, tables, bare = (int(each or 0) for each in cursor.fetchone())
        record_counts(tables=tables, bare=bare, **({"entries": entries} if is_over else {}))


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
    _count_now(bind)


def _count_now(bind: Any) -> None:
    of_driver = bind.cursor() if hasattr(bind, "cursor") else bind.connection.cursor()  # Django's, or SQLAlchemy's
    with of_driver as cursor:
        count_capture(cursor, "postgresql", is_over=False)
