"""The product of an object of schema ``svc``: functions and views by their files, tables by their names.

Those of ``sql/webhooks/`` and views so named are of webhooks, those of ``sql/audit/`` and most views of the log of the
audit trail. All others every database with svc-pg has: the log in which changes of our own tables stand, with all of
its tables, and the console.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final, Literal

from svc_pg.database import sql_access

ProductId = Literal["audit", "webhooks"]

_FILES: Final[Mapping[ProductId, tuple[str, ...]]] = {
    "audit": ("audit/", "views/audit_"),
    "webhooks": ("webhooks/", "views/webhook_"),
}
_OF_EVERY_LOG: Final = "audit_seal_lock"


def product_of(name: str) -> ProductId | None:
    """The product of the function or view of this name, of this svc-pg; None if every database has it."""
    return _products().get(name)


def is_table_of_webhooks(name: str) -> bool:
    """True if the table of this name belongs to webhooks."""
    return name.startswith("webhook_")


@cache
def _products() -> Mapping[str, ProductId]:
    return {
        each.pattern: product
        for each in sql_access.headers()
        for product, beginnings in _FILES.items()
        if each.file.startswith(beginnings) and each.pattern != _OF_EVERY_LOG
    }
