"""The page Live tail: the log as it grows, with no entry left out."""

from typing import Final

from svc_pg.audit.log.entry import Entry
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.audit import changes, record_names, selection, sentences
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.database.pagination import Page

_ROWS: Final = 60
_READ: Final = 1000


async def tail_page(request: PageRequest) -> Answer:
    """The entries since the page was opened, the newest first, above those from before.

    The address keeps the point from which the log is followed, so that a page that is asked for again, after whatever
    time, shows an entry that was committed late too, and tells how many it does not show.
    """
    followed = selection.used(request)
    if refused := selection.unfollowed(followed):
        words = " and ".join(selection.WORDS[name] for name in refused)
        detail = f"The log cannot be followed by {words}. Take that out of the address, or ask the audit log."
        raise Problem(422, "invalid_parameter", detail, parameter=refused[0])
    start = request.query.get("after")
    if not start:
        page = await request.api.get(Page[Entry], "audit", "entries", query={"after": "now"})
        return SeeOther(request.url("tail", query={**followed, "after": page.next_cursor or ""}))
    # snapshots may end a page early, which then is not all that came since
    query = {**followed, "fields": changes.LIST, "after": start, "limit": str(_READ)}
    since = await request.api.get(Page[Entry], "audit", "entries", query=query)
    query = {**followed, "fields": changes.WITH_VALUES, "limit": str(_ROWS)}
    recent = await request.api.get(Page[Entry], "audit", "entries", query=query)
    by_id = {entry.id: entry for entry in (*since, *recent)}
    newest = sorted(by_id.values(), key=lambda entry: (entry.timestamp, int(entry.id)), reverse=True)
    rows = newest[:_ROWS]
    kept = {entry.id for entry in rows}
    values = {
        "rows": rows,
        "new": len(since.data),
        "new_ids": {entry.id for entry in since},
        "hidden": sum(entry.id not in kept for entry in since),
        "is_full": len(since.data) >= _READ,
        "again": request.url("tail", query=followed),
        "log": request.to.entries(**followed),
        "chips": selection.chips(request),
        "changes": changes,
        "names": record_names,
        "sentences": sentences,
    }
    return Html("tail", values)
