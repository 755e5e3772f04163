"""Write entries about events outside audited tables, which no trigger sees."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from svc_pg.audit.log.entry import OPERATIONS, SEVERITIES
from svc_pg.audit.portable.entries import phrases_of
from svc_pg.audit.portable.statements import run
from svc_pg.audit.portable.written import write_entry
from svc_pg.config.audited_table import Severity
from svc_pg.database.connections import dbapi_connection
from svc_pg.database.dbapi import rows
from svc_pg.database.dialects import dialect_of
from svc_pg.database.query import RawJson
from svc_pg.database.storable_texts import is_storable_json, refuse_unstorable
from svc_pg.errors import QueryError, translating
from svc_pg.formats.exact_json import NotJsonError, write_ascii

_CAPTURE: Final = "select svc.capture_log(%s, %s, %s, %s::jsonb, %s::jsonb, %s, %s, %s, %s)::text"


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

    ``table_name`` may be any name that no audited table has or had, for example of a file, another system or a table on
    another server. The actor, tenant and context are those of the transaction. Nothing is redacted: pass only what may
    be recorded. Needs the right to execute ``svc.capture_log``, on MySQL the right to insert into ``svc.audit_logs``.
    Raises NotInstalledError, AccessError, on PostgreSQL ConflictError for the name of an audited table or of one of
    ``svc``, and QueryError for a text that cannot be stored, another operation than an entry has, or another severity.
    """
    for what, value, known in (("an operation", operation, OPERATIONS), ("a severity", severity, SEVERITIES)):
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
    conn = dbapi_connection(conn, twin="select svc.capture_log(...)")
    texts = _text(before), _text(after)
    if dialect_of(conn) != "postgresql":
        old, new = (None if text is None else RawJson(text).value for text in texts)
        entry = write_entry(
            phrases_of(conn),
            table_name,
            operation,
            record_id=record_id,
            before=old,
            after=new,
            label=label,
            severity=severity,
            compliance=compliance,
            description=description,
        )
        return run(conn, entry)
    values = (table_name, operation, record_id, *texts, label, severity)
    with translating():
        [[entry_id]] = rows(conn, _CAPTURE, (*values, list(compliance) or None, description))
    return str(entry_id)


def _text(snapshot: Mapping[str, Any] | None) -> str | None:
    try:
        text = None if snapshot is None else write_ascii(snapshot)
    except NotJsonError as error:
        raise QueryError(f"the snapshot is not JSON: {error.message}", hint=error.hint) from error
    if text is not None and not is_storable_json(text):
        raise QueryError("the snapshot contains NUL or a lone surrogate, which no JSON in PostgreSQL does")
    return text
