"""The admin of the shop, as docs/applications.md shows it."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin

from svc_pg.integrations.django.admin import AuditHistoryMixin
from tests.integration.hosts.shop.models import Customer, Invoice

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin


@admin.register(Customer)
class CustomerAdmin(AuditHistoryMixin, ModelAdmin):
    fields = ("email",)


@admin.register(Invoice)
class InvoiceAdmin(AuditHistoryMixin, ModelAdmin):
    fields = ("number",)
