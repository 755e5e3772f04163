"""The triggers of ours in the catalog, and our record of them; make and remove them."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, Final

from svc_pg.capture.mysql.expressions import MySql
from svc_pg.capture.mysql.triggers import PREFIX
from svc_pg.dbapi import DbApiConnection, execute, rows
from svc_pg.schema.comparison import Found, Key, Recorded
from svc_pg.schema_objects import SchemaObject
from svc_pg.sql_text import Sql, sql
from svc_pg.table_names import TableName

SERVER: Final = ""
"""The home of what belongs to schema svc itself, and so to all databases of the server."""
_QUOTE: Final = MySql()
FACTS: Final = (
    *("trigger_schema", "trigger_name", "event_object_table", "action_timing", "event_manipulation", "definer"),
    *("sql_mode", "character_set_client", "collation_connection", "action_statement"),
)
"""The columns of the catalog that the digest of a trigger is of: a zero byte stands between their values."""
_TRIGGERS: Final = f"""
select {", ".join(FACTS)}
  from information_schema.triggers
 where trigger_schema in (%s, 'svc') and (trigger_schema = 'svc' or left(trigger_name, char_length(%s)) = %s)
 order by trigger_schema, trigger_name
"""  # noqa: S608 - constants
_RECORDED: Final = """
select kind, identity, home, audited_table, source_sha256, catalog_sha256 from svc.installed_objects
"""
_RECORD: Final = """
replace into svc.installed_objects (kind, identity, home, audited_table, source_sha256, catalog_sha256)
values (%s, %s, %s, %s, %s, %s)
"""


def recorded(conn: DbApiConnection) -> dict[Key, tuple[str, Recorded]]:
    """Our record of every object, with its home."""
    return {
        (kind, identity): (home, Recorded(kind, identity, *facts))
        for kind, identity, home, *facts in rows(conn, _RECORDED)
    }


def found(conn: DbApiConnection, schemas: Iterable[str], notes: Iterable[Key]) -> list[Found]:
    """The triggers of ours in these databases and in svc. A renamed table takes its triggers along."""
    by_name = {_trigger_of(identity): identity for _, identity in notes}
    return [
        _found(facts, by_name)
        for schema in dict.fromkeys(schemas)
        for facts in rows(conn, _TRIGGERS, (schema, PREFIX, PREFIX))
    ]


def _found(facts: Sequence[Any], by_name: dict[tuple[str, str], str]) -> Found:
    schema, name, table, *_ = facts
    identity = f"{name} on {TableName(schema, table)}"
    known = by_name.get((schema, name))
    return Found(
        kind="trigger",
        identity=identity,
        sha256=sha256("\0".join(map(str, facts)).encode()).hexdigest(),
        drop_sql=drop_sql(schema, name),
        table=str(TableName(schema, table)),
        recorded_as=None if known == identity else known,
    )


def _trigger_of(identity: str) -> tuple[str, str]:
    """The schema and the name of a trigger."""
    name, table = place_of(identity)
    return table.schema, name


def place_of(identity: str) -> tuple[str, TableName]:
    """The name of a trigger, and its table."""
    name, _, table = identity.rpartition(" on ")
    return name, TableName.parse(table)


def drop_sql(schema: str, name: str) -> str:
    """The statement that drops a trigger."""
    return sql("drop trigger if exists {}.{}", _QUOTE.ident(schema), _QUOTE.ident(name)).text


def replace(
    conn: DbApiConnection, table: TableName, items: Sequence[SchemaObject], drops: Sequence[str], home: str
) -> None:
    """Drop triggers on one table, make others and record them, while no writer can come between.

    ``drops`` are identities; also those of triggers that are made anew. Each step is recorded right after it, because
    DDL commits: after a kill, the next install goes on with what is left.
    """
    execute(conn, sql("lock tables {} write, svc.installed_objects write", _qualified(table)).text)
    try:
        for item in items:
            name, place = place_of(item.identity)
            execute(conn, drop_sql(place.schema, name))
            execute(conn, item.sql)
            _record(conn, item, home)
        for identity in drops:
            name, place = place_of(identity)
            execute(conn, drop_sql(place.schema, name))
            forget(conn, identity)
    finally:
        execute(conn, "unlock tables")


def _record(conn: DbApiConnection, item: SchemaObject, home: str) -> None:
    _, place = place_of(item.identity)
    [made] = [each for each in found(conn, [place.schema], []) if each.identity == item.identity]
    execute(
        conn,
        _RECORD,
        (item.kind, item.identity, home, item.audited_table, item.source_sha256, made.sha256),
    )
    execute(conn, "commit")


def forget(conn: DbApiConnection, identity: str) -> None:
    """Forget a trigger that is gone, also if it was recorded with the name that its table had before."""
    gone = _trigger_of(identity)
    for kind, known in recorded(conn):
        if _trigger_of(known) == gone:
            execute(conn, "delete from svc.installed_objects where kind = %s and identity = %s", (kind, known))
    execute(conn, "commit")


def _qualified(table: TableName) -> Sql:
    return sql("{}.{}", _QUOTE.ident(table.schema), _QUOTE.ident(table.table))
