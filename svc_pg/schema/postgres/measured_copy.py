"""The copy of a table, with its capture, whose changes are measured: in a transaction that is rolled back.

The rows are made up. Those of users are not read: a policy or an index would run code of others with the rights of this
session, a lock would be held, and the values would be in the write-ahead log. For the same reason a column of a domain
has the type below it, and one of a composite type is a text.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from psycopg import Connection
from psycopg.sql import SQL, Composed, Identifier, Literal

from svc_pg.capture.postgres.triggers import measured_objects
from svc_pg.capture.rules import TableRules
from svc_pg.config import AuditConfig
from svc_pg.database.query import Query, fetch, fetch_one, scalar
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName
from svc_pg.rendering.schema_objects import names_of
from svc_pg.schema.costs import Operation
from svc_pg.schema.postgres import access, installed, log_indexes
from svc_pg.schema.postgres.access import Access
from svc_pg.schema.postgres.made_up_values import GROWING, made_up, name_of_type

PLAIN: Final = "svc_plain"
CAPTURED: Final = "svc_captured"
_ROWS: Final = "svc_rows"
MOST_ROWS: Final = 200
_FEWEST_ROWS: Final = 10
_VALUES: Final = 40_000  # of the rows of a statement
_BYTES: Final = 2_000_000
_PAGE: Final = 6000
_MANY: Final = 200
_COLUMNS: Final = statement("queries/schema/measured_columns.sql")
_LOG: Final = SQL("""
create table {log} (like svc.audit_logs including all excluding identity excluding indexes)
    partition by range ("timestamp");
alter table {log} alter id add generated always as identity, add primary key ("timestamp", id);
create table {part} partition of {log} for values from (minvalue) to (maxvalue);
""")
_SIZE: Final = SQL("""
select pg_table_size({part}) + pg_indexes_size({part}) as size,
       coalesce((select json_object_agg(operation, number)
                   from (select operation, count(*) as number from {log} group by 1) n), '{{}}') as entries
""")


@dataclass(frozen=True, slots=True)
class _Column:
    """``width`` and ``nulls`` are None without statistics; ``outside`` are bytes a row of the whole table."""

    name: str
    type: str | None
    labels: Sequence[str]
    width: float | None
    nulls: float | None
    outside: float | None
    is_readable: bool
    owner: str


@dataclass(frozen=True, slots=True)
class Copy:
    """Two empty tables, one of them with capture; ``size`` rows for them; and a column to update, if there is one."""

    size: int
    columns: Sequence[str]
    changed: str | None
    change: Composed | None
    notes: Sequence[str]
    log: Identifier
    part: Identifier

    def statements(self, table: str) -> Iterator[tuple[Operation, Composed]]:
        """The statements that change all rows, by operation."""
        relation = Identifier("pg_temp", table)
        rows = SQL("insert into {} select * from {}").format(relation, Identifier("pg_temp", _ROWS))
        yield "INSERT", rows
        if self.changed is not None and self.change is not None:
            yield "UPDATE", SQL("update {} set {} = {}").format(relation, Identifier(self.changed), self.change)
        yield "DELETE", SQL("delete from {}").format(relation)

    def entries(self, conn: Connection[Any]) -> tuple[int, Mapping[str, int]]:
        """The bytes of the log, and its entries by operation."""
        parts = {"part": Literal(self.part.as_string()), "log": self.log}
        text = _SIZE.format(**parts).as_string()
        return fetch_one(conn, Query(text, (), lambda size, entries: (int(size), entries.value)))


def make(conn: Connection[Any], rules: TableRules, config: AuditConfig, rights: Access) -> Copy:
    """Make the copy of a table, and a log for it with the indexes that the configuration chooses."""
    params = {"schema": rules.table.name.schema, "table": rules.table.name.table}
    found = {each.name: each for each in fetch(conn, Query(_COLUMNS, params, _Column))}
    columns = [found[name] for name in rules.table.columns]
    types = {each.name: each.type or rules.table.types[each.name] for each in columns}
    values, notes = _values(columns, types)
    size = _size(columns)
    conn.execute(_made(columns, types, values, size))
    if columns:
        conn.execute(SQL("alter table pg_temp.{} owner to {}").format(SQL(CAPTURED), SQL(columns[0].owner)))
    log, part = _make_log(conn, config)
    _capture(conn, _fitted(rules, types), config, rights, log)
    changed = _changed(rules, columns, types, values)
    change = None if changed is None else SQL("(select {} from (select 990 as i) n)").format(values[changed])
    return Copy(size, rules.table.columns, changed, change, notes, log, part)


def _values(columns: Sequence[_Column], types: Mapping[str, str]) -> tuple[dict[str, Composed], list[str]]:
    """An expression that makes up a value for each column whose type is known, and notes for the report."""
    growing = [each.name for each in columns if name_of_type(types[each.name]) in GROWING]
    values, unknown = {}, []
    for position, each in enumerate(columns):
        width = each.width
        if width is None and len(columns) > _MANY:  # or a row of so many columns would not fit into a page
            if position > _PAGE / 8:
                break
            width = _PAGE / len(columns) - 1
        if each.outside and each.name in growing:
            width = (width or 0) + each.outside / len(growing)
        value = made_up(types[each.name], width=width, labels=each.labels)
        if value is None:
            unknown.append(types[each.name])
            continue
        nulls = round(1000 * (each.nulls or 0))
        some = SQL("case when (i * 7919 + {}) % 1000 >= {} then {} end").format(position * 31, nulls, value)
        values[each.name] = some if nulls else SQL("{}").format(value)
    notes = [] if any(each.width is not None for each in columns) else [_unknown_widths(columns)]
    if unknown:
        notes.append(f"nothing is made up for {', '.join(sorted(set(unknown)))}, so these columns are empty")
    return values, notes


def _unknown_widths(columns: Sequence[_Column]) -> str:
    if any(not each.is_readable for each in columns):
        return "its rows are hidden from this role, so values have the usual widths of their types"
    return "it has no statistics yet (ANALYZE makes them), so values have the usual widths of their types"


def _size(columns: Sequence[_Column]) -> int:
    width = sum(each.width or 20 for each in columns) + max((each.outside or 0 for each in columns), default=0)
    most = min(MOST_ROWS, _VALUES // max(len(columns), 1), int(_BYTES / max(width, 1)))
    return max(most, _FEWEST_ROWS)


def _made(columns: Sequence[_Column], types: Mapping[str, str], values: Mapping[str, Composed], size: int) -> Composed:
    definitions = SQL(", ").join(SQL("{} {}").format(Identifier(each.name), SQL(types[each.name])) for each in columns)
    row = SQL(", ").join(values.get(each.name, SQL("null")) for each in columns)
    tables = [
        SQL("create temporary table {} ({}) on commit drop;").format(SQL(name), definitions)
        for name in (PLAIN, CAPTURED, _ROWS)
    ]
    fill = SQL("insert into pg_temp.{} select {} from generate_series(1, {}) i;").format(SQL(_ROWS), row, size)
    return SQL("").join([*tables, fill])


def _make_log(conn: Connection[Any], config: AuditConfig) -> tuple[Identifier, Identifier]:
    name = f"measured_log_{scalar(conn, 'select pg_backend_pid()')}"
    log, part = Identifier("svc", name), Identifier("svc", f"{name}_part")
    conn.execute(_LOG.format(log=log, part=part))
    for end in log_indexes.chosen(config):
        conn.execute(SQL("create index on {} {}").format(log, SQL(log_indexes.METHODS[end])))
    return log, part


def _capture(conn: Connection[Any], rules: TableRules, config: AuditConfig, rights: Access, log: Identifier) -> None:
    schema = scalar(conn, "select nspname::text from pg_namespace where oid = pg_my_temp_schema()")
    own = replace(rules, table=replace(rules.table, name=TableName(schema, CAPTURED)))
    items = measured_objects(own, unattributed=config.unattributed, log=log)
    installed.create(conn, items)
    names = names_of(own.table.name)
    access.apply(conn, rights, names=[names.record, names.redact, names.capture])
    owner = "select c.relowner::regrole::text from pg_class c where c.oid = to_regclass(%s)"
    writer = scalar(conn, owner, (Identifier("svc", names.record).as_string(),))
    conn.execute(SQL("grant insert on {} to {}").format(log, SQL(writer)))


def _fitted(rules: TableRules, types: Mapping[str, str]) -> TableRules:
    """The rules for the copy: its columns have no domains and no expressions, and some are texts."""
    table = replace(
        rules.table,
        types=types,
        printed_lists=[],
        domains=[],
        generated={},
        virtual=[],
        partitions=[],
        parent=None,
        inherits=False,
    )
    return replace(rules, table=table)


def _changed(
    rules: TableRules, columns: Sequence[_Column], types: Mapping[str, str], values: Mapping[str, Composed]
) -> str | None:
    """The column to update: a recorded one that is narrow and has many values, if there is one."""
    known = [each for each in columns if each.name in values]

    def rank(column: _Column) -> tuple[bool, bool, bool, float]:
        is_coarse = bool(column.labels) or name_of_type(types[column.name]) == "boolean"
        return column.name in rules.key, column.name in rules.ignored, is_coarse, column.width or 20

    return min(known, key=rank).name if known else None
