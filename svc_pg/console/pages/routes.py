"""All pages with their paths below ``/ui``. Those with an item are in the navigation, in this order."""

from collections.abc import Sequence
from typing import Final

from svc_pg.console.pages import overview, palette, search, stream, theme, views
from svc_pg.console.pages.administration import activity, data_changes, portal_links, sessions, system, tenants, tokens
from svc_pg.console.pages.audit.audit_routes import AUDIT_LOG
from svc_pg.console.pages.navigation import ADMINISTRATION, NavItem
from svc_pg.console.pages.page_request import PAGES
from svc_pg.console.pages.page_route import PageRoute
from svc_pg.console.pages.sign_in import code, link
from svc_pg.console.pages.webhooks.webhook_routes import WEBHOOKS

ROUTES: Final[Sequence[PageRoute]] = [
    PageRoute("GET", "/sign-in", code.form, is_open=True),
    PageRoute("POST", "/sign-in", code.begin, is_open=True, page="/sign-in"),
    PageRoute("GET", "/sign-in/code", code.code_form, is_open=True),
    PageRoute("POST", "/sign-in/code", code.finish, is_open=True, page="/sign-in/code"),
    PageRoute("GET", "/sign-in/link", link.form, is_open=True),
    PageRoute("POST", "/sign-in/link", link.finish, is_open=True, page="/sign-in/link"),
    PageRoute("POST", "/sign-out", code.sign_out),
    PageRoute("POST", "/theme", theme.choose, is_open=True),
    PageRoute(
        "GET",
        "/overview",
        overview.overview_page,
        is_compressed=True,
        nav_item=NavItem(word="Overview", icon="overview", key="o"),
        filters=["window"],
    ),
    PageRoute("GET", "/changes", stream.changed, is_stream=True),
    PageRoute("GET", "/search", search.search_page, filters=["q", palette.HERE]),
    PageRoute("GET", "/search/suggestions", palette.palette_page, filters=["q", palette.HERE]),
    *AUDIT_LOG,
    *WEBHOOKS,
    PageRoute("GET", "/views", views.views_page, filters=[*views.WORDS, *PAGES]),
    PageRoute("POST", "/views", views.add, page="/views"),
    PageRoute("GET", "/views/:id", views.open_view),
    PageRoute("GET", "/views/:id/edit", views.view_page, filters=[views.PRESENT], leads_to_change=True),
    PageRoute("POST", "/views/:id/edit", views.change, page="/views/:id/edit"),
    PageRoute("POST", "/views/:id/delete", views.delete, page="/views/:id/edit"),
    PageRoute(
        "GET",
        "/tenants",
        tenants.tenants_page,
        is_compressed=True,
        nav_item=NavItem(word="Tenants", icon="people", group=ADMINISTRATION, key="n", product="tenant"),
        filters=["text", *PAGES],
    ),
    PageRoute("GET", "/new-tenant", tenants.new, filters=["id"], leads_to_change=True),
    PageRoute("POST", "/tenants", tenants.add, page="/new-tenant"),
    PageRoute("GET", "/tenants/:id", tenants.tenant_page),
    PageRoute("POST", "/tenants/:id/rename", tenants.rename, page="/tenants/:id"),
    PageRoute("POST", "/tenants/:id/delete", tenants.delete, page="/tenants/:id"),
    PageRoute("GET", "/tenants/:id/gone", tenants.gone),
    PageRoute(
        "GET",
        "/sessions",
        sessions.sessions_page,
        is_compressed=True,
        nav_item=NavItem(word="Sessions", icon="key", group=ADMINISTRATION, key="s"),
        filters=["state", "whose", "ended", *PAGES],
    ),
    PageRoute("GET", "/sessions/:id/revoke", sessions.confirm, filters=["whose"], leads_to_change=True),
    PageRoute("POST", "/sessions/:id/revoke", sessions.revoke, page="/sessions/:id/revoke"),
    PageRoute("POST", "/portal-links", portal_links.add, page="/tenants"),
    PageRoute("GET", "/portal-links/:id", portal_links.portal_link_page),
    PageRoute(
        "GET",
        "/tokens",
        tokens.tokens_page,
        is_compressed=True,
        nav_item=NavItem(word="Tokens", icon="lock", group=ADMINISTRATION, key="p", permission="admin"),
        filters=["state", "ended", *PAGES],
    ),
    PageRoute("GET", "/tokens/new", tokens.new, leads_to_change=True),
    PageRoute("POST", "/tokens", tokens.add, page="/tokens/new"),
    PageRoute("GET", "/tokens/made", tokens.created_token_page),
    PageRoute("GET", "/tokens/:id/revoke", tokens.confirm, leads_to_change=True),
    PageRoute("POST", "/tokens/:id/revoke", tokens.revoke, page="/tokens/:id/revoke"),
    PageRoute(
        "GET",
        "/activity",
        activity.activity_page,
        is_compressed=True,
        nav_item=NavItem(word="Activity", icon="wait", group=ADMINISTRATION, key="c", permission="admin"),
        filters=[*activity.WORDS, *PAGES],
    ),
    PageRoute("GET", "/activity/changes", data_changes.data_changes_page, is_compressed=True, filters=PAGES),
    PageRoute(
        "GET",
        "/system",
        system.system_page,
        is_compressed=True,
        nav_item=NavItem(word="System", icon="system", group=ADMINISTRATION, key="y"),
        filters=[],
    ),
]
