"""The filters of entries in the admin, which neither count nor read the whole log."""

from typing import Any, Final

from django.contrib import admin
from django.db import connections, models
from django.http import HttpRequest

from svc_pg.audit.log.entry import OPERATIONS, SEVERITIES
from svc_pg.database.statements import statement
from svc_pg.formats.unseen import isolated
from svc_pg.integrations.django.bounds import LogIsSlow, bounded

_TABLES: Final = statement("queries/integrations/django_tables.sql")


class _ColumnFilter(admin.SimpleListFilter):
    """Entries with one of several values in the column ``parameter_name``."""

    values: tuple[str, ...] = ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The values to choose from."""
        return [(value, value) for value in self.values]

    def queryset(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> models.QuerySet[Any]:
        """The entries with the chosen value; any other value is ignored."""
        chosen = self.value()
        return queryset.filter(**{str(self.parameter_name): chosen}) if chosen in self._known() else queryset

    def _known(self) -> set[str]:
        return {value for value, _ in self.lookup_choices}


class OperationFilter(_ColumnFilter):
    """By operation."""

    title = "operation"
    parameter_name = "operation"
    values = OPERATIONS


class SeverityFilter(_ColumnFilter):
    """By severity."""

    title = "severity"
    parameter_name = "severity"
    values = SEVERITIES


class TableFilter(_ColumnFilter):
    """By table: the first 200 that have entries."""

    title = "table"
    parameter_name = "table_name"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The tables of the log."""
        using = model_admin.get_queryset(request).db
        try:
            with bounded(using), connections[using].cursor() as cursor:
                is_sqlite = connections[using].vendor == "sqlite"
                cursor.execute(_TABLES.replace("svc.audit_logs", "svc_audit_logs") if is_sqlite else _TABLES)
                return [(name, isolated(name)) for (name,) in cursor.fetchall()]
        except LogIsSlow:
            return []

    def queryset(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> models.QuerySet[Any]:
        """The entries of the table in the address, also of one that is not in the list."""
        chosen = self.value()
        return queryset if chosen is None else queryset.filter(table_name=chosen)
