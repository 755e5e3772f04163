"""Sessions of Django's users, by the cookie of ``django.contrib.sessions``."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from svc_pg.console.http.requests import ConsoleRequest
from svc_pg.console.http.tokens import Session
from svc_pg.console.sign_in.permissions import included
from svc_pg.settings import Permission

_APPLICATION: Final = "svc_pg.integrations.django"


def staff(user: Any) -> Permission | None:
    """The default: superusers are administrators, other members of the staff read, and nobody else gets in."""
    if user.is_superuser:
        return "admin"
    return "read" if user.is_staff else None


@dataclass(frozen=True, slots=True)
class DjangoUsers:
    """A ``session_of`` for ``Console``, which also names actors and knows where Django's users sign in."""

    permission: Callable[[Any], Permission | None]

    def __call__(self, request: ConsoleRequest) -> Session | None:
        """The session of Django's cookie."""
        from django.conf import settings
        from django.contrib.auth import get_user
        from django.http import HttpRequest
        from django.utils.timezone import is_aware, make_aware

        key = request.cookies.get(settings.SESSION_COOKIE_NAME)
        if not key:
            return None
        with _connections():
            theirs = HttpRequest()
            theirs.session = _opened(settings.SESSION_ENGINE, key)
            user: Any = get_user(theirs)
            granted = self.permission(user) if user.is_authenticated and user.is_active else None
            if granted is None:
                return None
            ends_at = theirs.session.get_expiry_date()
            return Session(
                session_id=f"django {sha256(key.encode()).hexdigest()[:32]}",  # the key itself would let anybody in
                email=getattr(user, "email", "") or user.get_username(),
                permissions=included(granted),
                expires_at=ends_at if is_aware(ends_at) else make_aware(ends_at),  # naive without USE_TZ
            )

    def actor_names(self, actors: Collection[str]) -> Mapping[str, str]:
        """The names that Django's admin shows too, read of its users as they are now; none without our application."""
        from django.apps import apps

        if not apps.is_installed(_APPLICATION):
            return {}
        with _connections():
            names: Mapping[str, str] = apps.get_app_config("svc_pg").names_of(actors)  # type: ignore[attr-defined] # ours
            return names

    def sign_in_url(self, back: str) -> str | None:
        """LOGIN_URL, if the project has that page, else the admin's own; it leads back to the page."""
        from django.conf import settings
        from django.contrib.auth import REDIRECT_FIELD_NAME
        from django.shortcuts import resolve_url
        from django.urls import NoReverseMatch, Resolver404, get_script_prefix, resolve, reverse

        try:
            url = resolve_url(settings.LOGIN_URL)
            if url.startswith("/") and not url.startswith("//"):
                resolve(f"/{urlsplit(url).path.removeprefix(get_script_prefix())}")
        except (NoReverseMatch, Resolver404):
            try:
                url = reverse("admin:login")
            except NoReverseMatch:
                return None
        return f"{url}{'&' if '?' in url else '?'}{urlencode({REDIRECT_FIELD_NAME: back})}"


def django_users(permission: Callable[[Any], Permission | None] = staff) -> DjangoUsers:
    """A ``session_of`` for ``Console``. ``permission`` gives an active user a permission, or None.

    Django must be set up in this process. It checks the session as always: the user is active, the password has not
    changed since, the cookie has not expired. It does not change it. Pages name actors as Django's admin does, if
    ``"svc_pg.integrations.django"`` is in INSTALLED_APPS, and the page Sign in leads to Django's.
    """
    return DjangoUsers(permission)


@contextmanager
def _connections() -> Iterator[None]:
    """Close connections of this thread that are too old or broken, as Django does around its requests."""
    from django.db import close_old_connections

    close_old_connections()
    try:
        yield
    finally:
        close_old_connections()


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
