"""The page of one entry: its fields before and after, its actor and reason, its transaction; and whole snapshots."""

from typing import Final, cast

from anyio.to_thread import run_sync

from svc_pg.audit.log.entry import Entry
from svc_pg.audit.past.diff import diff
from svc_pg.console.built_in.audit_changes import EntryDiff
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.answers import Answer, Html, saved
from svc_pg.console.pages.audit import changes, record_names, related
from svc_pg.console.pages.audit.proof_page import entry_file
from svc_pg.console.pages.differences.work import Work
from svc_pg.console.pages.integrity import proof_of
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.database.pagination import Page
from svc_pg.errors import QueryError

_SHOWN: Final = 20_000
"""The characters of a snapshot on the page; the whole is a file."""
_CERTIFICATES: Final = {"certificate.json": ("certificate", "entry"), "erasure.json": ("erasure", "erasure")}
"""Files of certificates, each with the route of the API and the beginning of its name."""


async def entry_page(request: PageRequest) -> Answer:
    """The entry, between the one before and the one after of its record."""
    entry = await _entry(request)
    newer, older = await _neighbours(request, entry)
    values = {
        "one": entry,  # base.html has a macro of the name entry
        "newer": newer,
        "older": older,
        "of_transaction": (await related.entries_of(request, [entry])).get(entry.xact_id or ""),
        "caused": (await related.deliveries_of(request, [entry])).get(entry.xact_id or "", related.NOBODY_TOLD),
        "changes": changes,
        "names": record_names,
        "called": record_names.name_of(entry, request.titles),
        "work": Work(),
        "longest": _SHOWN,
        "patch": await run_sync(_patch, entry) if entry.operation == "UPDATE" else None,
        "proof": await proof_of(request, entry.id),
        "can_be_reverted": changes.can_be_reverted(request, [entry]),
    }
    return Html("entry", values)


async def snapshot(request: PageRequest) -> Answer:
    """A whole snapshot, the patch between the two, the entry's proof, or a certificate, as a file."""
    entry, side = await _entry(request), request.params["side"]
    if side in _CERTIFICATES:
        route, word = _CERTIFICATES[side]
        return await entry_file(request, entry.id, route, f"{word}-{entry.id}-certificate.json")
    whole = {"before.json": entry.before_data, "after.json": entry.after_data}.get(side)
    text: str | None = None if whole is None else whole.text
    if side == "patch.json":
        text = (await request.api.get(EntryDiff, "audit", "entries", entry.id, "diff")).patch.text
    if side == "proof.json":
        text = cast(str, await request.api.call("GET", "audit", "entries", entry.id, "proof"))
    if text is None:
        raise Problem(404, "not_found", "The entry has no such snapshot.")
    return saved(text, f"entry-{entry.id}-{side}", "application/json")


async def _entry(request: PageRequest) -> Entry:
    return await request.api.get(Entry, "audit", "entries", request.params["id"])


def _patch(entry: Entry) -> str | None:
    """The JSON Patch of the change; None if its snapshots are nested too deeply to be compared."""
    try:
        return diff(entry).patch.text
    except QueryError:
        return None


async def _neighbours(request: PageRequest, entry: Entry) -> tuple[Entry | None, Entry | None]:
    """The entries of the same record after and before this one, in the order of change."""
    if entry.record_id is None:
        return None, None
    query = {
        "resource": entry.table_name,
        "record": entry.record_id,
        "around": entry.id,
        "limit": "3",
        "fields": "operation",
    }
    page = (await request.api.get(Page[Entry], "audit", "entries", query=query)).data
    at = next(index for index, other in enumerate(page) if other.id == entry.id)
    return (page[at - 1] if at else None), (page[at + 1] if at + 1 < len(page) else None)
