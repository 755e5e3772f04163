"""The pages Tenants and Tenant: list, add, rename, and delete with the name typed once more."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final, TypeVar

from svc_pg.audit.stats import AuditStats
from svc_pg.console.built_in.tenant_table import Tenant
from svc_pg.console.built_in.tenant_use import MOST_COUNTED, TenantUse, TenantUses, Unlisted
from svc_pg.console.built_in.webhook_bulk import StatusCount
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.visit import Visit
from svc_pg.console.requests import Problem
from svc_pg.pagination import Page

_NOT_THE_NAME: Final = Problem(422, "name_differs", "What you typed is not the name of the tenant.")

_REFUSED: Final = (HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY)
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
    return _new_form("", visit.query.get("id", ""), None)


async def add(visit: Visit) -> Answer:
    """Add a tenant."""
    name, tenant_id = visit.form.get("name", "").strip(), visit.form.get("id", "").strip()
    try:
        added = await visit.api.post(
            Tenant, "tenant", "tenants", body={"name": name} | ({"id": tenant_id} if tenant_id else {})
        )
    except Problem as problem:
        if problem.status not in _REFUSED:
            raise
        return _new_form(name, tenant_id, problem)
    return SeeOther(visit.url("tenants", added.id))


async def shown(visit: Visit) -> Answer:
    """One tenant, and how to change it."""
    return await _page(visit, None)


async def rename(visit: Visit) -> Answer:
    """Give a tenant another name."""
    body = {"name": visit.form.get("name", "").strip()}
    seen = {"if-match": visit.form["seen"]} if "seen" in visit.form else {}
    try:
        await visit.api.call("PATCH", "tenant", "tenants", visit.params["id"], body=body, headers=seen)
    except Problem as problem:
        if problem.status not in (*_REFUSED, HTTPStatus.PRECONDITION_FAILED):
            raise
        return await _page(visit, problem)
    return SeeOther(visit.url("tenants", visit.params["id"]))


async def delete(visit: Visit) -> Answer:
    """Delete a tenant whose name was typed once more."""
    tenant = await visit.api.get(Tenant, "tenant", "tenants", visit.params["id"])
    if visit.form.get("name") != tenant.name:
        return await _page(visit, _NOT_THE_NAME)
    try:
        await visit.api.call("DELETE", "tenant", "tenants", visit.params["id"])
    except Problem as problem:
        if problem.status != HTTPStatus.CONFLICT:
            raise
        return await _page(visit, problem)
    return SeeOther(visit.url("tenants"))


async def _page(visit: Visit, problem: Problem | None) -> Html:
    tenant, seen = await visit.api.tagged(Tenant, "tenant", "tenants", visit.params["id"])
    values = {
        "tenant": tenant,
        "problem": problem,
        "seen": seen,
        "use": (await _use(visit, [tenant.id]))[tenant.id],
        "deliveries": await _counted(visit, list[StatusCount], "webhooks", "deliveries", "counts", tenant=tenant.id),
        "changes": await _counted(visit, AuditStats, "audit", "stats", tenant=tenant.id),
    }
    return Html("tenant", values, 200 if problem is None else problem.status)


async def _use(visit: Visit, ids: Sequence[str]) -> Mapping[str, TenantUse]:
    """The use of each of these tenants, by its id."""
    return {each.id: each for each in (await visit.api.get(TenantUses, "tenant", "use", query={"id": ids})).data}


async def _counted(visit: Visit, shape: type[Shape], *segments: str, tenant: str) -> Shape | None:
    """Counts for one tenant; None if they take too long, or are not to be had of this log."""
    try:
        return await visit.api.get(shape, *segments, query={"tenant": tenant})
    except Problem:
        return None


def _new_form(name: str, tenant_id: str, problem: Problem | None) -> Html:
    values = {"name": name, "id": tenant_id, "problem": problem}
    return Html("tenant_new", values, 200 if problem is None else problem.status)
