"""The permissions of an e-mail address in the console, by today's configuration."""

from collections.abc import Mapping

from svc_pg.console.http.products import PERMISSIONS
from svc_pg.settings import Permission


def permission_of(email: str, allowed: Mapping[str, Permission]) -> Permission | None:
    """The permission of an address in lower case: its own, else that of its domain, else None."""
    domain = email.rpartition("@")[2]
    return allowed.get(email, allowed.get(f"*@{domain}"))


def least(one: Permission, other: Permission) -> Permission:
    """The lesser of two permissions."""
    return min(one, other, key=PERMISSIONS.index)


def included(permission: Permission) -> tuple[Permission, ...]:
    """A permission with those that it includes, from the least on."""
    return PERMISSIONS[: PERMISSIONS.index(permission) + 1]
