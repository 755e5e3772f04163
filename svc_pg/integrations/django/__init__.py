"""svc-pg in Django: the actor of every transaction, a template tag for the changes of a record, the log in the admin.

Each part stands by itself: ``actor_middleware`` goes into MIDDLEWARE; for the template tag ``who_changed`` and the
admin, ``"svc_pg.integrations.django"`` goes into INSTALLED_APPS.
"""

from svc_pg.integrations.django.acting import acting_as
from svc_pg.integrations.django.middleware import actor_middleware, audit_connections

__all__ = ["acting_as", "actor_middleware", "audit_connections"]
