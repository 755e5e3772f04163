"""The configured indexes of searches in the audit log, built while captures go on."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, LiteralString

from psycopg import Connection
from psycopg.sql import SQL

from svc_pg.config.audit import Search
from svc_pg.schema.postgres import log_indexes

DROP: Final = "drop index if exists svc.audit_logs_contains, svc.audit_logs_text"
"""Drop all of them, because one needs a function of ours."""

# As PostgreSQL prints them
_METHODS: Final[dict[Search, LiteralString]] = {
    "contains": "USING gin (before_data jsonb_path_ops, after_data jsonb_path_ops)",
    "text": "USING gin (svc.audit_words(before_data, after_data, description))",
}


def name(search: str) -> str:
    """The name of the index."""
    return f"svc.audit_logs_{search}"


def lacking(wanted: Sequence[Search], present: Mapping[str, str | None]) -> list[Search]:
    """The searches without an index: ``present`` has the method of each present index, None if it is incomplete."""
    return [search for search in wanted if present.get(search) != _METHODS[search]]


def ensure(
    conn: Connection[Any], wanted: Sequence[Search], present: Mapping[str, str | None], *, prune: bool
) -> list[str]:
    """Build the wanted indexes, partition by partition, and with ``prune`` drop the others; return their names.

    ``conn`` must be outside a transaction. Raises InstallError; finished indexes stay, and the next call continues.
    """
    built = lacking(wanted, present)
    unwanted = sorted(search for search in present if search not in wanted and prune)
    if built or unwanted:
        with log_indexes.building(conn):
            for search in built:
                is_another = present.get(search) is not None
                log_indexes.build(conn, f"audit_logs_{search}", SQL(_METHODS[search]), anew=is_another)
            for other in unwanted:
                log_indexes.drop(conn, f"audit_logs_{other}")
    return [name(search) for search in (*built, *unwanted)]
