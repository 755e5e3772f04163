"""The event triggers that record DDL on audited tables."""

from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection, InternalError, NotSupportedError
from psycopg.errors import InsufficientPrivilege, UndefinedFunction

from svc_pg.database.query import Query, fetch
from svc_pg.database.statements import statement
from svc_pg.rendering.templates import render
from svc_pg.schema.status import State, Status

KIND: Final = "event trigger"
LACKING: Final = "needs a superuser, or the role that a managed server has in its place"
"""The reason for which an install does not make them."""

_TAGS: Final = (
    "ALTER INDEX",  # by which a table can be renamed
    "ALTER SCHEMA",
    "ALTER TABLE",
    "ALTER TRIGGER",
    "ALTER TYPE",
    "CREATE SCHEMA",
    "CREATE TABLE",
    "CREATE TABLE AS",
    "CREATE TRIGGER",
    "DROP OWNED",
    "GRANT",
    "REVOKE",
    "SELECT INTO",
)
# Which roles of a managed server may make one is its own affair. Rights are checked before the function is looked up.
_PROBE: Final = "create event trigger svc_audit_probe on ddl_command_end execute function pg_catalog.svc_none()"
_FOUND: Final = statement("queries/schema/ddl_triggers.sql")


@dataclass(frozen=True, slots=True)
class _EventTrigger:
    name: str
    event: str
    function: str
    tags: tuple[str, ...] = ()

    def sql(self, *, is_wanted: bool, has_shapes: bool = True) -> str:
        """Make it anew, or drop it; with ``has_shapes`` the forms of tables are kept or forgotten."""
        return render(
            "capture/ddl_trigger.sql.j2",
            name=self.name,
            event=self.event if is_wanted else None,
            tags=self.tags,
            function=self.function.split("."),
            has_shapes=has_shapes and bool(self.tags),
        )


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    is_there: bool
    is_disabled: bool
    is_right: bool
    is_ours: bool


_TRIGGERS: Final = (
    _EventTrigger("svc_audit_ddl", "ddl_command_end", "svc.audit_on_ddl", _TAGS),
    _EventTrigger("svc_audit_drop", "sql_drop", "svc.audit_on_drop"),
)
DROP: Final = "\n".join(trigger.sql(is_wanted=False, has_shapes=False).strip() for trigger in _TRIGGERS)
"""Drop those that are there."""


def compare(conn: Connection[Any], *, is_wanted: bool) -> list[Status]:
    """The state of each, if it is wanted or there. One that this role may neither make nor drop is ``is_foreign``."""
    params = {
        "names": [each.name for each in _TRIGGERS],
        "events": [each.event for each in _TRIGGERS],
        "functions": [each.function for each in _TRIGGERS],
        "tags": ["{" + ",".join(f'"{tag}"' for tag in each.tags) + "}" for each in _TRIGGERS],
    }
    found = fetch(conn, Query(_FOUND, params, _Found))
    states = [_state(each, is_wanted=is_wanted) for each in found]
    may_make = is_wanted and any(state != "ok" for state in states) and _may_make(conn)
    return [
        _status(trigger, state, is_allowed=each.is_ours and (may_make or not is_wanted), is_wanted=is_wanted)
        for trigger, each, state in zip(_TRIGGERS, found, states, strict=True)
        if is_wanted or each.is_there
    ]


def _may_make(conn: Connection[Any]) -> bool:
    try:
        with conn.transaction():
            conn.execute(_PROBE)
    except UndefinedFunction:
        return True
    except (InsufficientPrivilege, InternalError, NotSupportedError):  # the second in a read-only transaction
        return False
    return False


def _status(trigger: _EventTrigger, state: State, *, is_allowed: bool, is_wanted: bool) -> Status:
    is_foreign = state != "ok" and not is_allowed
    return Status(
        KIND,
        trigger.name,
        state,
        trigger.sql(is_wanted=is_wanted),
        is_foreign=is_foreign,
        note=LACKING if is_foreign else None,
    )


def _state(found: _Found, *, is_wanted: bool) -> State:
    if not is_wanted:
        return "orphan"
    if not found.is_there:
        return "missing"
    if found.is_disabled:
        return "disabled"
    return "ok" if found.is_right else "tampered"
