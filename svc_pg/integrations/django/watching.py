"""Warn, once, if an actor never reaches a connection of Django that writes."""

from collections.abc import Callable
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from svc_pg.database.warn_once import warn_once
from svc_pg.integrations.django.middleware import is_audited
from svc_pg.integrations.unwatched import is_in_question


def watch_connection(connection: BaseDatabaseWrapper, **_signal: object) -> None:
    """Watch the writes of a connection: a receiver of ``connection_created``."""
    if connection.vendor in ("postgresql", "mysql", "sqlite") and _look not in connection.execute_wrappers:
        connection.execute_wrappers.append(_look)


def _look(execute: Callable[..., Any], sql: str, params: Any, many: Any, context: Any) -> Any:
    if is_in_question(sql) and not is_audited(context["connection"]):
        warn_once(
            "an actor was current while a connection of Django wrote that is not audited, so its entries have no"
            " actor: call svc_pg.integrations.django.audit_connections() in an AppConfig's ready"
        )
    return execute(sql, params, many, context)
