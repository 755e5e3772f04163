"""Sessions of Django's users, by the cookie of ``django.contrib.sessions``."""

from collections.abc import Callable
from hashlib import sha256
from importlib import import_module
from typing import Any

from svc_pg.console.host_sessions import HostSessionOf
from svc_pg.console.requests import ConsoleRequest
from svc_pg.console.sign_in.permissions import included
from svc_pg.console.tokens import Session
from svc_pg.settings import Permission


def staff(user: Any) -> Permission | None:
    """The default: superusers are administrators, other members of the staff read, and nobody else gets in."""
    if user.is_superuser:
        return "admin"
    return "read" if user.is_staff else None


def django_users(permission: Callable[[Any], Permission | None] = staff) -> HostSessionOf:
    """A ``session_of`` for ``Console``. ``permission`` gives an active user a permission, or None.

    Django must be set up in this process. It checks the session as always: the user is active, the password has not
    changed since, the cookie has not expired. It does not change it.
    """

    def session_of(request: ConsoleRequest) -> Session | None:
        from django.conf import settings
        from django.contrib.auth import get_user
        from django.db import close_old_connections
        from django.http import HttpRequest
        from django.utils.timezone import is_aware, make_aware

        key = request.cookies.get(settings.SESSION_COOKIE_NAME)
        if not key:
            return None
        close_old_connections()
        try:
            theirs = HttpRequest()
            theirs.session = _opened(settings.SESSION_ENGINE, key)
            user: Any = get_user(theirs)
            granted = permission(user) if user.is_authenticated and user.is_active else None
            if granted is None:
                return None
            ends_at = theirs.session.get_expiry_date()
            return Session(
                session_id=f"django {sha256(key.encode()).hexdigest()[:32]}",  # the key itself would let anybody in
                email=getattr(user, "email", "") or user.get_username(),
                permissions=included(granted),
                expires_at=ends_at if is_aware(ends_at) else make_aware(ends_at),  # naive without USE_TZ
            )
        finally:
            close_old_connections()

    return session_of


def _opened(engine: str, key: str) -> Any:
    """The session of a cookie, which stays as it is.

    ``get_user`` gives one another key while the secret is rotated, and from here no browser would get it; the engine
    ``file`` replaces a session that has expired. The class must be Django's own: its name salts what the store signs.
    """
    session: Any = import_module(engine).SessionStore(key)
    for change in ("create", "cycle_key", "delete", "flush", "save"):
        setattr(session, change, _stay)
    return session


def _stay(*_arguments: object, **_options: object) -> None:
    return None
