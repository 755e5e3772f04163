"""The pages of the SQL that takes an entry or a transaction back: to read and copy, or why there is none."""

from collections.abc import Sequence
from typing import Final

from svc_pg.audit.log.entry import Entry
from svc_pg.console.built_in.audit_changes import Revert
from svc_pg.console.pages.answers import Answer, Html, saved
from svc_pg.console.pages.audit import changes
from svc_pg.console.pages.audit.transaction import entries_of
from svc_pg.console.pages.visit import Visit
from svc_pg.console.requests import Problem

_SHOWN: Final = 20_000
"""The characters of the SQL on the page; the whole is a file."""
_MOST_ENTRIES: Final = 100
_MOST_FIELDS: Final = 30
_SAID: Final = frozenset({"cannot_be_reverted", "too_large", "not_supported", "not_for_tenants"})


async def of_entry(visit: Visit) -> Answer:
    """One entry."""
    entry = await visit.api.get(Entry, "audit", "entries", visit.params["id"])
    return await _shown(visit, "entries", [entry], title=changes.title(entry), back=visit.to.entry(entry.id))


async def of_transaction(visit: Visit) -> Answer:
    """One transaction."""
    xact_id = visit.params["id"]
    query = {"transaction": xact_id, "order": "oldest", "fields": changes.LIST, "limit": str(_MOST_ENTRIES)}
    page = await entries_of(visit, query)
    back = visit.to.transaction(xact_id)
    return await _shown(visit, "transactions", page.data, title=f"transaction {xact_id}", back=back)


async def entry_file(visit: Visit) -> Answer:
    """The SQL of an entry as a file."""
    return await _file(visit, "entries", f"revert-entry-{visit.params['id']}.sql")


async def transaction_file(visit: Visit) -> Answer:
    """The SQL of a transaction as a file."""
    return await _file(visit, "transactions", f"revert-transaction-{visit.params['id']}.sql")


async def _shown(visit: Visit, kind: str, entries: Sequence[Entry], *, title: str, back: str) -> Answer:
    sql, problem = "", None
    try:
        sql = (await _revert(visit, kind)).sql
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
        "file": visit.url("audit", kind, visit.params["id"], "revert.sql", query={"leave": _left(visit)}),
        "problem": problem,
        "fields": fields[:_MOST_FIELDS],
        "left": _left(visit),
    }
    return Html("take_back", values)


async def _file(visit: Visit, kind: str, name: str) -> Answer:
    return saved((await _revert(visit, kind)).sql, name, "application/sql")


async def _revert(visit: Visit, kind: str) -> Revert:
    return await visit.api.get(Revert, "audit", kind, visit.params["id"], "revert", query={"leave": _left(visit)})


def _left(visit: Visit) -> list[str]:
    return [field for field in visit.query.getlist("leave") if field]
