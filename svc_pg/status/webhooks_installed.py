"""Find whether a database has webhooks, and read their tables beside others where it has the audit trail alone."""

from collections.abc import Mapping
from typing import Final, LiteralString

from svc_pg.database.query import Query

IS_INSTALLED: Final[LiteralString] = "select pg_catalog.to_regproc('svc.webhook_protocol') is not null"
"""The query of it, which every role may ask."""
_EMPTY: Final[Mapping[LiteralString, LiteralString]] = {
    "svc.webhook_endpoints": "(select null::text as tenant, null::timestamptz as updated_at where false)",
    "svc.webhook_messages": "(select null::uuid as id, null::text as tenant, null::timestamptz as created_at"
    " where false)",
    "svc.webhook_leases": "(select null::text as worker, null::timestamptz as leased_at,"
    " null::timestamptz as lease_until where false)",
}
"""The tables of webhooks that statements about other things read too, each with the columns that they name."""


def webhooks_installed() -> Query[bool]:
    """True if the database has webhooks."""
    return Query(f"{IS_INSTALLED} as has_webhooks", (), lambda has_webhooks: bool(has_webhooks))


def with_webhooks(text: LiteralString, *, has_webhooks: bool) -> LiteralString:
    """A statement as it is, or, for a database without webhooks, with empty tables in place of theirs.

    Each table has an alias there, because before PostgreSQL 16 a subquery needs one.
    """
    if not has_webhooks:
        for table, empty in _EMPTY.items():
            text = text.replace(table, empty)
    return text
