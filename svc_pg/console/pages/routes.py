"""All pages with their paths below ``/ui``. Those with a place are in the navigation, in this order."""

from collections.abc import Sequence
from typing import Final

from svc_pg.console.pages import overview, search, stream, theme
from svc_pg.console.pages.administration import activity, sessions, system, tenants, tokens
from svc_pg.console.pages.audit.routes import AUDIT_LOG
from svc_pg.console.pages.navigation import ADMINISTRATION, Place
from svc_pg.console.pages.sign_in import code, link
from svc_pg.console.pages.site import PageRoute
from svc_pg.console.pages.visit import PAGES
from svc_pg.console.pages.webhooks.routes import WEBHOOKS

ROUTES: Final[Sequence[PageRoute]] = [
    PageRoute("GET", "/sign-in", code.form, is_open=True),
    PageRoute("POST", "/sign-in", code.begin, is_open=True),
    PageRoute("GET", "/sign-in/code", code.code_form, is_open=True),
    PageRoute("POST", "/sign-in/code", code.finish, is_open=True),
    PageRoute("GET", "/sign-in/link", link.form, is_open=True),
    PageRoute("POST", "/sign-in/link", link.finish, is_open=True),
    PageRoute("POST", "/sign-out", code.sign_out),
    PageRoute("POST", "/theme", theme.choose, is_open=True),
    PageRoute(
        "GET",
        "/overview",
        overview.overview,
        place=Place(word="Overview", icon="overview", key="o"),
        filters=["window"],
    ),
    PageRoute("GET", "/changes", stream.changed, is_stream=True),
    PageRoute("GET", "/search", search.search, filters=["q"]),
    *AUDIT_LOG,
    *WEBHOOKS,
    PageRoute(
        "GET",
        "/tenants",
        tenants.listed,
        place=Place(word="Tenants", icon="people", group=ADMINISTRATION, key="n", product="tenant"),
        filters=["text", *PAGES],
    ),
    PageRoute("GET", "/new-tenant", tenants.new, filters=["id"]),
    PageRoute("POST", "/tenants", tenants.add),
    PageRoute("GET", "/tenants/:id", tenants.shown),
    PageRoute("POST", "/tenants/:id/rename", tenants.rename),
    PageRoute("POST", "/tenants/:id/delete", tenants.delete),
    PageRoute(
        "GET",
        "/sessions",
        sessions.listed,
        place=Place(word="Sessions", icon="key", group=ADMINISTRATION, key="s"),
        filters=["state", "whose", *PAGES],
    ),
    PageRoute("POST", "/sessions/:id/revoke", sessions.revoke),
    PageRoute(
        "GET",
        "/tokens",
        tokens.listed,
        place=Place(word="Tokens", icon="lock", group=ADMINISTRATION, key="p", permission="admin"),
        filters=["state", *PAGES],
    ),
    PageRoute("GET", "/tokens/new", tokens.new),
    PageRoute("POST", "/tokens", tokens.add),
    PageRoute("GET", "/tokens/made", tokens.shown),
    PageRoute("POST", "/tokens/:id/revoke", tokens.revoke),
    PageRoute(
        "GET",
        "/activity",
        activity.listed,
        place=Place(word="Activity", icon="wait", group=ADMINISTRATION, key="c", permission="admin"),
        filters=[*activity.FILTERS, *PAGES],
    ),
    PageRoute(
        "GET",
        "/system",
        system.system,
        place=Place(word="System", icon="system", group=ADMINISTRATION, key="y"),
        filters=[],
    ),
]
