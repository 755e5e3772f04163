"""All pages with their paths below ``/ui``. Those with a place are in the navigation, in this order."""

from collections.abc import Sequence
from typing import Final

from svc_pg.console.pages import (
    activity,
    overview,
    search,
    sessions,
    sign_in,
    sign_in_link,
    stream,
    system,
    tenants,
    tokens,
)
from svc_pg.console.pages.audit_routes import AUDIT_LOG
from svc_pg.console.pages.navigation import ADMINISTRATION, Place
from svc_pg.console.pages.site import PageRoute
from svc_pg.console.pages.webhook_routes import WEBHOOKS

ROUTES: Final[Sequence[PageRoute]] = [
    PageRoute("GET", "/sign-in", sign_in.form, is_open=True),
    PageRoute("POST", "/sign-in", sign_in.begin, is_open=True),
    PageRoute("GET", "/sign-in/code", sign_in.code_form, is_open=True),
    PageRoute("POST", "/sign-in/code", sign_in.finish, is_open=True),
    PageRoute("GET", "/sign-in/link", sign_in_link.form, is_open=True),
    PageRoute("POST", "/sign-in/link", sign_in_link.finish, is_open=True),
    PageRoute("POST", "/sign-out", sign_in.sign_out),
    PageRoute("GET", "/overview", overview.overview, place=Place(word="Overview", icon="overview", key="o")),
    PageRoute("GET", "/changes", stream.changed, is_stream=True),
    PageRoute("GET", "/search", search.search),
    *AUDIT_LOG,
    *WEBHOOKS,
    PageRoute(
        "GET",
        "/tenants",
        tenants.listed,
        place=Place(word="Tenants", icon="people", group=ADMINISTRATION, key="n", product="tenant"),
    ),
    PageRoute("GET", "/tenants/new", tenants.new),
    PageRoute("POST", "/tenants", tenants.add),
    PageRoute("GET", "/tenants/:id", tenants.shown),
    PageRoute("POST", "/tenants/:id/rename", tenants.rename),
    PageRoute("POST", "/tenants/:id/delete", tenants.delete),
    PageRoute(
        "GET",
        "/sessions",
        sessions.listed,
        place=Place(word="Sessions", icon="key", group=ADMINISTRATION, key="s"),
    ),
    PageRoute("POST", "/sessions/:id/revoke", sessions.revoke),
    PageRoute(
        "GET",
        "/tokens",
        tokens.listed,
        place=Place(word="Tokens", icon="lock", group=ADMINISTRATION, key="p", permission="admin"),
    ),
    PageRoute("GET", "/tokens/new", tokens.new),
    PageRoute("POST", "/tokens", tokens.add),
    PageRoute("POST", "/tokens/:id/revoke", tokens.revoke),
    PageRoute(
        "GET",
        "/activity",
        activity.listed,
        place=Place(word="Activity", icon="wait", group=ADMINISTRATION, key="c", permission="admin"),
    ),
    PageRoute(
        "GET", "/system", system.system, place=Place(word="System", icon="system", group=ADMINISTRATION, key="y")
    ),
]
