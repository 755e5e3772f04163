"""The pages Tenants and Tenant: list, add, rename, and delete with the name typed once more."""

import json
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from svc_pg.audit.read.stats import AuditStats
from svc_pg.console.built_in.tenant_use import MOST_COUNTED, TenantUse, TenantUses, Unlisted
from svc_pg.console.built_in.webhook_bulk import StatusCount
from svc_pg.console.built_in.webhook_portal import WaitingLinks
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.visit import Visit
from svc_pg.console.requests import Problem
from svc_pg.console.sign_in.tenant_table import Tenant
from svc_pg.database.pagination import Page

_NOT_THE_NAME: Final = Problem(422, "name_differs", "What you typed is not the name of the tenant.")

_NONE: Final = Unlisted([], is_complete=True)

Shape = TypeVar("Shape")


async def listed(visit: Visit) -> Answer:
    """All tenants by name, or those with some letters in their names."""
    wanted = {"text": visit.query["text"]} if visit.query.get("text") else {}
    page = await visit.api.get(Page[Tenant], "tenant", "tenants", query=visit.list_query(**wanted))
    is_first = not page.prev_cursor and not wanted
    unlisted = await visit.api.get(Unlisted, "tenant", "unlisted") if is_first else _NONE
    use = await _use(visit, [tenant.id for tenant in page])
    return Html(
        "tenants",
        {"tenants": page, "use": use, "unlisted": unlisted, "most": MOST_COUNTED, "wanted": wanted.get("text")},
    )


async def new(visit: Visit) -> Answer:
    """The form for a new tenant, with an id that the list of those without a name has led to."""
    typed = visit.form
    values = {"name": typed.get("name", ""), "id": typed.get("id", visit.query.get("id", ""))}
    return Html("tenant_new", values)


async def add(visit: Visit) -> Answer:
    """Add a tenant."""
    name, tenant_id = visit.form.get("name", "").strip(), visit.form.get("id", "").strip()
    added = await visit.api.post(
        Tenant, "tenant", "tenants", body={"name": name} | ({"id": tenant_id} if tenant_id else {})
    )
    return SeeOther(visit.url("tenants", added.id))


async def shown(visit: Visit) -> Answer:
    """One tenant, and how to change it."""
    tenant, seen = await visit.api.tagged(Tenant, "tenant", "tenants", visit.params["id"])
    values = {
        "tenant": tenant,
        "name": visit.form.get("name", tenant.name) if "seen" in visit.form else tenant.name,
        "seen": seen,
        "use": (await _use(visit, [tenant.id]))[tenant.id],
        "deliveries": await _counted(visit, list[StatusCount], "webhooks", "deliveries", "counts", tenant=tenant.id),
        "changes": await _counted(visit, AuditStats, "audit", "stats", tenant=tenant.id),
    }
    return Html("tenant", values)


async def rename(visit: Visit) -> Answer:
    """Give a tenant another name."""
    body = {"name": visit.form.get("name", "").strip()}
    seen = {"if-match": visit.form["seen"]} if "seen" in visit.form else {}
    await visit.api.call("PATCH", "tenant", "tenants", visit.params["id"], body=body, headers=seen)
    return SeeOther(visit.url("tenants", visit.params["id"]))


async def delete(visit: Visit) -> Answer:
    """Delete a tenant whose name was typed once more, and lead to what ended with it."""
    tenant = await visit.api.get(Tenant, "tenant", "tenants", visit.params["id"])
    if visit.form.get("name") != tenant.name:
        raise _NOT_THE_NAME
    use = (await _use(visit, [tenant.id]))[tenant.id]
    links = (await visit.api.get(WaitingLinks, "webhooks", "portal-sessions")).data if visit.may_let_in else []
    await visit.api.call("DELETE", "tenant", "tenants", visit.params["id"])
    ended = {
        "name": tenant.name,
        "endpoints": use.endpoints,
        "sessions": use.sessions,
        "tokens": use.tokens,
        "links": sum(link.tenant == tenant.id for link in links),
    }
    return visit.made(json.dumps(ended), "tenants", tenant.id, "gone")


async def gone(visit: Visit) -> Answer:
    """What ended with a tenant that was just deleted; later, the way to the list."""
    ended = visit.secret()
    if ended is None:
        return SeeOther(visit.url("tenants"))
    return Html("tenant_gone", {"id": visit.params["id"], **json.loads(ended)})


async def _use(visit: Visit, ids: Sequence[str]) -> Mapping[str, TenantUse]:
    """The use of each of these tenants, by its id."""
    return {each.id: each for each in (await visit.api.get(TenantUses, "tenant", "use", query={"id": ids})).data}


async def _counted(visit: Visit, shape: type[Shape], *segments: str, tenant: str) -> Shape | None:
    """Counts for one tenant; None if they take too long, or are not to be had of this log."""
    try:
        return await visit.api.get(shape, *segments, query={"tenant": tenant})
    except Problem:
        return None
