"""The pages of the SQL that takes an entry or a transaction back: to read and copy, or why there is none."""

from collections.abc import Sequence
from typing import Final

from svc_pg.audit.log.entry import Entry
from svc_pg.console.built_in.audit_changes import Revert
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.answers import Answer, Html, saved
from svc_pg.console.pages.audit import changes
from svc_pg.console.pages.audit.transaction import entries_of
from svc_pg.console.pages.page_request import PageRequest

_SHOWN: Final = 20_000
"""The characters of the SQL on the page; the whole is a file."""
_MOST_ENTRIES: Final = 100
_MOST_FIELDS: Final = 30
_SAID: Final = frozenset({"cannot_be_reverted", "too_large", "not_supported", "not_for_tenants"})


async def of_entry(request: PageRequest) -> Answer:
    """One entry."""
    entry = await request.api.get(Entry, "audit", "entries", request.params["id"])
    return await _shown(request, "entries", [entry], title=changes.title(entry), back=request.to.entry(entry.id))


async def of_transaction(request: PageRequest) -> Answer:
    """One transaction."""
    xact_id = request.params["id"]
    query = {"transaction": xact_id, "order": "oldest", "fields": changes.LIST, "limit": str(_MOST_ENTRIES)}
    page = await entries_of(request, query)
    back = request.to.transaction(xact_id)
    return await _shown(request, "transactions", page.data, title=f"transaction {xact_id}", back=back)


async def entry_file(request: PageRequest) -> Answer:
    """The SQL of an entry as a file."""
    return await _file(request, "entries", f"revert-entry-{request.params['id']}.sql")


async def transaction_file(request: PageRequest) -> Answer:
    """The SQL of a transaction as a file."""
    return await _file(request, "transactions", f"revert-transaction-{request.params['id']}.sql")


async def _shown(request: PageRequest, kind: str, entries: Sequence[Entry], *, title: str, back: str) -> Answer:
    sql, problem = "", None
    try:
        sql = (await _revert(request, kind)).sql
    except Problem as error:
        if error.code not in _SAID:
            raise
        problem = error
    fields = sorted({field for entry in entries for field in entry.changed_fields or ()})
    values = {
        "title": title,
        "back": back,
        "is_entry": kind == "entries",
        "sql": sql,
        "shown": _SHOWN,
        "file": request.url("audit", kind, request.params["id"], "revert.sql", query={"leave": _left(request)}),
        "problem": problem,
        "fields": fields[:_MOST_FIELDS],
        "left": _left(request),
    }
    return Html("revert", values)


async def _file(request: PageRequest, kind: str, name: str) -> Answer:
    return saved((await _revert(request, kind)).sql, name, "application/sql")


async def _revert(request: PageRequest, kind: str) -> Revert:
    return await request.api.get(Revert, "audit", kind, request.params["id"], "revert", query={"leave": _left(request)})


def _left(request: PageRequest) -> list[str]:
    return [field for field in request.query.getlist("leave") if field]
