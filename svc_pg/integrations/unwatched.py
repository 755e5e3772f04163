"""Detect writes on connections that an actor may never reach: their entries would silently have none.

It watches engines of SQLAlchemy, from the first request or ``with_audit`` on, and, with the app in INSTALLED_APPS,
connections of Django: both report each of their statements. A plain connection or pool of a driver reports none;
``svc-pg status`` shows the entries that it leaves without an actor.
"""

import re
from typing import Final

from svc_pg.audit.context import current_actor, is_by_hand

_WRITES: Final = re.compile(r"\s*(insert|update|delete|merge|replace|truncate)\b", re.IGNORECASE)


def is_in_question(statement: object) -> bool:
    """True if the statement writes while there is an actor, which only an audited connection would record."""
    if current_actor() is None or is_by_hand():
        return False
    return isinstance(statement, str) and _WRITES.match(statement) is not None
