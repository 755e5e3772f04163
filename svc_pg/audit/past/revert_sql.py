"""Compose the SQL that reverts rows: checks of the rows before, the changes in order, and checks of the result."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from psycopg.sql import SQL, Composable, Identifier

from svc_pg.audit.past.net_changes import TableFacts
from svc_pg.audit.past.reverted_row import (
    SEPARATOR,
    RevertedRow,
    assignments,
    key_sql,
    keys_sql,
    matches,
    same_key,
    table_sql,
    value_sql,
)
from svc_pg.database.table_names import TableName
from svc_pg.formats.json_writer import encode

RowsByTable = Mapping[TableName, Sequence[RevertedRow]]


@dataclass(frozen=True, slots=True)
class _Check:
    query: Composable
    message: str


@dataclass(frozen=True, slots=True)
class _ReferenceCheck:
    """``query`` finds rows that refer to one that goes, and ``record`` names that one."""

    record: Composable
    query: Composable
    message: str


def revert_sql(what: str, rows: Sequence[RevertedRow]) -> str:
    """The statement that takes all these rows back; its length grows with their number, and no faster."""
    from svc_pg.rendering.templates import render  # slow to import, and seldom needed

    by_table: dict[TableName, list[RevertedRow]] = {}
    for row in rows:
        by_table.setdefault(row.table.name, []).append(row)
    order = _parents_first([group[0].table for group in by_table.values()])
    made = [row for name in order for row in by_table[name] if row.after is None]
    groups = ([row for row in by_table[name] if row.before is None] for name in reversed(order))
    ended = [group for group in groups if group]
    changed = [row for row in rows if row.before is not None and row.after is not None]
    # rows that come back may have unique values of rows that go, which go first if nothing refers to them
    last = [row for group in ended for row in _referred(group, by_table)]
    is_last = {id(row) for row in last}
    first = [row for group in ended for row in group if id(row) not in is_last]
    returning = [row for row in rows if row.before is not None]
    return render(
        "revert/revert.sql.j2",
        what=what,
        present=[_present(row) for row in rows if row.after is not None],
        absent=[_absent(row) for row in made],
        unreferred=[check for group in ended for check in _unreferred(group, by_table)],
        statements=[*_deletes(first), *_returns(order, by_table), *_updates(changed), *_deletes(last)],
        repairs=[*_repairs(returning)] if len(rows) > 1 else [],
        results=[_result(row) for row in returning],
        gone=[
            _Check(same_key(row, row.after), f"{row.label} is there again: a trigger made it")
            for group in ended
            for row in group
            if row.after is not None
        ],
    )


def _parents_first(tables: Iterable[TableFacts]) -> list[TableName]:
    """The tables, each after those to which it refers; in circles, as they come."""
    graph: dict[TableName, set[TableName]] = {table.name: set() for table in sorted(tables, key=lambda t: str(t.name))}
    for table in tables:
        for key in table.referring:
            if key.table in graph and key.table != table.name:
                graph[key.table].add(table.name)
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError:
        return list(graph)


def _referred(rows: Sequence[RevertedRow], by_table: RowsByTable) -> list[RevertedRow]:
    """Those of these rows of one table to which another row refers, as both are now."""
    table = rows[0].table
    referred: dict[int, RevertedRow] = {}
    for key in table.referring:
        children = [child for child in by_table.get(key.table, ()) if child.after is not None]
        references = Counter(_values(child, key.columns) for child in children)
        for row in rows:
            values = _values(row, key.of)
            is_its_own = key.table == table.name and _values(row, key.columns) == values
            if references[values] > is_its_own:
                referred[id(row)] = row
    return list(referred.values())


def _values(row: RevertedRow, names: Iterable[str]) -> tuple[object, ...]:
    """The values as they are now, for a comparison."""
    values = [(row.after or {}).get(name) for name in names]
    return tuple(encode(value) if isinstance(value, dict | list) else value for value in values)


def _present(row: RevertedRow) -> _Check:
    assert row.after is not None  # noqa: S101 - the caller chose it
    names = row.after if row.before is None else row.fields
    query = SQL("{} and {}").format(same_key(row, row.after), matches(row, row.after, names))
    return _Check(query, f"{row.label} is not as the log tells")


def _absent(row: RevertedRow) -> _Check:
    assert row.before is not None  # noqa: S101 - the caller chose it
    return _Check(same_key(row, row.before), f"{row.label} is there again")


def _result(row: RevertedRow) -> _Check:
    assert row.before is not None  # noqa: S101 - the caller chose it
    names = row.before if row.after is None else row.fields
    query = SQL("{} and {}").format(same_key(row, row.before), matches(row, row.before, names))
    return _Check(query, f"{row.label} would have other values than before: a trigger or a rule changes it")


def _unreferred(rows: Sequence[RevertedRow], by_table: RowsByTable) -> Iterator[_ReferenceCheck]:
    """Only rows that are taken back too may refer to rows that go, by a key that would delete or change them."""
    table = rows[0].table
    names = [SQL("t.{}").format(Identifier(name)) for name in table.key]
    record = SQL("{}::text" if len(names) == 1 else "pg_catalog.jsonb_build_array({})::text").format(
        SEPARATOR.join(names)
    )
    for key in table.referring:
        if not key.deletes:
            continue  # it refuses
        refers = SQL(" and ").join(
            SQL("c.{} = t.{}").format(Identifier(column), Identifier(of))
            for column, of in zip(key.columns, key.of, strict=True)
        )
        query = SQL("from {} t join {} c on {} where {}").format(
            table_sql(table.name), table_sql(key.table), refers, keys_sql(rows)
        )
        if ours := [child for child in by_table.get(key.table, ()) if child.after is not None]:
            query = SQL("{} and ({}) is not true").format(query, keys_sql(ours, "c"))
        yield _ReferenceCheck(record, query, f"rows of {key.table} refer to {table.name} ")


def _by_table(rows: Iterable[RevertedRow]) -> Iterator[list[RevertedRow]]:
    """The rows of each table together: foreign keys within a table are checked at the end of a statement."""
    groups: dict[tuple[int, tuple[str, ...]], list[RevertedRow]] = {}
    for row in rows:
        groups.setdefault((id(row.table), tuple(_columns(row))), []).append(row)
    yield from groups.values()


def _columns(row: RevertedRow) -> list[str]:
    """The columns of a row that comes back."""
    image = row.before if row.after is None else {}
    left = {*row.table.generated, *row.leave}
    return [name for name in row.table.columns if name in (image or {}) and name not in left]


def _inserts(rows: Sequence[RevertedRow]) -> Iterator[Composable]:
    for group in _by_table(rows):
        names = _columns(group[0])
        values = [
            SQL("({})").format(SEPARATOR.join(value_sql(row.table, name, (row.before or {})[name]) for name in names))
            for row in group
        ]
        # a trigger of the rows before may have brought it back already, which is then repaired
        yield SQL("insert into {} ({}) overriding system value values {} on conflict ({}) do nothing").format(
            table_sql(group[0].table.name),
            SEPARATOR.join(map(Identifier, names)),
            SEPARATOR.join(values),
            SEPARATOR.join(map(Identifier, group[0].table.key)),
        )


def _deletes(rows: Sequence[RevertedRow]) -> Iterator[Composable]:
    for group in _by_table(rows):
        yield SQL("delete from {} t where {}").format(table_sql(group[0].table.name), keys_sql(group))


def _returns(order: Iterable[TableName], by_table: RowsByTable) -> Iterator[Composable]:
    """Table by table, keys become the former ones, and rows come back: later ones refer to them."""
    for name in order:
        yield from _moves([row for row in by_table[name] if row.before is not None and row.after is not None])
        yield from _inserts([row for row in by_table[name] if row.after is None])


def _moves(rows: Sequence[RevertedRow]) -> Iterator[Composable]:
    """Changes of keys alone, each after the one that frees its key. Foreign keys may bring other rows along."""
    keys = [(row.key_of(row.before or {}), row.key_of(row.after or {}), row) for row in rows]
    moved = {after: row for before, after, row in keys if before != after}
    graph = {key: {row.key_of(row.before or {})} & moved.keys() for key, row in moved.items()}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError:
        order = list(graph)
    for key in order:
        row = moved[key]
        changed = [name for name in row.table.key if name in row.fields]
        yield SQL("update {} t set {} where {}").format(
            table_sql(row.table.name), assignments(row, changed), key_sql(row, row.after or {})
        )


def _updates(rows: Iterable[RevertedRow]) -> Iterator[Composable]:
    """The other columns."""
    for row in rows:
        if values := assignments(row, [name for name in row.fields if name not in row.table.key]):
            key = key_sql(row, row.before or {})
            yield SQL("update {} t set {} where {}").format(table_sql(row.table.name), values, key)


def _repairs(rows: Iterable[RevertedRow]) -> Iterator[Composable]:
    """Once more, for rows that have other values."""
    for row in rows:
        before = row.before or {}
        kept = {*row.table.key, *row.table.fixed}
        names = [name for name in (row.fields if row.after is not None else _columns(row)) if name not in kept]
        if values := assignments(row, names):
            yield SQL("update {} t set {} where {} and not ({})").format(
                table_sql(row.table.name), values, key_sql(row, before), matches(row, before, names)
            )
