"""Compare the indexes of the audit log with those that reads need and those that the configuration chooses."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from psycopg import Connection
from psycopg.sql import SQL

from svc_pg.config import AuditConfig
from svc_pg.database.query import Query, RawJson, fetch_one
from svc_pg.database.statements import statement
from svc_pg.rendering.templates import render
from svc_pg.schema.status import Status

METHODS: Final[Mapping[str, LiteralString]] = {  # as PostgreSQL prints them
    "record": 'USING btree (table_name, record_id, "timestamp")',
    "moved": 'USING btree (table_name, moved_from, "timestamp") WHERE (moved_from IS NOT NULL)',
    "order": """USING brin (id, xact_id, "timestamp") WITH (pages_per_range='32', autosummarize='on')""",
    "severity": 'USING btree ("timestamp", id) WHERE (severity IS NOT NULL)',
    "table": 'USING btree (table_name, "timestamp", id)',
    "actor": 'USING btree (actor_id, "timestamp") WHERE (actor_id IS NOT NULL)',
    "tenant": 'USING btree (tenant_id, "timestamp") WHERE (tenant_id IS NOT NULL)',
    "contains": "USING gin (before_data jsonb_path_ops, after_data jsonb_path_ops)",
    "text": "USING gin (svc.audit_words(before_data, after_data, description))",
}
"""The indexes by the ends of their names."""
ALWAYS: Final = ("record", "moved", "order")
"""Those that every log has: histories read by the first two, seals, followers and transactions by the last."""
DROP: Final = "drop index if exists svc.audit_logs_contains, svc.audit_logs_text"
"""Drop those that nobody needs without our functions: one calls a function of ours."""

_REPLACED: Final = ("id", "xact")  # by order
_ABOUT: Final[Mapping[str, tuple[str, str]]] = {  # what reads by it, and what it costs
    "record": ("histories", "2 us and 65 bytes"),
    "moved": ("histories of records whose key changed", "1 us"),
    "order": ("seals, followers and transactions", "1 us and 1 byte"),
    "severity": ("lists by severity", "1 us, and 32 bytes if it has a severity"),
    "table": ("lists of one table", "2 us and 50 bytes"),
    "actor": ("lists of one actor", "2 us and 32 bytes, if it has an actor"),
    "tenant": ("lists of one tenant, and all sessions of a tenant", "2 us and 32 bytes, if it has a tenant"),
    "contains": ("searches by members", "19 us and 550 bytes"),
    "text": ("searches by words", "20 us and 410 bytes"),
}
_NAMES: Final[LiteralString] = "', '".join((*METHODS, *_REPLACED))
FACTS: Final = statement("queries/schema/log_indexes.sql").replace("{names}", _NAMES)
"""A column of a query that has a pinned search_path: the facts of ``LogIndexes``, null without a log."""


@dataclass(frozen=True, slots=True)
class Found:
    """A relation that has the name of an index of the log.

    It ``is_whole`` if it is valid, and so is its part of each partition.
    """

    is_of_log: bool
    is_whole: bool | None
    method: str | None


@dataclass(frozen=True, slots=True)
class LogIndexes:
    """The relations with names of the log's indexes, by the ends of names; ``is_empty`` if no entry was ever made."""

    found: Mapping[str, Found]
    is_empty: bool


def identity(name: str) -> str:
    """The name of an index by its end."""
    return f"svc.audit_logs_{name}"


def is_one(name: str) -> bool:
    """True if an index of the log has this name, or had it."""
    return name.removeprefix(identity("")) in (*METHODS, *_REPLACED)


def chosen(config: AuditConfig) -> tuple[str, ...]:
    """The ends of the names of all indexes that a log with this configuration has."""
    return (*ALWAYS, *(name for name in METHODS if name in (*config.indexes, *config.search) and name not in ALWAYS))


def present_indexes(conn: Connection[Any]) -> LogIndexes | None:
    """Read the catalog, in a transaction that pins the search_path; None if there is no log."""
    return fetch_one(conn, Query("select " + FACTS, (), lambda log_indexes: of_facts(log_indexes)))


def of_facts(facts: RawJson | None) -> LogIndexes | None:
    """Read the column ``FACTS``."""
    if facts is None:
        return None
    found = facts.value["found"]
    return LogIndexes({name: Found(**each) for name, each in found.items()}, facts.value["is_empty"])


def compare(present: LogIndexes | None, wanted: Collection[str]) -> Iterator[Status]:
    """The indexes that differ. ``present`` is None if the log is still to be made, with those of ALWAYS.

    An index of a log without entries is made in the transaction of the install, others later.
    """
    for name in wanted:
        found = present.found.get(name) if present else None
        if found is None and (present or name not in ALWAYS):
            is_later = present is not None and not present.is_empty
            yield Status(
                "index", identity(name), "missing", _built(name) if is_later else _made(name), is_later=is_later
            )
        elif found is not None and not found.is_of_log:
            rename = f"alter table {identity(name)} rename to audit_logs_{name}_of_others;"
            yield Status("index", identity(name), "tampered", rename, is_foreign=True)
        elif found is not None and (not found.is_whole or found.method != METHODS[name]):
            yield Status("index", identity(name), "tampered", _built(name), is_later=True)
    for name, found in sorted(present.found.items()) if present else ():
        if found.is_of_log and name not in wanted:
            yield Status(
                "index", identity(name), "orphan", _dropped(name), is_later=True, is_superseded=name in _REPLACED
            )


def _made(name: str) -> str:
    return f"-- {_about(name)}\n" + render(
        "script/log_index.sql.j2", name=f"audit_logs_{name}", method=SQL(METHODS[name])
    )


def _built(name: str) -> str:
    return (
        f"-- {_about(name)}\ncreate index audit_logs_{name} on only svc.audit_logs {METHODS[name]};\n"
        "-- then concurrently on one partition after the other, which waits for older transactions"
    )


def _dropped(name: str) -> str:
    about = f"-- {_about(name)}\n" if name in _ABOUT else ""
    return f"{about}drop index {identity(name)};"


def _about(name: str) -> str:
    reads, price = _ABOUT[name]
    return f"for {reads}; costs an entry about {price}"
