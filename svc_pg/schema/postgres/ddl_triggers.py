"""The event triggers that record DDL on audited tables."""

from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection, InternalError, NotSupportedError
from psycopg.errors import InsufficientPrivilege, ReadOnlySqlTransaction, UndefinedFunction

from svc_pg.database.query import Query, fetch
from svc_pg.database.statements import statement
from svc_pg.errors import InstallError
from svc_pg.rendering.templates import render
from svc_pg.schema.status import State, Status

KIND: Final = "event trigger"
LACKING: Final = "needs a superuser, or the role that a managed server has in its place"
"""The reason for which an install does not make them."""
_FEW: Final = 5
_MANAGERS: Final = ("rds_superuser", "cloudsqlsuperuser", "alloydbsuperuser", "azure_pg_admin", "neon_superuser")

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
_NEW: Final = ("ALTER INDEX", "ALTER TABLE", "CREATE TABLE", "CREATE TABLE AS", "SELECT INTO")
# Which roles of a managed server may make one is its own affair. Rights are checked before the function is looked up.
# The server logs a refusal, so only roles are tried that administrate.
_PROBE: Final = "create event trigger svc_audit_probe on ddl_command_end execute function pg_catalog.svc_none()"
_FOUND: Final = statement("queries/schema/ddl_triggers.sql").replace("{acts_as}", render("include/acts_as.sql.j2"))


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
            has_shapes=has_shapes and self.name == _RECORDING,
        )


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    is_there: bool
    is_disabled: bool
    is_right: bool
    is_ours: bool
    is_superuser: bool
    is_manager: bool
    acting: list[str]
    acting_past_me: list[str]
    acting_past_owner: list[str]


@dataclass(frozen=True, slots=True)
class _OfOthers:
    name: str
    owner: str
    me: str


_RECORDING: Final = "svc_audit_ddl"
_TRIGGERS: Final = (
    # the first by name: what it captures is there when the statement is recorded
    _EventTrigger("svc_audit_capture", "ddl_command_end", "svc.audit_on_new", _NEW),
    _EventTrigger(_RECORDING, "ddl_command_end", "svc.audit_on_ddl", _TAGS),
    _EventTrigger("svc_audit_drop", "sql_drop", "svc.audit_on_drop"),
)
_OF_OTHERS: Final = """
select e.evtname::text as name, pg_get_userbyid(e.evtowner)::text as owner, current_user::text as me
  from pg_event_trigger e
 where e.evtname = any(%(names)s) and not pg_has_role(e.evtowner, 'USAGE')
 order by e.evtname
"""
DROP: Final = "\n".join(trigger.sql(is_wanted=False, has_shapes=False).strip() for trigger in _TRIGGERS)
"""Drop those that are there."""
NAMES: Final = tuple(trigger.name for trigger in _TRIGGERS)


def compare(conn: Connection[Any], *, is_wanted: bool, has_roles: bool) -> list[Status]:
    """The state of each, if it is wanted or there.

    One that this role may neither make nor drop is ``is_foreign``; so is one by which a role that can act as the owner
    of its function, with ``has_roles`` that is svc_owner, would get the rights of others. That one has no SQL.
    """
    params = {
        "names": list(NAMES),
        "events": [each.event for each in _TRIGGERS],
        "functions": [each.function for each in _TRIGGERS],
        "tags": ["{" + ",".join(f'"{tag}"' for tag in each.tags) + "}" for each in _TRIGGERS],
        "has_roles": has_roles,
        "managers": list(_MANAGERS),
    }
    found = fetch(conn, Query(_FOUND, params, _Found))
    states = [_state(each, is_wanted=is_wanted) for each in found]
    may_make = _may_make(conn, found[0]) if is_wanted and any(state != "ok" for state in states) else None
    return [
        _status(trigger, each, state, may_make=may_make)
        for trigger, each, state in zip(_TRIGGERS, found, states, strict=True)
        if is_wanted or each.is_there
    ]


def refuse_others(conn: Connection[Any]) -> None:
    """Raise InstallError if one is there that this role may not drop, which keeps our functions from being dropped."""
    found = fetch(conn, Query(_OF_OTHERS, {"names": list(NAMES)}, _OfOthers))
    if found:
        first = found[0]
        raise InstallError(
            f'event trigger {first.name} belongs to role "{first.owner}", and you are "{first.me}"',
            hint=f"Let {first.owner} or a superuser execute:"
            f" {' '.join(f'drop event trigger {each.name};' for each in found)}",
        )


def _may_make(conn: Connection[Any], found: _Found) -> bool | None:
    """None if that is not known, because nothing can be made in a transaction that reads only."""
    if found.is_superuser or not found.is_manager:
        return found.is_superuser
    try:
        with conn.transaction():
            conn.execute(_PROBE)
    except UndefinedFunction:
        return True
    except ReadOnlySqlTransaction:
        return None
    except (InsufficientPrivilege, InternalError, NotSupportedError):
        return False
    return False


def _status(trigger: _EventTrigger, found: _Found, state: State, *, may_make: bool | None) -> Status:
    sql = trigger.sql(is_wanted=state != "orphan")
    if state == "ok":
        return Status(KIND, trigger.name, state, sql, note=_danger(found.acting_past_owner))
    is_allowed = found.is_ours and may_make is not False
    danger = None if state == "orphan" else _danger(found.acting_past_me if is_allowed else found.acting)
    if danger:
        return Status(KIND, trigger.name, state, "", is_foreign=True, note=danger)
    return Status(KIND, trigger.name, state, sql, is_foreign=not is_allowed, note=None if is_allowed else LACKING)


def _danger(roles: list[str]) -> str | None:
    """The reason for which nobody with more rights should make one, if these roles can replace its function."""
    if not roles:
        return None
    more = f" and {len(roles) - _FEW} more" if len(roles) > _FEW else ""
    return (
        "its function would run in the DDL of every role, superusers too, and can be replaced by"
        f" {', '.join(roles[:_FEW])}{more}. The functions of svc must belong to a superuser, or to a role without"
        " login and without members"
    )


def _state(found: _Found, *, is_wanted: bool) -> State:
    if not is_wanted:
        return "orphan"
    if not found.is_there:
        return "missing"
    if found.is_disabled:
        return "disabled"
    return "ok" if found.is_right else "tampered"
