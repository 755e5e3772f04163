"""The columns that name the records of a table for people: the ``title`` of the configuration, else the usual ones."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from svc_pg.capture.patterns import covering
from svc_pg.capture.titles import usual_titles
from svc_pg.config import AuditedTable
from svc_pg.database.table_names import DEFAULT_SCHEMA, TableName
from svc_pg.errors import ConfigError

OWN: Final = {
    "svc.webhook_endpoints": ("description", "url"),
    "svc.console_sessions": ("email",),
    "svc.audit_holds": ("reason",),
}
"""Those of svc-pg's own tables that have none of the usual ones."""
KINDS: Final = {
    "svc.webhook_endpoints": "endpoint",
    "svc.tenants": "tenant",
    "svc.console_sessions": "session",
    "svc.console_tokens": "token",
    "svc.audit_holds": "legal hold",
}
"""The words for a row of our own tables that people change."""
LONGEST: Final = 80
"""The most characters of a name."""
_MOST_KEPT: Final = 1_000


def as_name(value: Any, record_id: str | None) -> str | None:
    """The name that a value of such a column gives to a record; None if it gives none, or says no more than its key."""
    if not isinstance(value, str | int) or isinstance(value, bool):
        return None
    text = str(value).strip()
    return text if text and text != record_id and len(text) <= LONGEST else None


class RecordTitles:
    """The columns by the rules of ``tables``.

    ``is_of_any_schema``: a rule without a schema is for the table of that name in any, as on SQLite and MySQL.
    """

    def __init__(self, tables: Sequence[AuditedTable] = (), *, is_of_any_schema: bool = False) -> None:
        self._tables = tables if any(each.title for each in tables) else ()
        self._is_of_any_schema = is_of_any_schema
        self._own = lru_cache(maxsize=_MOST_KEPT)(self._own_of)

    def columns_of(self, table: str, recorded: Iterable[str]) -> Sequence[str]:
        """The columns that may name the records of a table, by the name and the columns that its entries have."""
        own = self._own(table)
        return usual_titles({*recorded}, table=table) if own is None else own

    def _own_of(self, table: str) -> Sequence[str] | None:
        """The columns of this table alone; None if it has the usual ones."""
        try:
            name = TableName.parse(table)
        except ConfigError:  # a name of capture_log
            return None
        rules = covering(self._tables, name)
        if rules is None and self._is_of_any_schema:
            rules = covering(self._tables, name._replace(schema=DEFAULT_SCHEMA))
        return OWN.get(table) if rules is None or rules.title is None else (rules.title,)
