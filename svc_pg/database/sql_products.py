"""The objects of schema ``svc`` that belong to webhooks: those of ``sql/webhooks/``, and the tables and views so named.

All others belong to the audit trail, which every database with svc-pg has, or to the console.
"""

from functools import cache

from svc_pg.database import sql_access


def is_made_for_webhooks(name: str) -> bool:
    """True if the function or view of this name, of this svc-pg, belongs to webhooks."""
    return name in _names()


def is_table_of_webhooks(name: str) -> bool:
    """True if the table of this name belongs to webhooks."""
    return name.startswith("webhook_")


@cache
def _names() -> frozenset[str]:
    return frozenset(
        each.pattern for each in sql_access.headers() if each.file.startswith(("webhooks/", "views/webhook_"))
    )
