"""Compose the SQL that takes rows back: what must be there before, the changes in their order, and the result."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from psycopg.sql import SQL, Composable, Identifier, Literal

from svc_pg.audit.net_changes import TableFacts
from svc_pg.encoding import encode
from svc_pg.table_names import TableName

_SEPARATOR: Final = SQL(", ")


@dataclass(frozen=True, slots=True)
class RevertedRow:
    """A row with its recorded values ``before`` the change and ``after`` it; None if it was not there.

    ``fields`` are the columns to set if it was there both times. ``leave`` are columns to leave as they are.
    """

    table: TableFacts
    label: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    fields: Sequence[str]
    leave: Sequence[str]

    def key_of(self, image: Mapping[str, Any]) -> tuple[Any, ...]:
        """The key in an image."""
        return tuple(image.get(name) for name in self.table.key)


@dataclass(frozen=True, slots=True)
class _Check:
    query: Composable
    message: str


def is_marker(value: Any) -> bool:
    """True if this stands in a snapshot for a value that is not recorded; see sql/audit/audit_whole.sql."""
    markers = {"oversized", "unsupported"}
    return isinstance(value, dict) and {"bytes", "sha256"} <= value.keys() and not markers.isdisjoint(value)


def revert_sql(what: str, rows: Sequence[RevertedRow]) -> str:
    """The statement that takes all these rows back."""
    from svc_pg.render import render  # slow to import, and seldom needed

    order = _parents_first(rows)
    made = [row for name in order for row in rows if str(row.table.name) == name and row.after is None]
    ended = [row for name in reversed(order) for row in rows if str(row.table.name) == name and row.before is None]
    changed = [row for row in rows if row.before is not None and row.after is not None]
    # rows that come back may have unique values of rows that go, which go first if nothing refers to them
    first = [row for row in ended if not any(_refers(other, row) for other in rows)]
    last = [row for row in ended if row not in first]
    returning = [row for row in rows if row.before is not None]
    return render(
        "revert/revert.sql.j2",
        what=what,
        present=[_present(row) for row in rows if row.after is not None],
        absent=[*map(_absent, made), *(check for row in ended for check in _unreferred(row, rows))],
        statements=[*_deletes(first), *_returns(order, made, changed), *_updates(changed), *_deletes(last)],
        repairs=[*_repairs(returning)] if len(rows) > 1 else [],
        results=[_result(row) for row in returning],
        gone=[
            _Check(_same_key(row, row.after), f"{row.label} is there again: a trigger made it")
            for row in ended
            if row.after is not None
        ],
    )


def _parents_first(rows: Iterable[RevertedRow]) -> list[str]:
    """The tables, each after those to which it refers; in circles, as they come."""
    tables = {str(row.table.name): row.table for row in rows}
    graph: dict[str, set[str]] = {name: set() for name in sorted(tables)}
    for name, table in tables.items():
        for key in table.referring.value:
            child = _child(key)
            if child in graph and child != name:
                graph[child].add(name)
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError:
        return list(graph)


def _child(key: Mapping[str, Any]) -> str:
    return str(TableName(key["schema"], key["table"]))


def _refers(row: RevertedRow, other: RevertedRow) -> bool:
    """True if a row refers to another one, as both are now."""
    if row is other or row.after is None or other.after is None:
        return False
    return any(
        _child(key) == str(row.table.name)
        and [row.after.get(name) for name in key["columns"]] == [other.after.get(name) for name in key["of"]]
        for key in other.table.referring.value
    )


def _table(row: RevertedRow) -> Composable:
    return Identifier(row.table.schema, row.table.table)


def _same_key(row: RevertedRow, image: Mapping[str, Any]) -> Composable:
    """The rows with the key in an image, as the end of a query: there is one, or none."""
    return SQL("from {} t where {}").format(_table(row), _key(row, image))


def _key(row: RevertedRow, image: Mapping[str, Any], alias: str = "t") -> Composable:
    return SQL(" and ").join(
        SQL("{} = {}").format(Identifier(alias, name), _value(row.table, name, image.get(name)))
        for name in row.table.key
    )


def _matches(row: RevertedRow, image: Mapping[str, Any], names: Iterable[str]) -> Composable:
    """The condition that these columns have the values of an image, as snapshots tell values."""
    compared = [name for name in names if name in image and not is_marker(image[name])]
    compared = [name for name in compared if name in row.table.columns and name not in row.leave]
    ignored = sorted({*row.table.columns, *row.table.virtual} - {*compared})
    values = encode({name: image[name] for name in compared}).decode()
    return SQL("svc.audit_image(t, t.tableoid) - {}::text[] = {}::jsonb").format(
        SQL("array[{}]").format(_SEPARATOR.join(map(Literal, ignored))), Literal(values)
    )


def _present(row: RevertedRow) -> _Check:
    assert row.after is not None  # noqa: S101 - the caller chose it
    names = row.after if row.before is None else row.fields
    query = SQL("{} and {}").format(_same_key(row, row.after), _matches(row, row.after, names))
    return _Check(query, f"{row.label} is not as the log tells")


def _absent(row: RevertedRow) -> _Check:
    assert row.before is not None  # noqa: S101 - the caller chose it
    return _Check(_same_key(row, row.before), f"{row.label} is there again")


def _result(row: RevertedRow) -> _Check:
    assert row.before is not None  # noqa: S101 - the caller chose it
    names = row.before if row.after is None else row.fields
    query = SQL("{} and {}").format(_same_key(row, row.before), _matches(row, row.before, names))
    return _Check(query, f"{row.label} would have other values than before: a trigger or a rule changes it")


def _unreferred(row: RevertedRow, rows: Sequence[RevertedRow]) -> Iterator[_Check]:
    """Nothing that is not taken back itself may refer to a row that goes, by a key that would delete or change it."""
    assert row.after is not None  # noqa: S101 - the caller chose it
    for key in row.table.referring.value:
        if not key["deletes"]:
            continue  # it refuses
        values = [_value(row.table, of, row.after.get(of)) for of in key["of"]]
        refers = SQL(" and ").join(
            SQL("{} = {}").format(Identifier("c", name), value)
            for name, value in zip(key["columns"], values, strict=True)
        )
        ours = [each for each in rows if str(each.table.name) == _child(key) and each.after is not None]
        others = SQL("").join(SQL(" and not ({})").format(_key(each, each.after or {}, "c")) for each in ours)
        table = Identifier(key["schema"], key["table"])
        query = SQL("from {} c where {}{}").format(table, refers, others)
        yield _Check(query, f"rows of {_child(key)} refer to {row.label}")


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
            SQL("({})").format(_SEPARATOR.join(_value(row.table, name, (row.before or {})[name]) for name in names))
            for row in group
        ]
        # a trigger of the rows before may have brought it back already, which is then repaired
        yield SQL("insert into {} ({}) overriding system value values {} on conflict ({}) do nothing").format(
            _table(group[0]),
            _SEPARATOR.join(map(Identifier, names)),
            _SEPARATOR.join(values),
            _SEPARATOR.join(map(Identifier, group[0].table.key)),
        )


def _deletes(rows: Sequence[RevertedRow]) -> Iterator[Composable]:
    for group in _by_table(rows):
        keys = [SQL("({})").format(_key(row, row.after or {})) for row in group]
        yield SQL("delete from {} t where {}").format(_table(group[0]), SQL(" or ").join(keys))


def _returns(order: Iterable[str], made: Iterable[RevertedRow], changed: Iterable[RevertedRow]) -> Iterator[Composable]:
    """Table by table, keys become the former ones, and rows come back: later ones refer to them."""
    for name in order:
        yield from _moves([row for row in changed if str(row.table.name) == name])
        yield from _inserts([row for row in made if str(row.table.name) == name])


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
            _table(row), _assignments(row, changed), _key(row, row.after or {})
        )


def _updates(rows: Iterable[RevertedRow]) -> Iterator[Composable]:
    """The other columns."""
    for row in rows:
        if assignments := _assignments(row, [name for name in row.fields if name not in row.table.key]):
            yield SQL("update {} t set {} where {}").format(_table(row), assignments, _key(row, row.before or {}))


def _repairs(rows: Iterable[RevertedRow]) -> Iterator[Composable]:
    """The columns once more, of the rows that have other values."""
    for row in rows:
        before = row.before or {}
        kept = {*row.table.key, *row.table.fixed}
        names = [name for name in (row.fields if row.after is not None else _columns(row)) if name not in kept]
        if assignments := _assignments(row, names):
            yield SQL("update {} t set {} where {} and not ({})").format(
                _table(row), assignments, _key(row, before), _matches(row, before, names)
            )


def _assignments(row: RevertedRow, names: Iterable[str]) -> Composable | None:
    """None if there is nothing to set."""
    before = row.before or {}
    settable = [name for name in names if name not in row.table.generated]
    if not settable:
        return None
    return _SEPARATOR.join(
        SQL("{} = {}").format(Identifier(name), _value(row.table, name, before.get(name))) for name in settable
    )


def _value(table: TableFacts, name: str, value: Any) -> Composable:
    """A recorded value as a literal that takes the type of the column; of a structure, through the table's row type."""
    if value is None:
        return SQL("null")
    if name in table.json_columns:
        return Literal(encode(value).decode())
    if isinstance(value, dict | list):
        row = Literal(encode({name: value}).decode())
        row_type = Identifier(table.schema, table.table)
        return SQL("(jsonb_populate_record(null::{}, {})).{}").format(row_type, row, Identifier(name))
    return Literal(value if type(value) is str else encode(value).decode())
