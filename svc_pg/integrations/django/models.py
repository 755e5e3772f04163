"""The audit log as a model, to read: the database refuses to change it."""

# mypy: disable-error-code="var-annotated"
# the types of fields need the plugin of django-stubs, which would have to load the settings of a project

import json
from decimal import Decimal

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from svc_pg.audit.entry import OPERATIONS, SEVERITIES


class _Exact(json.JSONDecoder):
    """Reads numbers with a fraction as Decimal."""

    def __init__(self) -> None:
        super().__init__(parse_float=Decimal)


class TextsField(models.Field):  # type: ignore[type-arg] # a field has no types without Django's stubs
    """An array of texts, without django.contrib.postgres."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        """The type of the column."""
        return "text[]"


class Entry(models.Model):
    """One change of one record."""

    id = models.BigAutoField(primary_key=True)
    timestamp = models.DateTimeField("time")
    table_name = models.TextField("table")
    operation = models.TextField(choices=[(each, each) for each in OPERATIONS])
    record_id = models.TextField("record", null=True)
    actor_id = models.TextField("actor", null=True)
    tenant_id = models.TextField("tenant", null=True)
    db_user = models.TextField("database user")
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
    xact_id = models.BigIntegerField("transaction")

    class Meta:
        """Nothing is Django's to create."""

        managed = False
        db_table = '"svc"."audit_logs"'
        ordering = ("-timestamp", "-id")
        default_permissions = ("view",)
        verbose_name = "audit entry"
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.operation} {self.table_name} {self.record_id or ''}".rstrip()
