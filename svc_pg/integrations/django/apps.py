"""The Django application ``svc_pg``. It has no migrations: ``svc-pg install`` makes the tables that it reads."""

from collections.abc import Collection, Mapping

from django.apps import AppConfig


class SvcPgConfig(AppConfig):
    """``"svc_pg.integrations.django"`` in INSTALLED_APPS."""

    name = "svc_pg.integrations.django"
    label = "svc_pg"
    verbose_name = "Audit log"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Install around migrations, if the settings say so, and warn of actors that reach no connection."""
        from django.db.backends.signals import connection_created

        from svc_pg.integrations.django import migrating
        from svc_pg.integrations.django.watching import watch_connection

        migrating.connect(self)
        connection_created.connect(watch_connection, dispatch_uid="svc_pg.unwatched")

    def names_of(self, actors: Collection[str]) -> Mapping[str, str]:
        """The names of actors, for the console's pages beside this project."""
        from svc_pg.integrations.django import records

        return records.names_of(actors)
