"""Read all changes of one transaction, in all audited tables."""

from typing import Any, Final

from psycopg import AsyncConnection, Connection

from svc_pg.audit.log.entry import Entry, columns, keyset
from svc_pg.audit.log.numbers import transaction_number
from svc_pg.database.dialects import require_postgres
from svc_pg.database.pagination import Filter, Listing, Page

_FEATURE: Final = "the list of what a transaction did"
# First all of them: for a limit that it does not know, the planner would read the whole log in the order of time
_OF_TRANSACTION: Final = """
  from svc.audit_transaction_times(%s, %s) t
 cross join lateral (
    select * from svc.audit_logs l where l."timestamp" >= t.first and l."timestamp" <= t.last and l.xact_id = %s
    offset 0
 ) audit_logs"""


class Transaction(Listing[Entry]):
    """The entries of a transaction, page by page."""

    def list(self, conn: Connection[Any]) -> Page[Entry]:
        """Run on a sync connection to PostgreSQL. Never commits.

        Raises NotInstalledError, and ConfigError on other databases.
        """
        require_postgres(conn, _FEATURE)
        return super().list(conn)

    async def alist(self, conn: AsyncConnection[Any], *, max_bytes: int | None = None) -> Page[Entry]:
        """As ``list``, on an async connection; ``max_bytes`` is that of ``Listing.alist``."""
        require_postgres(conn, _FEATURE)
        return await super().alist(conn, max_bytes=max_bytes)


def transaction(xact_id: str | int) -> Transaction:
    """The entries of a transaction, the oldest first, on PostgreSQL; ``xact_id`` is the one in an entry.

    After a dump and restore the numbers may begin anew: then two transactions may have one number, and their entries
    differ in time.
    Raises QueryError if this is no number of a transaction.
    """
    number = transaction_number(xact_id)
    return Transaction(
        keyset=keyset("oldest", columns() + _OF_TRANSACTION, Entry), filter=Filter(params=(number, number + 1, number))
    )
