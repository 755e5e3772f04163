"""The names that records have for people: the value of a column that names them, if a snapshot has it."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final

from svc_pg.audit.log.entry import Entry, is_disguised, is_erased
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.audit.changes import readable
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.record_titles import RecordTitles, as_name
from svc_pg.database.pagination import Page

NAMING_SECONDS: Final = 1
_NAMING: Final = "recordId,redactedFields,beforeData,afterData"


def name_of(entry: Entry, titles: RecordTitles) -> str | None:
    """The name of the record after the change, or before it if it is gone; None if no column names it."""
    found = naming(entry, titles)
    return None if found is None else found[1]


def naming(entry: Entry, titles: RecordTitles) -> tuple[str, str] | None:
    """The column that names the record, and its value."""
    if not has_values(entry) or is_erased(entry):
        return None
    values = members(entry.after_data) or members(entry.before_data)
    for column in titles.columns_of(entry.table_name, values):
        name = as_name(values.get(column), entry.record_id)
        if name is not None and not is_disguised(column, entry.redacted_fields):
            return column, name
    return None


async def name_of_record(request: PageRequest, table: str, record_id: str) -> str | None:
    """The name that a record has in its newest entry."""
    query = {"resource": table, "record": record_id, "limit": "1", "fields": _NAMING}
    try:
        found = await request.api.get(Page[Entry], "audit", "entries", query=query)
    except Problem:  # the page says itself what cannot be asked
        return None
    return next((name_of(entry, request.titles) for entry in found), None)


async def names_of_records(request: PageRequest, records: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
    """The names of records, by table and key, of those that have one; as far as they are found within a second."""
    found: dict[tuple[str, str], str] = {}
    try:
        async with asyncio.timeout(NAMING_SECONDS):
            for record in dict.fromkeys(records):
                if name := await name_of_record(request, *record):
                    found[record] = name
    except TimeoutError:  # the others have their keys
        pass
    return found


def has_values(entry: Entry) -> bool:
    """True if the entry was read with its snapshots."""
    return hasattr(entry, "after_data")


def members(snapshot: Any) -> Mapping[str, Any]:
    """The members of a snapshot; none if it has none, or cannot be read."""
    value = None if snapshot is None else readable(snapshot)
    return value if isinstance(value, dict) else {}
