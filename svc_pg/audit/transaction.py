"""Read everything that one transaction did, in every audited table."""

from typing import Any, Final

from psycopg import AsyncConnection, Connection

from svc_pg.audit.entry import FROM, Entry, columns, keyset
from svc_pg.dialects import require_postgres
from svc_pg.errors import QueryError
from svc_pg.pagination import ALL, Listing, Page

_FEATURE: Final = "the list of what a transaction did"
_LARGEST: Final = 2**63 - 1
_DIGITS: Final = 19


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

    After a dump and restore the numbers may begin anew: entries of two transactions with one number tell their times.
    Raises QueryError if this is no number of a transaction.
    """
    text = str(xact_id)
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS and int(text) <= _LARGEST):
        raise QueryError(f"{text!r} is not a transaction", hint="Its number is xact_id in its entries, such as 812.")
    return Transaction(keyset=keyset("oldest", columns() + FROM, Entry), filter=ALL.where("xact_id = %s", int(text)))
