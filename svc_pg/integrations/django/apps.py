"""The Django application ``svc_pg``. It has no migrations: ``svc-pg install`` makes all that it reads."""

from django.apps import AppConfig


class SvcPgConfig(AppConfig):
    """``"svc_pg.integrations.django"`` in INSTALLED_APPS."""

    name = "svc_pg.integrations.django"
    label = "svc_pg"
    verbose_name = "Audit log"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Install around migrations, if the settings say so."""
        from svc_pg.integrations.django import migrating

        migrating.connect(self)
