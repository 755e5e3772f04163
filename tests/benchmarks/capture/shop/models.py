"""The table of the benchmark as a model, and its history by django-pghistory."""

# mypy: disable-error-code="var-annotated"
# the types of fields need the plugin of django-stubs, which would have to load these settings

import pghistory
from django.db import models


@pghistory.track(pghistory.InsertEvent(), pghistory.UpdateEvent(), pghistory.DeleteEvent())
class Account(models.Model):
    """An account, tracked on DELETE too, which is not the default. The level comes from PGHISTORY_LEVEL."""

    id = models.BigIntegerField(primary_key=True)
    customer_id = models.IntegerField()
    email = models.TextField()
    name = models.TextField(null=True)
    balance = models.DecimalField(max_digits=12, decimal_places=2)
    status = models.TextField()
    meta = models.JSONField()
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    note = models.TextField(null=True)

    class Meta:
        app_label = "shop"
        db_table = "account"
        managed = False
