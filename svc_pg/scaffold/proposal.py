"""Propose what to audit, and what to redact in it, by the tables of a database and samples of their values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final

from svc_pg.capture.patterns import covering, fits
from svc_pg.capture.titles import guessed_title
from svc_pg.config import Config
from svc_pg.config.audited_table import Redaction
from svc_pg.database.table_names import TableName
from svc_pg.errors import SvcError
from svc_pg.scaffold.candidates import Candidate, Reader, reader_of
from svc_pg.scaffold.column_names import by_name, words_of
from svc_pg.scaffold.column_values import by_values
from svc_pg.scaffold.example_event import ExampleEvent, example_event
from svc_pg.scaffold.keys import key_of, unfit
from svc_pg.scaffold.personal import personal_columns
from svc_pg.scaffold.sensitive import Sensitive
from svc_pg.scaffold.tool_tables import reason_of

SAMPLING_SECONDS: Final = 60
"""All samples together; the tables after them are proposed by names alone."""
_OUT_OF_TIME: Final = "the time for samples was over"
_FAILED: Final = "its values could not be read in time, or not without a right"
_OF_A_LOG: Final = "a log of the application, by its name: take the table out if its rows never change"
_SIGN_IN: Final = "written at each sign-in, by its name"
_AT_SIGN_IN: Final = frozenset(
    (
        *("last_login", "last_login_at", "last_login_ip", "login_count", "fail_login_count", "failed_login_count"),
        *("sign_in_count", "current_sign_in_at", "current_sign_in_ip", "last_sign_in_at", "last_sign_in_ip"),
    )
)
"""The columns of a table of users that change when somebody signs in, before there is a user who could be the actor."""


@dataclass(frozen=True, slots=True)
class RedactedColumn:
    """A column, its proposed redaction, and the reason."""

    column: str
    redaction: Redaction
    reason: str


@dataclass(frozen=True, slots=True)
class ProposedTable:
    """A table to audit.

    ``ignore`` are columns whose change alone is none to record, each with the reason. ``personal`` are columns that are
    not redacted, though they tell who a person is. ``unread`` is the reason why its values were not, or not all, looked
    at. ``title`` is the column by which the console will name its records; None if only their key does. ``key`` are the
    columns of a unique index, of a table without a primary key.
    """

    name: TableName
    redact: Sequence[RedactedColumn]
    ignore: Mapping[str, str] = field(default_factory=dict)
    personal: Sequence[str] = ()
    notes: Sequence[str] = ()
    unread: str | None = None
    title: str | None = None
    key: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """The tables to audit in a database, in order, and those left out, each with its reason; an event as an example."""

    tables: Sequence[ProposedTable]
    left_out: Mapping[TableName, str] = field(default_factory=dict)
    default_schema: str = "public"
    event: ExampleEvent | None = None

    @property
    def unread(self) -> Sequence[ProposedTable]:
        """The tables whose values were not, or not all, looked at."""
        return [table for table in self.tables if table.unread]


def propose(conn: Any, *, clock: Callable[[], float] = monotonic) -> Proposal:
    """Look at a database of any kind, on a connection outside a transaction. Changes nothing.

    Of each table it reads a bounded sample of values, which it neither returns nor puts into an error. Raises SvcError
    if there is no table to audit.
    """
    reader = reader_of(conn)
    candidates, left_out = _chosen(reader)
    if not candidates:
        raise _nothing(left_out)
    end = clock() + SAMPLING_SECONDS
    tables = [_proposed(reader, each, is_in_time=clock() < end) for each in candidates]
    redacted = {(table.name, each.column) for table in tables for each in table.redact}
    event = example_event(candidates, redacted) if reader.has_events else None
    return Proposal(tables, left_out, reader.default_schema, event)


def unnamed(conn: Any, config: Config) -> Sequence[TableName]:
    """The tables that a proposal would have, and that a configuration neither names nor excludes."""
    reader = reader_of(conn)
    candidates, _ = _chosen(reader)
    rules, default = config.audit.tables, reader.default_schema
    excluded = {pattern for each in rules for pattern in each.exclude}
    return [
        each.name
        for each in candidates
        if covering(rules, each.name, default_schema=default) is None
        and not any(fits(pattern, each.name, default_schema=default) for pattern in excluded)
    ]


def _chosen(reader: Reader) -> tuple[Sequence[Candidate], dict[TableName, str]]:
    found = reader.find()
    left_out = dict(found.left_out)
    chosen = []
    for each in found.candidates:
        if reason := reason_of(each.name.table, each.table.columns) or unfit(each):
            left_out[each.name] = reason
        else:
            chosen.append(each)
    return chosen, dict(sorted(left_out.items()))


def _nothing(left_out: Mapping[TableName, str]) -> SvcError:
    if not left_out:
        return SvcError(
            "the database has no tables to audit",
            hint="Let the application make them first, for example by its migrations; or name another database.",
        )
    named = "; ".join(f"{name} ({reason})" for name, reason in list(left_out.items())[:3])
    return SvcError(
        f"the database has no table to propose: {named}{' ...' if len(left_out) > 3 else ''}",
        hint="Let the application make its tables first, or write svc-pg.toml by hand.",
    )


def _proposed(reader: Reader, candidate: Candidate, *, is_in_time: bool) -> ProposedTable:
    sample = reader.sample(candidate) if is_in_time else None
    unread = candidate.unread
    if sample is None:
        unread = unread or (_FAILED if is_in_time else _OUT_OF_TIME)
    key = key_of(candidate)
    redact: dict[str, RedactedColumn] = {}
    notes = [_OF_A_LOG] if words_of(candidate.name.table)[-1:] in (["log"], ["logs"]) else []
    for column, sort in candidate.named.items():
        is_number = sort == "number"
        named = by_name(column, table=candidate.name.table, is_number=is_number)
        seen = by_values((sample or {}).get(column, ()), is_number=is_number)
        kind, reason = _decided(named, seen)
        if kind is None:
            continue
        if column in key:
            notes.append(f"{column} is not redacted, though {reason}: it is in the key, which each entry has")
        else:
            redact[column] = RedactedColumn(column, kind.redaction, reason)
    _add_computed(candidate, redact, key)
    title = guessed_title(candidate.table, redact.keys(), key)
    personal = personal_columns({*candidate.table.columns} - redact.keys(), table=candidate.name.table)
    return ProposedTable(
        candidate.name,
        list(redact.values()),
        _ignored(candidate, key),
        [column for column in candidate.table.columns if column in personal],
        notes,
        unread,
        title,
        () if candidate.table.key else key,
    )


def _ignored(candidate: Candidate, key: Sequence[str]) -> dict[str, str]:
    """The columns that each sign-in changes, of a table of users: one with passwords."""
    is_of_users = any(by_name(column) is Sensitive.password for column in candidate.named)
    found = _AT_SIGN_IN.intersection(candidate.table.columns) if is_of_users else ()
    return {column: _SIGN_IN for column in candidate.table.columns if column in found and column not in key}


def _decided(named: Sensitive | None, seen: Sensitive | None) -> tuple[Sensitive | None, str]:
    """The kind of a column: a secret by its name, else by its values, else by its name."""
    if seen is not None and (named is None or not named.is_secret or seen.is_secret):
        return seen, f"values look like {seen.plural}"
    return named, f"named like {named.singular}" if named else ""


def _add_computed(candidate: Candidate, redact: dict[str, RedactedColumn], key: Sequence[str]) -> None:
    """Add the stored columns that are computed from redacted ones, directly or not: install demands it."""
    while True:
        added = [
            RedactedColumn(column, "remove", f"computed from {source}")
            for column, sources in candidate.table.generated.items()
            if column not in redact and column not in key
            for source in sources
            if source in redact
        ]
        if not added:
            return
        for each in added:
            redact.setdefault(each.column, each)
