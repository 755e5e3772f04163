"""Find whether a database has the audit trail: the log itself is in every database with svc-pg."""

from typing import Final, LiteralString

from svc_pg.database.query import Query

AUDIT_IS_INSTALLED: Final[LiteralString] = "select pg_catalog.to_regproc('svc.audit_history') is not null"
"""The query of it, which every role may ask."""


def audit_installed() -> Query[bool]:
    """True if the database has the audit trail."""
    return Query(f"{AUDIT_IS_INSTALLED} as has_audit", (), lambda has_audit: bool(has_audit))
