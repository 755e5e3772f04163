"""Read everything that one transaction did, in every audited table."""

from typing import Final

from svc_pg.audit.entry import FROM, Entry, columns, keyset
from svc_pg.errors import QueryError
from svc_pg.pagination import ALL, Listing

_LARGEST: Final = 2**63 - 1
_DIGITS: Final = 19


def transaction(xact_id: str | int) -> Listing[Entry]:
    """The entries of a transaction, the oldest first, on PostgreSQL; ``xact_id`` is the one in an entry.

    After a dump and restore the numbers may begin anew: entries of two transactions with one number tell their times.
    Raises QueryError if this is no number of a transaction.
    """
    text = str(xact_id)
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS and int(text) <= _LARGEST):
        raise QueryError(f"{text!r} is not a transaction", hint="Its number is xact_id in its entries, such as 812.")
    return Listing(keyset=keyset("oldest", columns() + FROM, Entry), filter=ALL.where("xact_id = %s", int(text)))
