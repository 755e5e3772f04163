"""The pages Tenants and Tenant: list, add, rename, and delete with the name typed once more."""

import json
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from svc_pg.audit.read.stats import AuditStats
from svc_pg.console.built_in.tenant_use import TenantUse, TenantUses, UnlistedTenants, most_counted
from svc_pg.console.built_in.webhook_bulk import StatusCount
from svc_pg.console.built_in.webhook_portal import PendingPortalLinks
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.problems import needs_admin
from svc_pg.console.sign_in.tenant_table import Tenant
from svc_pg.database.pagination import Page

_NOT_THE_NAME: Final = Problem(422, "name_differs", "What you typed is not the name of the tenant.")

_NONE: Final = UnlistedTenants([], is_complete=True)

Shape = TypeVar("Shape")


async def tenants_page(request: PageRequest) -> Answer:
    """All tenants by name, or those with some letters in their names."""
    wanted = {"text": request.query["text"]} if request.query.get("text") else {}
    page = await request.api.get(Page[Tenant], "tenant", "tenants", query=request.list_query(**wanted))
    is_first = not page.prev_cursor and not wanted
    unlisted = await request.api.get(UnlistedTenants, "tenant", "unlisted") if is_first else _NONE
    use = await _use(request, [tenant.id for tenant in page])
    return Html(
        "tenants",
        {
            "tenants": page,
            "use": use,
            "unlisted": unlisted,
            "most": most_counted(len(page.data)),
            "most_unlisted": most_counted(len(unlisted.data)),
            "wanted": wanted.get("text"),
        },
    )


async def new(request: PageRequest) -> Answer:
    """The form for a new tenant, with an id that the list of those without a name has led to."""
    return Html("tenant_new", {"id": request.query.get("id", "")})


async def add(request: PageRequest) -> Answer:
    """Add a tenant."""
    name, tenant_id = request.form.get("name", "").strip(), request.form.get("id", "").strip()
    added = await request.api.post(
        Tenant, "tenant", "tenants", body={"name": name} | ({"id": tenant_id} if tenant_id else {})
    )
    return SeeOther(request.url("tenants", added.id))


async def tenant_page(request: PageRequest) -> Answer:
    """One tenant, and how to change it."""
    tenant, seen = await request.api.tagged(Tenant, "tenant", "tenants", request.params["id"])
    values = {
        "tenant": tenant,
        "seen": seen,
        "use": (await _use(request, [tenant.id]))[tenant.id],
        "deliveries": await _counted(request, list[StatusCount], "webhooks", "deliveries", "counts", tenant=tenant.id)
        if request.has_webhooks
        else None,
        "changes": await _counted(request, AuditStats, "audit", "stats", tenant=tenant.id)
        if request.has_audit
        else None,
    }
    return Html("tenant", values)


async def rename(request: PageRequest) -> Answer:
    """Give a tenant another name."""
    body = {"name": request.form.get("name", "").strip()}
    seen = {"if-match": request.form["seen"]} if "seen" in request.form else {}
    await request.api.call("PATCH", "tenant", "tenants", request.params["id"], body=body, headers=seen)
    return SeeOther(request.url("tenants", request.params["id"]))


async def delete(request: PageRequest) -> Answer:
    """Delete a tenant whose name was typed once more, and lead to the access that ended with it."""
    needs_admin(request)
    tenant = await request.api.get(Tenant, "tenant", "tenants", request.params["id"])
    if request.form.get("name") != tenant.name:
        raise _NOT_THE_NAME
    use = (await _use(request, [tenant.id]))[tenant.id]
    links = (
        (await request.api.get(PendingPortalLinks, "webhooks", "portal-sessions")).data if request.may_let_in else []
    )
    await request.api.call("DELETE", "tenant", "tenants", request.params["id"])
    ended = {
        "name": tenant.name,
        "endpoints": use.endpoints,
        "sessions": use.sessions,
        "tokens": use.tokens,
        "links": sum(link.tenant == tenant.id for link in links),
    }
    return request.made(json.dumps(ended), "tenants", tenant.id, "gone")


async def gone(request: PageRequest) -> Answer:
    """The access that ended with a deleted tenant; later, a redirect to the list."""
    ended = request.secret()
    if ended is None:
        return SeeOther(request.url("tenants"))
    return Html("tenant_gone", {"id": request.params["id"], **json.loads(ended)})


async def _use(request: PageRequest, ids: Sequence[str]) -> Mapping[str, TenantUse]:
    """The use of each of these tenants, by its id."""
    return {each.id: each for each in (await request.api.get(TenantUses, "tenant", "use", query={"id": ids})).data}


async def _counted(request: PageRequest, shape: type[Shape], *segments: str, tenant: str) -> Shape | None:
    """Counts for one tenant; None if they take too long, or are not to be had of this log."""
    try:
        return await request.api.get(shape, *segments, query={"tenant": tenant})
    except Problem:
        return None
