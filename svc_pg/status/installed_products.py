"""Find the products of a database: the log itself is in every database with svc-pg."""

from dataclasses import dataclass
from typing import Final, LiteralString

from svc_pg.database.query import Query
from svc_pg.status.webhooks_installed import IS_INSTALLED

AUDIT_IS_INSTALLED: Final[LiteralString] = "select pg_catalog.to_regproc('svc.audit_history') is not null"
"""The query for the audit trail, which every role may ask."""


@dataclass(frozen=True, slots=True)
class InstalledProducts:
    """True for each product that a database has."""

    has_audit: bool
    has_webhooks: bool


def audit_installed() -> Query[bool]:
    """True if the database has the audit trail."""
    return Query(f"{AUDIT_IS_INSTALLED} as has_audit", (), lambda has_audit: bool(has_audit))


def installed_products() -> Query[InstalledProducts]:
    """Both products."""
    return Query(f"select ({AUDIT_IS_INSTALLED}) as has_audit, ({IS_INSTALLED}) as has_webhooks", (), InstalledProducts)
