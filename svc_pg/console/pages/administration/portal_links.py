"""The page of a new link to the portal: the link, shown once, and its scope."""

from typing import Any

from svc_pg.console.built_in.tenant_use import TenantUses
from svc_pg.console.built_in.webhook_portal import CreatedPortalLink
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.portal import OUTAGE, leading_to_outage
from svc_pg.console.pages.problems import needs_admin
from svc_pg.console.pages.refused_forms import sent
from svc_pg.console.pages.states import VISITS
from svc_pg.console.sign_in.portal_links import PortalLink
from svc_pg.settings.addresses import unreachable


async def add(request: PageRequest) -> Answer:
    """Make a link, and lead to it: no later page can show it."""
    needs_admin(request)
    lasts = request.form.get("lasts", "")
    wrong = {} if lasts in VISITS else {"lasts": "Choose for how long the visit lasts."}
    body = {"tenant": request.form.get("tenant", ""), "expiresIn": int(next(iter(VISITS)) if wrong else lasts)}

    async def create(body: dict[str, Any]) -> CreatedPortalLink:
        return await request.api.post(CreatedPortalLink, "webhooks", "portal-sessions", body=body)

    made = await sent(create, body, wrong)
    address = made.url or f"{_origin(request)}{made.path}"
    return request.made(leading_to_outage(address, request.form.get(OUTAGE)), "portal-links", made.id)


async def portal_link_page(request: PageRequest) -> Answer:
    """The link that a form has made; without it, the way to the list of those that nobody has opened."""
    link = await request.api.get(PortalLink, "webhooks", "portal-sessions", request.params["id"])
    found = request.secret()
    if found is None:
        return SeeOther(request.url("sessions"))
    values = {
        "link": link,
        "secret": found,
        "lasts": VISITS[f"{link.lasts.total_seconds():.0f}"],
        "warning": unreachable(found),
        "is_first": await _is_first(request, link),
    }
    return Html("portal_link", values)


def _origin(request: PageRequest) -> str:
    """The origin of this console as the browser knows it, behind any proxies."""
    told = request.http.headers.get("origin", "null")
    return told if told != "null" else f"{request.http.scope['scheme']}://{request.http.headers.get('host', '')}"


async def _is_first(request: PageRequest, link: PortalLink) -> bool:
    """True if the tenant has nothing else here, so that its name may be misspelt."""
    if not request.has("tenants"):
        return False
    [use] = (await request.api.get(TenantUses, "tenant", "use", query={"id": [link.tenant]})).data
    return not (use.endpoints or use.messages or use.sessions or use.tokens)
