"""Read all changes of one transaction, in all audited tables."""

from dataclasses import dataclass
from typing import Any, Final

from psycopg import AsyncConnection, Connection

from svc_pg.audit.log.entry import COLUMNS, Entry, keyset
from svc_pg.audit.log.numbers import transaction_number
from svc_pg.audit.reads.recording import recorded_entries
from svc_pg.database.dialects import require_postgres
from svc_pg.database.effects import Effects
from svc_pg.database.pagination import Listing, Page
from svc_pg.database.query import Query

_FEATURE: Final = "the list of what a transaction did"
_BEGINNING: Final = ("-infinity", 0)
# A join to what each row of a function gives keeps the order of these
_ENTRIES: Final = """
  from svc.audit_transaction_entries(%s, %s, %s, %s, %s) place(at, entry_id)
 cross join lateral (
    select * from svc.audit_logs l where l."timestamp" = place.at and l.id = place.entry_id offset 0
 ) audit_logs"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction(Listing[Entry]):
    """The entries of a transaction, page by page."""

    xact_id: int

    def list(self, conn: Connection[Any]) -> Page[Entry]:
        """Run on a sync connection to PostgreSQL. Never commits.

        Raises NotInstalledError, and ConfigError on other databases.
        """
        require_postgres(conn, _FEATURE)
        return Listing.list(self, conn)

    async def alist(self, conn: AsyncConnection[Any], *, max_bytes: int | None = None) -> Page[Entry]:
        """As ``list``, on an async connection; ``max_bytes`` is that of ``Listing.alist``."""
        require_postgres(conn, _FEATURE)
        return await Listing.alist(self, conn, max_bytes=max_bytes)

    def page(self, *, max_bytes: int | None = None) -> Effects[Page[Entry]]:
        """As any list's; the read is recorded, if reads of a table are."""
        found = yield from Listing.page(self, max_bytes=max_bytes)
        yield from recorded_entries(found.data)
        return found

    def _query(self) -> Query[Entry]:
        place = _BEGINNING if self.position is None else self.position[1:]
        return Query(COLUMNS + _ENTRIES, (self.xact_id, *place, self.is_backward, self.size + 1), Entry)


def transaction(xact_id: str | int) -> Transaction:
    """The entries of a transaction, the oldest first, on PostgreSQL; ``xact_id`` is the one in an entry.

    After a dump and restore the numbers may begin anew: then two transactions may have one number, and their entries
    differ in time.
    Raises QueryError if this is no number of a transaction.
    """
    return Transaction(keyset=keyset("oldest", COLUMNS, Entry), xact_id=transaction_number(xact_id))
