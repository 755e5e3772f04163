"""Generate the SQL that reverts a transaction or an entry, unless later changes forbid it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from psycopg import AsyncConnection, Connection

from svc_pg.audit.log.entry import ERASED
from svc_pg.audit.log.numbers import number_of, transaction_number
from svc_pg.audit.past.diff import document
from svc_pg.audit.past.net_changes import NetChange, TableFacts, facts_of, net_changes
from svc_pg.audit.past.revert_sql import revert_sql
from svc_pg.audit.past.reverted_row import RevertedRow, is_marker
from svc_pg.audit.reads.reading import Shown
from svc_pg.audit.reads.recording import ashown_at_once, shown_at_once
from svc_pg.database.dialects import require_postgres
from svc_pg.database.query import RawJson, afetch, afetch_within, fetch
from svc_pg.database.storable_texts import check_texts
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConflictError, QueryError, Refusal, RevertRefusedError

_FEATURE: Final = "the revert of a change"
_MOST_SAID: Final = 20


def revert(
    conn: Connection[Any],
    *,
    transaction: str | int | None = None,
    entry: str | int | None = None,
    leave: Sequence[str] = (),
) -> str:
    """The SQL that takes back a transaction (its ``xact_id``), or one entry (its id). Executes nothing, never commits.

    The SQL is one statement, which does all or nothing: it compares the rows with the log before and after, and raises
    an error if they differ. ``leave`` are fields that it neither changes nor compares, for example an ``updated_at``
    that a trigger sets; no refusal is about them, except those about the key.

    Raises RevertRefusedError, which names each reason, if that is not safe: a row has changed since, a value that is
    needed was redacted, a column is gone. Raises ConflictError if there is nothing to take back, or the number is that
    of two transactions, QueryError for other arguments, NotFoundError, ConfigError on other databases and
    NotInstalledError.
    """
    require_postgres(conn, _FEATURE)
    what, query = _asked(transaction, entry, leave)
    changes = fetch(conn, query)
    facts = fetch(conn, facts_of(_tables(changes)))
    shown_at_once(conn, _shown(changes), {"of": "revert"})  # a refusal names records too
    return _reverted(what, changes, facts, leave)


async def arevert(
    conn: AsyncConnection[Any],
    *,
    transaction: str | int | None = None,
    entry: str | int | None = None,
    leave: Sequence[str] = (),
    max_bytes: int | None = None,
) -> str:
    """As ``revert``, on an async connection.

    With ``max_bytes``, which needs a transaction, raises QueryError if the changes have more in the log.
    """
    require_postgres(conn, _FEATURE)
    what, query = _asked(transaction, entry, leave)
    if max_bytes is None:
        changes = await afetch(conn, query)
    else:
        changes, is_all = await afetch_within(conn, query, max_bytes=max_bytes)
        if not is_all or sum(len(each.before_data or "") + len(each.after_data or "") for each in changes) > max_bytes:
            raise QueryError(f"{what} has more than {max_bytes} bytes of values", hint="svc-pg revert prints its SQL.")
    facts = await afetch(conn, facts_of(_tables(changes)))
    await ashown_at_once(conn, _shown(changes), {"of": "revert"})
    return _reverted(what, changes, facts, leave)


def _shown(changes: Iterable[NetChange]) -> Shown:
    found: dict[str, list[str | None]] = {}
    for change in changes:
        found.setdefault(change.table_name, []).append(change.record_id)
    return found


def _asked(transaction: str | int | None, entry: str | int | None, leave: Sequence[str]) -> tuple[str, Any]:
    if (transaction is None) == (entry is None):
        raise QueryError("a revert takes either a transaction or an entry")
    if isinstance(leave, str):
        raise QueryError(f"leave is a list of fields, not the text {leave!r}")
    check_texts(*leave)
    if entry is not None:
        return f"entry {entry}", net_changes(entry=number_of(entry), leave=leave)
    return f"transaction {transaction}", net_changes(transaction=transaction_number(transaction or ""), leave=leave)


def _tables(changes: Iterable[NetChange]) -> list[TableName]:
    return [TableName.parse(name) for name in sorted({change.table_name for change in changes})]


def _reverted(what: str, changes: Sequence[NetChange], facts: Sequence[TableFacts], leave: Sequence[str]) -> str:
    tables = {str(each.name): each for each in facts}
    problems: list[Refusal] = []
    rows: list[RevertedRow] = []
    for change in _rejoined(changes):
        found = list(_problems(change, tables.get(change.table_name)))
        if not found and (change.before_data or change.after_data):
            row = _row(change, tables[change.table_name], leave)
            found = list(_missing_values(row, change, leave))
            rows.append(row)
        problems += found
    if problems:
        more = len(problems) - _MOST_SAID
        said = [each.reason for each in problems[:_MOST_SAID]] + ([f"and {more} more"] if more > 0 else [])
        raise RevertRefusedError(f"{what} cannot be taken back: " + "; ".join(said), refusals=problems)
    rows = [row for row in rows if row.before is None or row.after is None or row.fields]
    if not rows:
        raise ConflictError(f"{what} changed nothing that could be taken back")
    return revert_sql(what, rows)


def _rejoined(changes: Sequence[NetChange]) -> list[NetChange]:
    """The changes, with the end of an old key and the beginning of the new one joined if a row changed its key."""
    left = {(change.table_name, change.record_id): change for change in changes}
    for key in list(left):
        while (change := left.get(key)) and (before := _moved(change, left)):
            del left[before.table_name, before.record_id]
            left[key] = replace(
                change,
                before_data=before.before_data,
                changed_fields=[*(before.changed_fields or ()), *(change.changed_fields or ())],
                redacted_fields=[*(before.redacted_fields or ()), *(change.redacted_fields or ())],
                moved_from=before.moved_from,
                is_in_order=before.is_in_order and change.is_in_order,
                later_entry=change.later_entry or before.later_entry,
                later_operation=change.later_operation if change.later_entry else before.later_operation,
                later_fields=change.later_fields if change.later_entry else before.later_fields,
            )
    return list(left.values())


def _moved(change: NetChange, others: Mapping[tuple[str, str | None], NetChange]) -> NetChange | None:
    """The change that ended the row's former key."""
    before = others.get((change.table_name, change.moved_from)) if change.moved_from else None
    is_beginning = change.before_data is None and change.after_data is not None
    if before is None or before is change or not is_beginning or before.after_data is not None:
        return None
    return before if before.moved_to == change.record_id else None


def _problems(change: NetChange, table: TableFacts | None) -> Iterator[Refusal]:
    name = f"{change.table_name} {change.record_id}"
    refusal = partial(Refusal, table=change.table_name, record=change.record_id)
    if change.record_id is None and change.later_operation == "TRUNCATE":
        yield refusal(f"entry {change.later_entry} emptied {change.table_name} by TRUNCATE", entry=change.later_entry)
    elif change.record_id is None:
        yield refusal(
            f"{change.table_name} has no key, so nothing tells which row entry {change.later_entry} is about",
            entry=change.later_entry,
        )
    elif table is None:
        yield refusal(f'there is no table "{change.table_name}" any more')
    elif change.is_of_another_table:
        yield refusal(f'the table was renamed, and "{change.table_name}" is another one now')
    elif table.schema == "svc":
        yield refusal(f"{change.table_name} belongs to svc-pg")
    elif not table.key:
        yield refusal(f"{change.table_name} has no key any more")
    elif ERASED in (change.before_data, change.after_data):
        yield refusal(f"what the log knew of {name} is erased")
    elif not change.is_in_order:
        yield refusal(f"the entries of {name} do not follow each other")
    elif change.later_entry is not None:
        fields = sorted({*(change.later_fields or ())} & {*(change.changed_fields or ())})
        what = f"changed {', '.join(fields)} of" if fields else f"{change.later_operation} changed"
        yield refusal(
            f"entry {change.later_entry} {what} {name} since",
            field=fields[0] if len(fields) == 1 else None,
            entry=change.later_entry,
        )


def _row(change: NetChange, table: TableFacts, leave: Sequence[str]) -> RevertedRow:
    redacted = {*(change.redacted_fields or ())}
    before, after = (_image(data, redacted) for data in (change.before_data, change.after_data))
    fields: list[str] = []
    if before is not None and after is not None:
        missing = object()
        differing = {name for name in {*before, *after} if before.get(name, missing) != after.get(name, missing)}
        fields = [name for name in table.columns if name in differing and name not in leave]
    return RevertedRow(table, f"{change.table_name} {change.record_id}", before, after, fields, tuple(leave))


def _image(data: RawJson | None, redacted: set[str]) -> dict[str, Any] | None:
    if data is None:
        return None
    if "*" in redacted:
        return {}
    return {name: value for name, value in document(data).items() if name not in redacted}


def _missing_values(row: RevertedRow, change: NetChange, leave: Sequence[str]) -> Iterator[Refusal]:
    """The needed values that the log lacks."""
    redacted = {*(change.redacted_fields or ())}
    needed = {*(change.changed_fields or ())}
    refusal = partial(Refusal, table=change.table_name, record=change.record_id)
    if "*" in redacted:
        yield refusal(f"all fields of {row.label} are redacted")
        return
    for name in row.table.key:
        if name in redacted:
            yield refusal(f"the key {name} of {row.label} is redacted", field=name)
    redacted -= {*leave}
    if row.before is None:
        return
    if row.after is None or (set(row.table.key) & needed and row.key_of(row.before) == row.key_of(row.after)):
        needed = {*row.before, *redacted}
    needed -= {*leave}
    known = {*row.table.columns, *row.table.virtual}
    for name in sorted(needed):
        if name in redacted:
            yield refusal(f"the value of {name} of {row.label} is redacted", field=name)
        elif name not in known:
            yield refusal(f"{change.table_name} has no column {name} any more", field=name)
        elif is_marker(row.before.get(name)):
            yield refusal(
                f"the value of {name} of {row.label} was too large to be recorded, or does not fit into JSON",
                field=name,
            )
        elif row.after is not None and is_marker(row.after.get(name)):
            yield refusal(f"the value of {name} of {row.label} was too large to be compared", field=name)
