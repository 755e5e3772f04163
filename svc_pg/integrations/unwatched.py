"""Warn, once, of an actor that never reaches the connection which writes: its entries would have none, without a word.

Seen are engines of SQLAlchemy, from the first request or ``with_audit`` on that begins to look, and, with the app in
INSTALLED_APPS, connections of Django: they tell of each of their statements. A plain connection or pool of a driver
tells nobody; ``svc-pg status`` shows what it leaves behind.
"""

import re
import sys
from collections.abc import Callable
from typing import Any, Final

from svc_pg.audit.context import current_actor, is_by_hand
from svc_pg.database.warn_once import warn_once

_WRITES: Final = re.compile(r"\s*(insert|update|delete|merge|replace|truncate)\b", re.IGNORECASE)


def watch() -> None:
    """Look at what SQLAlchemy's engines write from now on, if the application has loaded SQLAlchemy. Idempotent.

    Called for each request, because applications may load SQLAlchemy at any time.
    """
    if "sqlalchemy.engine" not in sys.modules:
        return
    from sqlalchemy import Engine, event

    if not event.contains(Engine, "before_cursor_execute", _look):
        event.listen(Engine, "before_cursor_execute", _look)


def watch_django(connection: Any, **_signal: object) -> None:
    """Look at what a connection of Django writes: a receiver of ``connection_created``."""
    if connection.vendor in ("postgresql", "mysql", "sqlite") and _look_at_django not in connection.execute_wrappers:
        connection.execute_wrappers.append(_look_at_django)


def _look(
    conn: Any, _cursor: object, statement: str, _parameters: object, _context: object, _executemany: object
) -> None:
    if not _is_in_question(statement):
        return
    from svc_pg.integrations.sqlalchemy import is_audited

    if not is_audited(conn):
        warn_once(
            "an actor was current while an engine of SQLAlchemy wrote that is not with_audit, so its entries have no"
            " actor: call svc_pg.integrations.sqlalchemy.with_audit(engine)"
        )


def _look_at_django(execute: Callable[..., Any], sql: str, params: Any, many: Any, context: Any) -> Any:
    if _is_in_question(sql):
        from svc_pg.integrations.django.middleware import is_audited

        if not is_audited(context["connection"]):
            warn_once(
                "an actor was current while a connection of Django wrote that is not audited, so its entries have no"
                " actor: call svc_pg.integrations.django.audit_connections() in an AppConfig's ready"
            )
    return execute(sql, params, many, context)


def _is_in_question(statement: object) -> bool:
    """True if it writes for an actor that only an audited connection would be told of."""
    if current_actor() is None or is_by_hand():
        return False
    return isinstance(statement, str) and _WRITES.match(statement) is not None
