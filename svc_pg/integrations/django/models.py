"""The audit log as a model, to read: the database refuses to change it."""

# mypy: disable-error-code="var-annotated"
# the types of fields need the plugin of django-stubs, which would have to load the settings of a project

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from svc_pg.audit.log.entry import OPERATIONS, SEVERITIES
from svc_pg.formats.unseen import isolated

_VENDOR: Final = connections[DEFAULT_DB_ALIAS].vendor
# As Django's quoting leaves it
_TABLES: Final = {"sqlite": "svc_audit_logs", "mysql": "`svc`.`audit_logs`"}


class _Exact(json.JSONDecoder):
    """Reads numbers with a fraction as Decimal."""

    def __init__(self) -> None:
        super().__init__(parse_float=Decimal)


class TextsField(models.Field):  # type: ignore[type-arg] # a field has no types without Django's stubs
    """An array of texts, without django.contrib.postgres; of JSON on other databases."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        """The type of the column."""
        return "text[]"

    def from_db_value(self, value: Any, _expression: object, _connection: object) -> Any:
        """The texts."""
        return json.loads(value) if isinstance(value, str) else value


class MomentField(models.DateTimeField):  # type: ignore[type-arg] # as above
    """A time, stored in UTC on SQLite and MySQL, independent of the time zone that Django assumes for the database."""

    def from_db_value(self, value: Any, _expression: object, connection: BaseDatabaseWrapper) -> Any:
        """The time, aware if the project's times are."""
        if connection.vendor == "postgresql" or value is None:
            return value
        moment = value.replace(tzinfo=UTC)
        return moment if settings.USE_TZ else timezone.make_naive(moment)

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:  # noqa: FBT001, FBT002 - Django's
        """The time as the log of the database writes it."""
        moment = value if prepared else self.get_prep_value(value)
        if connection.vendor == "postgresql" or not isinstance(moment, datetime):
            return super().get_db_prep_value(moment, connection, prepared=True)
        utc = (timezone.make_aware(moment) if timezone.is_naive(moment) else moment).astimezone(UTC)
        return utc.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if connection.vendor == "sqlite" else "%Y-%m-%d %H:%M:%S.%f")


class Entry(models.Model):
    """One change of one record."""

    id = models.BigAutoField(primary_key=True)
    timestamp = MomentField("time")
    table_name = models.TextField("table")
    operation = models.TextField(choices=[(each, each) for each in OPERATIONS])
    record_id = models.TextField("record", null=True)
    actor_id = models.TextField("actor", null=True)
    tenant_id = models.TextField("tenant", null=True)
    db_user = models.TextField("database user", null=True)
    db_role = models.TextField("database role", null=True)
    before_data = models.JSONField("before", null=True, decoder=_Exact)
    after_data = models.JSONField("after", null=True, decoder=_Exact)
    changed_fields = TextsField(null=True)
    label = models.TextField(null=True)
    severity = models.TextField(null=True, choices=[(each, each) for each in SEVERITIES])
    compliance = TextsField(null=True)
    description = models.TextField(null=True)
    redacted_fields = TextsField(null=True)
    context = models.JSONField(null=True, decoder=_Exact)
    xact_id = models.BigIntegerField("transaction", null=True)
    partition = models.TextField(null=True) if _VENDOR == "postgresql" else None  # a column of its log alone

    class Meta:
        """Unmanaged: Django creates nothing."""

        managed = False
        db_table = _TABLES.get(_VENDOR, '"svc"."audit_logs"')
        ordering = ("-timestamp", "-id")
        default_permissions = ("view",)
        verbose_name = "audit entry"
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.operation} {isolated(self.table_name)} {isolated(self.record_id or '')}".rstrip()
