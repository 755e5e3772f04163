"""The entries of a table whose images name a value in the columns of a reference, newest first, within bounds."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import product
from typing import Any, Final, LiteralString

from svc_pg.audit.log.conditions import Among, Condition
from svc_pg.audit.log.entry import BEYOND, ORDER_BY, Operation, beyond_parameters
from svc_pg.audit.read.listing import filter_of
from svc_pg.audit.read.stretch import Reach, reach_of, stretch
from svc_pg.database.effects import Effects
from svc_pg.database.pagination import ALL, Filter
from svc_pg.database.performing import ByIndexes
from svc_pg.database.query import Query, RawJson
from svc_pg.database.statements import statement
from svc_pg.database.storable_texts import is_storable_json
from svc_pg.formats.json_writer import write_ascii

MOST_FOUND: Final = 200
"""The entries that are found in one table."""
MOST_BY_INDEX: Final = 2_000
"""The entries that the index for searches by members gives: of more, the newest of the table are looked at."""
_DIGITS: Final = 40
_FEW: Final = 500
_FREQUENT: Final = 20
"""A value that more of the newest entries name is frequent."""
MOST_VALUES: Final = 100
"""The values of a reference that are looked for."""
MOST_COLUMNS: Final = 3
"""The columns of a reference."""
OF_TENANT: Final = (
    "(nullif(current_setting('svc.tenant_id', true), '') is null or tenant_id = current_setting('svc.tenant_id', true))"
)

_TEXT: Final = statement("queries/audit/naming_entries.sql").replace("{most}", str(MOST_FOUND))
_HAS_INDEX: Final = (
    "select exists (select from pg_index i where i.indexrelid = pg_catalog.to_regclass('svc.audit_logs_contains')"
    " and i.indisvalid) as has_index"
)
_BY_INDEX: Final = "svc.audit_entries_naming(%s::jsonb[], %s)"
# the index of records alone has this order, in which entries of one time are all or none
_OF_RECORD: Final = (
    "(select * from svc.audit_logs where table_name = %s and record_id >= %s and record_id <= %s and {selected}"
    " order by audit_logs.record_id desc, audit_logs.timestamp desc fetch first {most} rows with ties)"
)

Value = tuple[str, ...]
"""The texts of the columns of a reference."""
Place = tuple[datetime, int]
"""The time and the id of an entry."""


@dataclass(frozen=True, slots=True)
class Naming:
    """An entry that names a value before or after the change; ``outward`` are values to which other tables refer."""

    place: Place
    record_id: str | None
    operation: Operation
    xact_id: str
    before: Value | None
    after: Value | None
    outward: dict[str, list[str | None]]


@dataclass(frozen=True, slots=True)
class Looked:
    """The entries found, and how far a look went: ``is_whole`` if to the end of the log."""

    found: Sequence[Naming]
    looked_at: int
    back_to: Place | None
    is_whole: bool
    unnamed: int
    by_index: bool = False


@dataclass(frozen=True, slots=True)
class _Row:
    looked_at: int
    back_to: datetime | None
    back_to_id: str | None
    unnamed: int
    found: RawJson | None


@dataclass(frozen=True, slots=True)
class _HasIndex:
    has_index: bool


@dataclass(frozen=True, slots=True)
class Look:
    """A table, the values to look for in its columns, the columns to which others refer, and the conditions."""

    table: str
    columns: Sequence[str]
    values: Sequence[Value]
    outward: Sequence[str]
    conditions: tuple[Condition, ...]
    before: Place | None
    most: int

    @property
    def selected(self) -> Filter:
        """The conditions, and that of a session that has set a tenant, as histories have it."""
        return filter_of(self.conditions).where(OF_TENANT)

    @property
    def beyond(self) -> Filter:
        """The condition on the place of an entry."""
        return ALL if self.before is None else ALL.where(BEYOND["newest"], *beyond_parameters(*self.before))


def of_record(look: Look, record: str) -> Effects[Looked]:
    """The newest entries of one record."""
    most = MOST_FOUND + 1
    selected = look.selected.joined(look.beyond)
    source = _OF_RECORD.replace("{selected}", " and ".join(selected.conditions)).replace("{most}", _number(most))
    params = (look.table, record, record, *selected.params)
    return (yield from _looked(look, source, params, ALL, most=most, is_by_indexes=True))


def naming(look: Look) -> Effects[Looked]:
    """The newest entries of a table that name one of the values, before or after."""
    has_index: _HasIndex
    [has_index] = yield Query(_HAS_INDEX, (), _HasIndex)
    if has_index.has_index and not look.conditions:  # it gives the entries of all tenants, whose number would tell
        few = yield from _of_newest(look, _FEW)
        if few.is_whole or len(few.found) > _FREQUENT:  # of what is frequent, the index would read all
            return few if few.is_whole else (yield from _of_newest(look, look.most))
        members = [text for value in look.values for text in _members(look.columns, value)]
        source = (members, MOST_BY_INDEX + 1)
        wanted = ALL.where("audit_logs.table_name = %s", look.table).joined(look.beyond)
        found = yield from _looked(look, _BY_INDEX, source, wanted, most=MOST_BY_INDEX + 1)
        if found.is_whole:
            return replace(found, by_index=True)
    return (yield from _of_newest(look, look.most))


def _of_newest(look: Look, most: int) -> Effects[Looked]:
    """Look at the newest entries of the table, or of the log if no index has those of a table."""
    conditions = (*look.conditions, Among("table_name", [look.table]))
    reach = reach_of(conditions, ALL) or Reach(ALL)
    looked_at = yield from stretch(reach, ORDER_BY["newest"], beyond=look.beyond, most=most)
    wanted = ALL.where("audit_logs.table_name = %s", look.table)
    return (yield from _looked(look, looked_at.text, looked_at.params, wanted, most=most, is_by_indexes=True))


def _looked(
    look: Look, source: str, params: tuple[object, ...], wanted: Filter, *, most: int, is_by_indexes: bool = False
) -> Effects[Looked]:
    text, every = statement_of(look, source, params, wanted)
    query = Query(text, every, _Row)
    [row] = yield ByIndexes(query) if is_by_indexes else query
    place = None if row.back_to is None else (row.back_to, int(row.back_to_id))
    found = [_naming(look, each) for each in (row.found.value if row.found is not None else None) or ()]
    is_whole = row.looked_at < most and len(found) < MOST_FOUND
    if len(found) == MOST_FOUND:
        place = found[-1].place
    return Looked(found, row.looked_at, place, is_whole, row.unnamed)


def statement_of(
    look: Look, source: LiteralString, params: tuple[object, ...], wanted: Filter
) -> tuple[LiteralString, tuple[object, ...]]:
    """The statement about the entries of a source, a subquery or a function, and its parameters."""
    wanted = wanted.joined(look.selected)
    values = _values(look)
    outward, outward_params = _outward(look.outward)
    text = _TEXT.replace("{outward}", outward).replace("{is_wanted}", wanted.is_true)
    for name, part in (*values.parts.items(), ("{source}", source)):
        text = text.replace(name, part)
    return text, (*outward_params, *values.params, *values.sides, *wanted.params, *params)


@dataclass(frozen=True, slots=True)
class _Values:
    parts: dict[str, str]
    params: tuple[object, ...]
    sides: tuple[object, ...]


def _values(look: Look) -> _Values:
    """The parts of the statement that tell the values of an entry, and if it has a wanted one."""
    if not look.columns:
        parts = {"{is_named}": "true", "{is_selected}": "true", "{before}": "null::text", "{after}": "null::text"}
        return _Values(parts, (), ())
    columns = [*look.columns]
    if len(columns) == 1:
        side, kind = "w.{}_data ->> %s", "text[]"
        wanted: list[str] = [text for [text] in look.values]
    else:
        members = ", ".join(["w.{}_data ->> %s"] * len(columns)).replace("{}", "{0}")
        side, kind = f"pg_catalog.jsonb_build_array({members})", "jsonb[]"
        wanted = [write_ascii([*value]) for value in look.values]
    parts = {
        # of one column, a text says that it is there; looking for names costs more
        "{is_named}": f"({'v.before_value is not null or v.after_value is not null or ' * (len(columns) == 1)}"
        "coalesce(v.before_data ?& %s::text[], false) or coalesce(v.after_data ?& %s::text[], false))"
        " and not coalesce(v.redacted_fields && %s::text[], false)",
        "{is_selected}": f"(v.before_value = any (%s::{kind}) or v.after_value = any (%s::{kind})) is true",
        "{before}": side.format("before"),
        "{after}": side.format("after"),
    }
    params = (columns, columns, [*columns, "*"], wanted, wanted)
    return _Values(parts, params, (*columns, *columns))


def _outward(columns: Sequence[str]) -> tuple[str, tuple[object, ...]]:
    """Texts of columns before and after, as JSON; those that are disguised are none."""
    if not columns:
        return "null::json", ()
    pair = (
        "%s::text, case when coalesce(x.redacted_fields && array[%s::text, '*'], false) then null else"
        " pg_catalog.json_build_array(x.before_data ->> %s, x.after_data ->> %s) end"
    )
    params = tuple(name for column in columns for name in (column,) * 4)
    return f"pg_catalog.json_build_object({', '.join([pair] * len(columns))})", params


def _naming(look: Look, row: Sequence[Any]) -> Naming:
    entry_id, time, record, operation, xact, before, after, outward = row
    place = (datetime.fromisoformat(time), int(entry_id))
    found = {name: pair for name, pair in (outward or {}).items() if pair is not None}
    return Naming(place, record, operation, xact, _value(look, before), _value(look, after), found)


def _value(look: Look, side: Any) -> Value | None:
    texts = side if isinstance(side, list) else [side]
    return None if not look.columns or None in texts else tuple(texts)


def _members(columns: Sequence[str], value: Value) -> Iterator[str]:
    """The objects that an image with this value has as its members: each text may be that of a number or a list."""
    for side in product(*(_written(text) for text in value)):
        members = ", ".join(f"{write_ascii(name)}: {text}" for name, text in zip(columns, side, strict=True))
        yield f"{{{members}}}"


def _written(text: str) -> Sequence[str]:
    quoted = write_ascii(text)
    try:
        value = json.loads(text, parse_int=_short, parse_float=_short, parse_constant=_short)
    except (ValueError, RecursionError):
        return (quoted,)
    is_other = value is not None and not isinstance(value, str) and is_storable_json(text)
    return (quoted, text) if is_other else (quoted,)


def _short(number: str) -> int:
    """Refuse a number that jsonb may refuse, or that it would not write so."""
    if len(number) > _DIGITS or not number.replace(".", "").removeprefix("-").isdigit():
        raise ValueError(number[:_DIGITS])
    return 0


def _number(number: int) -> LiteralString:
    return str(number)
