"""Read everything that one transaction did, in every audited table."""

from svc_pg.audit.log import AuditQuery, query
from svc_pg.errors import QueryError

_LARGEST = 2**63 - 2


def transaction(xact_id: str | int) -> AuditQuery:
    """The entries of a transaction, the oldest first; ``xact_id`` is the one in an entry.

    After a dump and restore the numbers may begin anew; then ``since`` and ``until`` tell two transactions apart.
    Raises QueryError if this is no number of a transaction.
    """
    text = str(xact_id)
    if not (text.isascii() and text.isdecimal() and len(text) <= 19 and int(text) <= _LARGEST):
        raise QueryError(f"{text!r} is not a transaction", hint="Its number is xact_id in its entries, such as 812.")
    return query().transactions(since=int(text), before=int(text) + 1).order("oldest")
