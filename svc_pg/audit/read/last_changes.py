"""The last changes of a record as plain values, for a page of the application that tells who changed it."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, LiteralString

from svc_pg.audit.log.change import Change, cut, field_change
from svc_pg.audit.log.entry import keyset
from svc_pg.audit.log.record_ids import record_id
from svc_pg.audit.log.snapshot import Snapshot
from svc_pg.audit.portable.entries import phrases_of
from svc_pg.audit.portable.last_changes import change_of_entry, changes_of, is_known
from svc_pg.audit.portable.statements import Steps, arun, run
from svc_pg.audit.read import audit_query
from svc_pg.audit.read.bounded_ids import bounded
from svc_pg.audit.read.change_order import by_change
from svc_pg.database.connections import async_connection, dbapi_connection, is_asyncpg, numbered
from svc_pg.database.dbapi import rows, values_of
from svc_pg.database.dialects import dialect_of
from svc_pg.database.pagination import ALL, Filter
from svc_pg.database.query import Query
from svc_pg.database.table_names import TableName
from svc_pg.errors import QueryError, translating

MAX_CHANGES: Final = 100
DEFAULT_CHANGES: Final = 5

# One text, so that drivers agree on all of it. Texts are cut here: a value may have megabytes. Each snapshot is taken
# apart once, because it may have to be decompressed each time.
_COLUMNS: Final[LiteralString] = """
select pg_catalog.json_build_object(
           'id', audit_logs.id::text,
           'timestamp', audit_logs."timestamp",
           'seconds', extract(epoch from clock_timestamp() - audit_logs."timestamp"),
           'operation', audit_logs.operation,
           'actor_id', left(audit_logs.actor_id, 1000),
           'db_user', audit_logs.db_user,
           'label', left(audit_logs.label, 201),
           'severity', audit_logs.severity,
           'description', left(audit_logs.description, 201),
           'field_count', pg_catalog.cardinality(audit_logs.changed_fields),
           'fields', (
               select pg_catalog.json_agg(pg_catalog.json_build_object(
                          'name', left(c.name, 201),
                          'before', left(b.value operator(pg_catalog.#>>) '{}', 201),
                          'after', left(a.value operator(pg_catalog.#>>) '{}', 201),
                          'before_type', jsonb_typeof(b.value),
                          'after_type', jsonb_typeof(a.value),
                          'is_redacted', coalesce(
                              audit_logs.redacted_fields operator(pg_catalog.&&) array[c.name, '*'], false
                          )
                      ) order by c.position)
                 from pg_catalog.unnest(audit_logs.changed_fields) with ordinality c(name, position)
                 left join jsonb_each(
                     case jsonb_typeof(audit_logs.before_data) when 'object' then audit_logs.before_data end
                 ) b on b.key = c.name
                 left join jsonb_each(
                     case jsonb_typeof(audit_logs.after_data) when 'object' then audit_logs.after_data end
                 ) a on a.key = c.name
                where c.position <= 20
           )
       )::text as change"""
_IS_KNOWN: Final = """
select exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                where n.nspname = %s and c.relname = %s)
       or exists (select from svc.audit_logs where table_name = %s)
"""
_OF_ENTRY: Final[LiteralString] = _COLUMNS + " from svc.audit_logs where id = %s"


def last_changes(conn: Any, table: str, record: object, *, limit: int = DEFAULT_CHANGES) -> list[Change]:
    """The last changes of one record, newest first: at most ``limit``, which may be 1 to 100.

    ``record`` is its key: the value of the column, or a list or tuple of several columns' values.

    ``conn`` is a connection or cursor of a driver of PostgreSQL, SQLite or MySQL, one or a session of SQLAlchemy, or
    Django's. It needs the right to read the log; the caller checks that the reader may see this record. Never commits.

    Raises QueryError for a wrong argument, and for a table that neither exists nor has entries; ConfigError for a name
    that is no table's, NotInstalledError and AccessError.
    """
    _check(limit)
    conn = dbapi_connection(conn, twin="await audit.alast_changes(conn, ...)")
    if dialect_of(conn) != "postgresql":
        return run(conn, _elsewhere(conn, table, record, limit))
    query = _query(table, record, limit)
    with translating():
        found = _changes(rows(conn, query.text, query.params))
        if not found:
            [[is_known]] = rows(conn, _IS_KNOWN, _names(table))
            _check_known(table, is_known=is_known)
        return found


async def alast_changes(conn: Any, table: str, record: object, *, limit: int = DEFAULT_CHANGES) -> list[Change]:
    """As ``last_changes``, on an async connection: psycopg's, aiosqlite's, asyncmy's, aiomysql's or SQLAlchemy's."""
    _check(limit)
    conn = await async_connection(conn, twin="audit.last_changes(conn, ...)")
    if dialect_of(conn) != "postgresql":
        return await arun(conn, _elsewhere(conn, table, record, limit))
    query = _query(table, record, limit)
    with translating():
        found = _changes(await _fetched(conn, query))
        if not found:
            [row] = await _fetched(conn, Query(_IS_KNOWN, _names(table), bool))
            _check_known(table, is_known=values_of(row)[0])
        return found


async def _fetched(conn: Any, query: Query[Any]) -> Sequence[Any]:
    found: Sequence[Any]
    if is_asyncpg(conn):
        found = await conn.fetch(numbered(query.text), *query.params)
    else:
        async with conn.cursor() as cursor:
            found = await (await cursor.execute(query.text, query.params)).fetchall()
    return found


def change_of(conn: Any, entry_id: int) -> Change | None:
    """One entry as a change, if there is one with this id. ``conn`` is Django's, or one as ``last_changes`` takes."""
    if dialect_of(conn) != "postgresql":
        return run(conn, change_of_entry(phrases_of(conn), entry_id))
    with translating():
        return next(iter(_changes(rows(conn, _OF_ENTRY, (entry_id,)))), None)


def _check(limit: int) -> None:
    if not 1 <= limit <= MAX_CHANGES:
        raise QueryError(f"nobody can be shown {limit} changes", hint=f"Ask for 1 to {MAX_CHANGES}.")


def _query(table: str, record: object, limit: int) -> Query[Change]:
    wanted: Filter = ALL.where("table_name = %s", str(TableName.parse(table)))
    wanted = wanted.where("record_id = %s", bounded(record_id(record)))
    return by_change(_COLUMNS, keyset("newest", _COLUMNS, Change), wanted, limit=limit)


def _names(table: str) -> tuple[str, str, str]:
    name = TableName.parse(table)
    return name.schema, name.table, str(name)


def _check_known(table: str, *, is_known: bool) -> None:
    """Raise QueryError for a slip in a table's name, which would look like a record without changes."""
    if not is_known:
        raise QueryError(
            f'table "{TableName.parse(table)}" does not exist and has no entries',
            hint="Write it as the audit log has it: schema.table, or a table in public.",
        )


def _elsewhere(conn: object, table: str, record: object, limit: int) -> Steps[list[Change]]:
    phrases, of_table = phrases_of(conn), audit_query.query().resource(table)
    found = yield from changes_of(phrases, of_table.record(record), limit)
    if not found:
        _check_known(table, is_known=(yield from is_known(phrases, of_table, table)))
    return found


def _changes(found: Iterable[Any]) -> list[Change]:
    return [_change(json.loads(values_of(row)[0])) for row in found]


def _change(found: dict[str, Any]) -> Change:
    fields = [
        field_change(each["name"], _side(each, "before"), _side(each, "after"), is_redacted=each["is_redacted"])
        for each in found["fields"] or ()
    ]
    return Change(
        id=found["id"],
        timestamp=datetime.fromisoformat(found["timestamp"]).astimezone(UTC),
        age=max(timedelta(), timedelta(seconds=found["seconds"])),
        operation=found["operation"],
        actor=found["actor_id"],
        actor_id=found["actor_id"],
        db_user=found["db_user"],
        label=cut(found["label"]),
        severity=found["severity"],
        description=cut(found["description"]),
        fields=fields,
        more_fields=max(0, (found["field_count"] or 0) - len(fields)),
    )


def _side(field: dict[str, Any], side: str) -> object:
    """The beginning of a value, a text or JSON."""
    text = field[side]
    return text if text is None or field[f"{side}_type"] == "string" else Snapshot(text)
