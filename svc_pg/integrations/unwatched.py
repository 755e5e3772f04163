"""Statements whose actor might never reach the connection that writes: their entries would have none, without a word.

Seen are engines of SQLAlchemy, from the first request or ``with_audit`` on that begins to look, and, with the app in
INSTALLED_APPS, connections of Django: they tell of each of their statements. A plain connection or pool of a driver
tells nobody; ``svc-pg status`` shows what it leaves behind.
"""

import re
from typing import Final

from svc_pg.audit.context import current_actor, is_by_hand

_WRITES: Final = re.compile(r"\s*(insert|update|delete|merge|replace|truncate)\b", re.IGNORECASE)


def is_in_question(statement: object) -> bool:
    """True if it writes for an actor that only an audited connection would be told of."""
    if current_actor() is None or is_by_hand():
        return False
    return isinstance(statement, str) and _WRITES.match(statement) is not None
