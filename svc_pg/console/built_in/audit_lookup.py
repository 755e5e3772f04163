"""Look up an entry or a page of a route; a missing one is a problem."""

from typing import Final

from svc_pg.audit.log import numbers
from svc_pg.audit.log.entry import ENTRY_ID, RECORD, TABLE, XACT, Entry
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.audit_log.read_recording import noted
from svc_pg.console.built_in.endpoint_urls import ENDPOINTS, entries_for
from svc_pg.console.http.documentation import in_path
from svc_pg.console.http.parameters import refuse
from svc_pg.console.http.products import permits
from svc_pg.console.http.requests import Problem, explained
from svc_pg.console.http.tokens import Session
from svc_pg.database.pagination import Page
from svc_pg.errors import QueryError

OF_ENTRY: Final = (in_path(ENTRY_ID),)
OF_TABLE: Final = (in_path(TABLE, name="table"),)
OF_RECORD: Final = (*OF_TABLE, in_path(RECORD))
OF_TRANSACTION: Final = (in_path(XACT),)
"""The parameters of paths that name one of them."""


def entry_number(text: str) -> int:
    """The id of an entry as a number. Raises Problem 404 if it is no id."""
    if (number := numbers.bigint(text)) is None:
        raise unknown_entry()
    return number


async def visible_entry(log: ConsoleLog, session: Session, entry_id: str) -> Entry:
    """One entry as the session may see it. Raises Problem 404, and QueryError if this is no id."""
    found = await log.entry(entry_id)
    if found is None or session.tenant not in (None, found.tenant_id):
        raise unknown_entry()
    noted([found])  # not before: a tenant's own reads would tell it of the entries of others
    [shown] = entries_for(session, Page([found], None))
    return shown


async def page_of(log: ConsoleLog, wanted: AuditQuery) -> Page[Entry]:
    """A page of entries. Raises Problem 422 if a search cannot be read, or the log has none."""
    try:
        return await log.page(wanted)
    except QueryError as error:
        if not wanted.searches:
            raise
        refuse("text", f"is not acceptable: {explained(error)}")


def searchable(session: Session, wanted: AuditQuery) -> AuditQuery:
    """Without endpoints, if the session may not see the query of their URLs: a search would find it by guesses."""
    is_hidden = wanted.searches - {"context"} and not permits(session.permissions, "write")
    return wanted.without(resource=[ENDPOINTS]) if is_hidden else wanted


def unknown_entry() -> Problem:
    """The problem of an id that no entry has."""
    return Problem(404, "unknown_entry", "The log has no entry with this id.")


def unknown_transaction() -> Problem:
    """The problem of a number that no transaction has."""
    return Problem(404, "unknown_transaction", "The log has no transaction with this number.")
