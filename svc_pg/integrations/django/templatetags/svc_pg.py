"""Template tags: ``{% load svc_pg %}{% who_changed object %}``."""

from typing import Any

from django.db import DEFAULT_DB_ALIAS, models
from django.template import Library

from svc_pg.audit.read.last_changes import DEFAULT_CHANGES
from svc_pg.integrations.django import records

register = Library()


@register.inclusion_tag("svc_pg/who_changed.html")
def who_changed(
    record: models.Model | str, key: Any = None, *, limit: int = DEFAULT_CHANGES, using: str = DEFAULT_DB_ALIAS
) -> dict[str, Any]:
    """Show the last changes of an object, or of a record by its table and key: ``"public.customer" object.pk``."""
    if isinstance(record, models.Model):
        found = records.changes_of(record, limit=limit)
    else:
        found = [] if key is None else records.changes(record, key, limit=limit, using=using)
    return {"changes": found}
