"""Notice triggers of the log that were disabled, dropped or replaced, and keep when they were last seen right."""

import json
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final

from psycopg import Connection
from psycopg.errors import InsufficientPrivilege

from svc_pg.audit.past.silences import MORE
from svc_pg.config import Config
from svc_pg.database.query import Query, fetch, fetch_one, scalar
from svc_pg.errors import SvcError
from svc_pg.formats.plurals import counted
from svc_pg.schema.postgres.watched import watched
from svc_pg.schema.status import Status
from svc_pg.status.installed_products import audit_installed
from svc_pg.status.last_runs import LONGEST_PROBLEM, note_failure

_log = logging.getLogger(__name__)

MOST: Final = 200
"""The most objects that are told apart: of more, those that are known already, then the first by name."""
_MOST_TABLES: Final = 50
_MOST_FACTS: Final = 50
"""The most objects that one entry tells of."""
_LONGEST_IDENTITY: Final = 400  # three quoted names fit
_LOG: Final = "svc.audit_logs"
_DDL: Final = "event triggers"
"""Stands among what is known once the event triggers were right: before, they may be missing for lack of a right."""

_STATE: Final = "select succeeded_at, position from svc.maintenance where task = 'capture'"
_RECORDED: Final = "select identity from svc.installed_objects"
_ADD: Final = "select svc.audit_add_silence(%s, %s::jsonb, %s, %s)"
_NOTE: Final = """
insert into svc.maintenance as m (task, position, findings, succeeded_at)
values ('capture', %s, %s, case when %s then clock_timestamp() end)
    on conflict (task) do update set position = excluded.position, findings = excluded.findings, problem = null,
       succeeded_at = coalesce(excluded.succeeded_at, m.succeeded_at)
"""
_IS_CAPTURED: Final = """
select exists (select from svc.installed_objects
                where kind = 'trigger' and identity ^@ '00_svc_audit_' and not audited_table ^@ 'svc.')
"""
_FORGET: Final = "delete from svc.maintenance where task = 'capture' returning succeeded_at, position"
_COMPARE: Final = """
update svc.maintenance set position = null, succeeded_at = null
 where task = 'reconciliation' and succeeded_at is not null
"""


@dataclass(frozen=True, slots=True, order=True)
class _Silence:
    table: str
    identity: str
    state: str


@dataclass(frozen=True, slots=True)
class _State:
    succeeded_at: datetime | None = None
    position: str | None = None

    @property
    def known(self) -> dict[str, str]:
        """The tables of the objects that were not right at the last look, by identity."""
        known: dict[str, str] = json.loads(self.position) if self.position else {}
        return known

    @property
    def seen(self) -> str:
        """When all was last seen right."""
        return "never" if self.succeeded_at is None else self.succeeded_at.astimezone(UTC).isoformat()


def watch_capture(conn: Connection[Any], config: Config) -> str | None:
    """Look whether the triggers that record, guard and watch are right, and record in the log if that has changed.

    An entry has when they were last seen right. All tables are compared anew after a change, if ``config`` compares
    them on schedule and has compared them since the change before: whoever makes changes all the time delays nothing.
    What the role may not see, or a configuration that does not fit the tables, is noted as a problem. If no table is
    audited, nothing is right or wrong: then the task is forgotten, and its silences are over.
    """
    if not (has_audit := fetch_one(conn, audit_installed())) or not config.audit.tables:
        _forget(conn, has_audit=has_audit)
        return None
    try:
        entries = watched(conn, config)
    except (SvcError, InsufficientPrivilege) as error:
        _log.warning("whether the triggers of the audit log are right is not known: %s", error)
        note_failure(conn, "capture", str(error))
        return None
    with conn.transaction():
        state = next(iter(fetch(conn, Query(_STATE, (), _State))), _State())
        recorded = {identity for (identity,) in conn.execute(_RECORDED)}
        silent = sorted(_silences(entries, recorded, saw_ddl=_DDL in state.known))
        found = sorted(sorted(silent, key=lambda each: each.identity not in state.known)[:MOST])
        if len(silent) > MOST:
            found.append(_Silence(_LOG, MORE, "not right"))
        now = {each.identity: each.table for each in found}
        new = [each for each in found if each.identity not in state.known]
        wrong = {each.identity for each in [*silent, *found]} | {_DDL}
        over = _over(state, wrong)
        for changed, is_over in ((new, False), (over, True)):
            _record(conn, changed, state.seen, is_over=is_over)
        if (new or over) and config.audit.reconcile is not None:
            conn.execute(_COMPARE)
        if _DDL in state.known or any(each.kind == "event trigger" and each.state == "ok" for each in entries):
            now[_DDL] = ""
        words = "; ".join(f"{each.identity}: {each.state}" for each in found)[:LONGEST_PROBLEM]
        conn.execute(_NOTE, (json.dumps(now), words or None, not found))
    for each in new:
        _log.warning("the log may lack changes: %s is %s; svc-pg status tells more", each.identity, each.state)
    return f"{counted(len(over), 'trigger')} right again" if over else None


def forget_capture(conn: Connection[Any], _: Config) -> None:
    """Forget the task in a copy of the log, where no trigger writes it."""
    conn.execute(_FORGET)


def _forget(conn: Connection[Any], *, has_audit: bool) -> None:
    """Forget the task, but not if tables are audited that this configuration does not name: then nobody looks."""
    with conn.transaction():
        if has_audit and scalar(conn, _IS_CAPTURED):
            return
        for state in fetch(conn, Query(_FORGET, (), _State)):
            if has_audit:
                _record(conn, _over(state, {_DDL}), state.seen, is_over=True)


def _over(state: _State, wrong: Collection[str]) -> list[_Silence]:
    return sorted(
        _Silence(table, identity, "right again") for identity, table in state.known.items() if identity not in wrong
    )


def _silences(entries: Sequence[Status], recorded: Collection[str], *, saw_ddl: bool) -> list[_Silence]:
    return [
        _Silence(each.audited_table or _LOG, each.identity, each.state)
        for each in entries
        if is_silence(each, recorded, saw_ddl=saw_ddl)
    ]


def is_silence(entry: Status, recorded: Collection[str], *, saw_ddl: bool) -> bool:
    """True if the state may have let changes of tables, of the log or by DDL go unrecorded, since an install."""
    is_altered = entry.state in ("disabled", "missing", "tampered")
    if entry.kind == "trigger":
        return entry.state == "disabled" or (is_altered and entry.identity in recorded)
    if entry.kind == "function":
        return entry.state == "tampered" and entry.audited_table is not None
    if entry.kind == "event trigger":
        return is_altered and saw_ddl
    if entry.kind == "partition":
        return entry.state in ("disabled", "tampered")
    if entry.kind == "gap":
        return ": trigger " in entry.identity or ": function " in entry.identity
    return entry.kind == "setting"


def _record(conn: Connection[Any], changed: Sequence[_Silence], seen: str, *, is_over: bool) -> None:
    """Add entries for each of 50 tables, and of the log for those of more tables, 50 objects in each."""
    by_table = [list(group) for _, group in groupby(changed, key=lambda each: each.table)]
    told = by_table[:_MOST_TABLES]
    told.append([_told_of_log(each) for group in by_table[_MOST_TABLES:] for each in group])
    for group in told:
        for at in range(0, len(group), _MOST_FACTS):
            part = group[at : at + _MOST_FACTS]
            facts = {each.identity[:_LONGEST_IDENTITY]: each.state for each in part} | {"last seen right": seen}
            words = "; ".join(f"{each.identity} is {each.state}" for each in part)
            conn.execute(_ADD, (part[0].table, json.dumps(facts), f"last seen right: {seen}; {words}"[:1000], is_over))


def _told_of_log(each: _Silence) -> _Silence:
    """The object of a table in an entry of the log: it begins with the table's name, as gaps do."""
    is_named = each.table == _LOG or each.identity.startswith(f"{each.table}: ")
    return _Silence(_LOG, each.identity if is_named else f"{each.table}: {each.identity}", each.state)
