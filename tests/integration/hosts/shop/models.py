"""Tables created by the tests."""

# mypy: disable-error-code="var-annotated"
# the types of fields need the plugin of django-stubs, which would have to load the settings of a project

from django.db import models


class Customer(models.Model):
    id = models.IntegerField(primary_key=True)
    email = models.TextField()
    notes = models.TextField(null=True)
    password_hash = models.TextField(null=True)

    class Meta:
        app_label = "shop"
        db_table = "customer"
        managed = False

    def __str__(self) -> str:
        return f"customer {self.pk}"


class Invoice(models.Model):
    """An invoice, in a schema of its own."""

    number = models.TextField(primary_key=True)

    class Meta:
        app_label = "shop"
        db_table = '"sales"."invoice"'
        managed = False

    def __str__(self) -> str:
        return str(self.number)
