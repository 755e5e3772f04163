"""Write entries about events that no trigger sees."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from svc_pg.audit.log.audit_log import log_of
from svc_pg.audit.log.entry import OPERATIONS, SEVERITIES
from svc_pg.audit.log.manual_entry import ManualEntry
from svc_pg.config.audited_table import Severity
from svc_pg.database.connections import dbapi_connection
from svc_pg.database.query import RawJson
from svc_pg.database.storable_texts import is_storable_json, refuse_unstorable
from svc_pg.errors import QueryError
from svc_pg.formats.json_errors import NotJsonError
from svc_pg.formats.json_writer import write_ascii

_OPERATIONS: Final = tuple(operation for operation in OPERATIONS if operation not in ("GONE", "DDL", "READ"))
"""The operations of such an entry: a comparison finds a record gone, an event trigger records DDL, and what reads the
log READ."""


def capture_log(
    conn: Any,
    table_name: str,
    operation: str,
    *,
    record_id: str | None = None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    label: str | None = None,
    severity: Severity | None = None,
    compliance: Sequence[str] = (),
    description: str | None = None,
) -> str:
    """Write an entry in the caller's transaction, and return its id.

    ``table_name`` is a name without a dot, for example of a kind of files or of another system: names with a dot
    are those of tables, whose entries only triggers write. The actor, tenant and context are those of the
    transaction. Nothing is redacted: pass only what may be recorded. Needs the right to execute
    ``svc.capture_log``, on MySQL the right to insert into ``svc.audit_logs``. Raises NotInstalledError,
    AccessError, on PostgreSQL ConflictError for a name with a dot, and QueryError for a text that cannot be stored,
    another operation than an entry has, or another severity.
    """
    for what, value, known in (("an operation", operation, _OPERATIONS), ("a severity", severity, SEVERITIES)):
        if value is not None and value not in known:
            raise QueryError(f"{value!r} is not {what}", hint=f"Write one of {', '.join(known)}.")
    if isinstance(compliance, str):
        raise QueryError(f"compliance is a list of tags, not the text {compliance!r}")
    refuse_unstorable(
        table_name=table_name,
        operation=operation,
        record_id=record_id,
        label=label,
        severity=severity,
        compliance="".join(compliance),
        description=description,
    )
    log = log_of(dbapi_connection(conn, twin="select svc.capture_log(...)"))
    entry = ManualEntry(
        table_name,
        operation,
        record_id=record_id,
        before=_json(before),
        after=_json(after),
        label=label,
        severity=severity,
        compliance=compliance,
        description=description,
    )
    return log.run(log.write_entry(entry))


def _json(snapshot: Mapping[str, Any] | None) -> RawJson | None:
    try:
        text = None if snapshot is None else write_ascii(snapshot)
    except NotJsonError as error:
        raise QueryError(f"the snapshot is not JSON: {error.message}", hint=error.hint) from error
    if text is not None and not is_storable_json(text):
        raise QueryError("the snapshot contains NUL or a lone surrogate, which no JSON in PostgreSQL does")
    return None if text is None else RawJson(text)
