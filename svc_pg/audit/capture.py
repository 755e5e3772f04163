"""Render the function and the triggers that record the changes of one table."""

from difflib import get_close_matches
from hashlib import sha256

from svc_pg.audit.tables import Table
from svc_pg.config import AuditedTable
from svc_pg.errors import ConfigError
from svc_pg.names import TableName
from svc_pg.objects import SchemaObject
from svc_pg.render import MAX_IDENTIFIER_BYTES, render

# 00: PostgreSQL fires triggers in the order of their names, and capture precedes the application's own
_TRIGGERS = {"write": "00_svc_audit_write", "update": "00_svc_audit_update", "truncate": "00_svc_audit_truncate"}


def capture_objects(table: Table, rules: AuditedTable) -> list[SchemaObject]:
    """The function, then its triggers. Raises ConfigError where a rule does not fit the table."""
    _check_redaction(table, rules)
    function = function_name(table.name)
    values = {
        "function": function,
        "table_name": str(table.name),
        "columns": sorted(table.columns),
        "key": table.key,
        "virtual": table.virtual,
        "redact": sorted(rules.redact),
    }
    blank = render("audit/capture_function.sql.j2", **values, template_hash="")
    body = render("audit/capture_function.sql.j2", **values, template_hash=sha256(blank.encode()).hexdigest())
    return [
        SchemaObject("function", f"svc.{function}", body, audited_table=str(table.name)),
        *(
            SchemaObject(
                "trigger",
                f"{trigger} on {table.name}",
                render(
                    "audit/capture_trigger.sql.j2",
                    trigger=trigger,
                    operation=operation,
                    table=tuple(table.name),
                    function=function,
                ),
                audited_table=str(table.name),
            )
            for operation, trigger in _TRIGGERS.items()
        ),
    ]


def function_name(table: TableName) -> str:
    """``capture_schema_table``; with a digest where that is too long or where the schema's end could not be told."""
    plain = f"capture_{table.schema}_{table.table}"
    if "_" not in table.schema and len(plain.encode()) <= MAX_IDENTIFIER_BYTES:
        return plain
    digest = sha256("\0".join(table).encode()).hexdigest()[:10]
    room = MAX_IDENTIFIER_BYTES - len(digest) - 1
    return f"{plain.encode()[:room].decode(errors='ignore')}_{digest}"


def _check_redaction(table: Table, rules: AuditedTable) -> None:
    for field in rules.redact:
        if field in table.key:
            raise ConfigError(
                f'table "{table.name}": redact names "{field}", which is part of the key',
                hint="The key is every entry's record_id. Audit the table under another key, or leave the column.",
            )
        if field not in table.columns:
            near = get_close_matches(field, table.columns, n=1)
            raise ConfigError(
                f'table "{table.name}": redact names "{field}", and there is no such column',
                hint=f'Did you mean "{near[0]}"?' if near else f"Columns: {', '.join(table.columns)}.",
            )
