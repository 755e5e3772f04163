"""Our triggers in the catalog, and our record of them; create and remove them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from svc_pg.database.dbapi import DbApiConnection, execute, rows
from svc_pg.database.table_names import TableName
from svc_pg.other_databases.capture.mysql.expressions import MySql
from svc_pg.other_databases.capture.mysql.triggers import PREFIX
from svc_pg.rendering.schema_objects import SchemaObject, Trigger
from svc_pg.rendering.sql_text import joined, sql
from svc_pg.schema.change import Removal
from svc_pg.schema.comparison import Found, Key, Recorded
from svc_pg.schema.status import Status

SERVER: Final = ""
"""The home of objects of schema svc itself, which belong to all databases of the server."""
_QUOTE: Final = MySql()
FACTS: Final = (
    *("trigger_schema", "trigger_name", "event_object_table", "action_timing", "event_manipulation", "definer"),
    *("sql_mode", "character_set_client", "collation_connection", "action_statement"),
)
"""The columns of the catalog in the digest of a trigger, separated by zero bytes."""
_COLUMNS: Final = ["concat(sql_mode)" if name == "sql_mode" else name for name in FACTS]  # drivers may parse a SET
_FROM_CATALOG: Final = f"select {', '.join(_COLUMNS)} from information_schema.triggers"  # noqa: S608 - constants
_TRIGGERS: Final = f"""
{_FROM_CATALOG} where trigger_schema = %s and (trigger_schema = 'svc' or left(trigger_name, char_length(%s)) = %s)
 order by trigger_name
"""
_TRIGGER: Final = f"{_FROM_CATALOG} where trigger_schema = %s and trigger_name = %s"
_DEFINER: Final = re.compile(r"^create\s+(definer=`([^`]|``)*`@`([^`]|``)*`\s+)?trigger", re.IGNORECASE)
_BEFORE: Final = """
select trigger_name, event_object_table, event_manipulation from information_schema.triggers
 where trigger_schema = %s and action_timing = 'BEFORE' order by action_order
"""
_RECORDED: Final = """
select kind, identity, home, audited_table, source_sha256, catalog_sha256 from svc.installed_objects
"""
_RECORD: Final = """
replace into svc.installed_objects (kind, identity, home, audited_table, source_sha256, catalog_sha256)
values (%s, %s, %s, %s, %s, %s)
"""


def recorded_objects(conn: DbApiConnection) -> dict[Key, tuple[str, Recorded]]:
    """Our record of every object, with its home."""
    return {
        (kind, identity): (home, Recorded(kind, identity, *facts))
        for kind, identity, home, *facts in rows(conn, _RECORDED)
    }


def home_of(trigger: Trigger, database: str) -> str:
    """The database whose install made a trigger."""
    return SERVER if trigger.table.schema == "svc" else database


def catalog_objects(conn: DbApiConnection, schemas: Iterable[str], notes: Iterable[Recorded]) -> list[Found]:
    """Our triggers in these databases and in svc. A renamed table keeps its triggers."""
    by_name = {_key(Trigger.parse(note.identity)): note.identity for note in notes}
    return [
        _found(facts, by_name)
        for schema in dict.fromkeys((*schemas, "svc"))
        for facts in rows(conn, _TRIGGERS, (schema, PREFIX, PREFIX))
    ]


def early(conn: DbApiConnection, schemas: Iterable[str]) -> set[str]:
    """Our triggers that fire before one of the application, which may change the rows that they have kept."""
    found = set()
    for schema in dict.fromkeys(schemas):
        ours: dict[tuple[str, str], str] = {}
        for name, table, event in rows(conn, _BEFORE, (schema,)):
            if name.startswith(PREFIX):
                ours[table, event] = str(Trigger(name, TableName(schema, table)))
            elif (table, event) in ours:
                found.add(ours[table, event])
    return found


def definitions(conn: DbApiConnection, steps: Iterable[Status]) -> dict[str, str]:
    """The SQL of the triggers that the steps replace, by identity, without the definer."""
    found = {}
    for step in steps:
        if step.kind == "trigger" and step.state == "outdated":
            name = sql("{}.{}", *map(_QUOTE.ident, _key(Trigger.parse(step.identity))))
            # the catalog's action_statement has other literals, without their backslashes
            [(_, _, text, *_)] = rows(conn, sql("show create trigger {}", name).text)
            found[step.identity] = _DEFINER.sub("create trigger", str(text), count=1)
    return found


def _found(facts: Sequence[Any], by_name: Mapping[tuple[str, str], str]) -> Found:
    schema, name, table, *_ = facts
    trigger = Trigger(name, TableName(schema, table))
    return Found(
        kind="trigger",
        identity=str(trigger),
        sha256=_digest(facts),
        drop_sql=drop_sql(trigger),
        table=str(trigger.table),
        recorded_as=by_name.get((schema, name)),
    )


def _digest(facts: Sequence[Any]) -> str:
    return sha256("\0".join(map(str, facts)).encode()).hexdigest()


def _key(trigger: Trigger) -> tuple[str, str]:
    """The schema and the name of a trigger, which are unique on the server."""
    return trigger.table.schema, trigger.name


def drop_sql(trigger: Trigger) -> str:
    """The statement that drops a trigger."""
    return sql("drop trigger if exists {}.{}", *map(_QUOTE.ident, _key(trigger))).text


@dataclass(frozen=True, slots=True)
class Exchange:
    """The triggers to create on the first of these tables, and those to remove, while all tables are locked."""

    tables: list[TableName]
    items: list[SchemaObject] = field(default_factory=list)
    removals: list[Removal] = field(default_factory=list)


def exchanges(items: Iterable[SchemaObject], removals: Iterable[Removal]) -> list[Exchange]:
    """One exchange for each table; triggers of a renamed table are removed with the creation of the new ones.

    A trigger to remove may be on another table than the new one of the same name, if a table has taken the other's
    place.
    """
    by_table: dict[TableName, Exchange] = {}
    by_name: dict[tuple[str, str], Exchange] = {}
    for item in items:
        trigger = Trigger.parse(item.identity)
        by_name[_key(trigger)] = exchange = by_table.setdefault(trigger.table, Exchange([trigger.table]))
        exchange.items.append(item)
    for removal in removals:
        table = removal.trigger.table
        if (made := by_name.get(_key(removal.trigger))) is None:
            by_table.setdefault(table, Exchange([table])).removals.append(removal)
        elif table not in made.tables:
            made.tables.append(table)
    return list(by_table.values())


def replace(conn: DbApiConnection, exchange: Exchange, database: str) -> None:
    """Create triggers and record them, and remove others, while all writers are locked out.

    Each step is recorded right after it, because DDL commits: after a kill, the next install continues with the rest.
    """
    tables = [sql("{}.{} write", *map(_QUOTE.ident, table)) for table in exchange.tables]
    execute(conn, sql("lock tables {}, svc.installed_objects write", joined(", ", tables)).text)
    try:
        for item in exchange.items:
            execute(conn, drop_sql(Trigger.parse(item.identity)))
            execute(conn, item.sql)
            _record(conn, item, database)
        for removal in exchange.removals:
            execute(conn, drop_sql(removal.trigger))
            forget(conn, removal.recorded_as)
    finally:
        execute(conn, "unlock tables")


def _record(conn: DbApiConnection, item: SchemaObject, database: str) -> None:
    trigger = Trigger.parse(item.identity)
    [facts] = rows(conn, _TRIGGER, _key(trigger))
    home = home_of(trigger, database)
    note = (item.kind, item.identity, home, item.audited_table, item.source_sha256, _digest(facts))
    execute(conn, _RECORD, note)
    execute(conn, "commit")


def forget(conn: DbApiConnection, identity: str) -> None:
    """Delete the record of a dropped trigger, by its recorded identity."""
    execute(conn, "delete from svc.installed_objects where kind = 'trigger' and identity = %s", (identity,))
    execute(conn, "commit")
