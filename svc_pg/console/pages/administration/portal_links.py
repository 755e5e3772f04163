"""The page of a link to the portal that a form has made: the link, once, and what it opens."""

from svc_pg.console.built_in.tenant_use import TenantUses
from svc_pg.console.built_in.webhook_portal import PortalAddress
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.problems import needs_admin
from svc_pg.console.pages.states import VISITS
from svc_pg.console.pages.visit import Visit
from svc_pg.console.requests import Problem
from svc_pg.console.sign_in.portal_links import StoredLink
from svc_pg.settings.addresses import unreachable


async def add(visit: Visit) -> Answer:
    """Make a link, and lead to it: no later page can show it."""
    needs_admin(visit)
    lasts = visit.form.get("lasts", "")
    if lasts not in VISITS:
        raise Problem(422, "invalid_parameter", "Choose for how long the visit lasts.")
    body = {"tenant": visit.form.get("tenant", ""), "expiresIn": int(lasts)}
    made = await visit.api.post(PortalAddress, "webhooks", "portal-sessions", body=body)
    return visit.made(made.url or f"{_origin(visit)}{made.path}", "portal-links", made.id)


async def shown(visit: Visit) -> Answer:
    """The link that a form has made; without it, the way to the list of those that nobody has opened."""
    link = await visit.api.get(StoredLink, "webhooks", "portal-sessions", visit.params["id"])
    found = visit.secret()
    if found is None:
        return SeeOther(visit.url("sessions"))
    values = {
        "link": link,
        "secret": found,
        "lasts": VISITS[f"{link.lasts.total_seconds():.0f}"],
        "warning": unreachable(found),
        "is_first": await _is_first(visit, link),
    }
    return Html("portal_link", values)


def _origin(visit: Visit) -> str:
    """The origin of this console as the browser knows it, behind whatever proxies."""
    told = visit.request.headers.get("origin", "null")
    return told if told != "null" else f"{visit.request.scope['scheme']}://{visit.request.headers.get('host', '')}"


async def _is_first(visit: Visit, link: StoredLink) -> bool:
    """True if the tenant has nothing else here, so that its name may be misspelt."""
    if not visit.has("tenants"):
        return False
    [use] = (await visit.api.get(TenantUses, "tenant", "use", query={"id": [link.tenant]})).data
    return not (use.endpoints or use.messages or use.sessions or use.tokens)
