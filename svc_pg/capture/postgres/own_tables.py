"""The tables of svc-pg that are always audited, so that the log also records changes made in the console."""

from collections.abc import Iterable
from typing import Final

from svc_pg.capture.table import Table
from svc_pg.config import AuditedTable
from svc_pg.database.table_names import TableName


def _own(
    name: str, columns: list[str], *, unique: Iterable[str] = (), removed: Iterable[str] = ()
) -> tuple[Table, AuditedTable]:
    """A table of ours, whose key is ``id``; ``removed`` are the columns whose values are not recorded."""
    table = Table(
        name=TableName("svc", name),
        columns=columns,
        json_columns=[],
        key=["id"],
        virtual=[],
        unique=[["id"], *([column] for column in unique)],
        is_partitioned=False,
        partitions=[],
        parent=None,
    )
    return table, AuditedTable(name=f"svc.{name}", redact=dict.fromkeys(removed, "remove"))


# Listed here, because their triggers are rendered before the migration that creates the table has run
OWN_TABLES: Final = [
    _own(
        "webhook_endpoints",
        [
            "id",
            "url",
            "url_by",
            "description",
            "tenant",
            "events",
            "filter",
            "ordering",
            "signatures",
            "secret",
            "previous_secret",
            "previous_secret_expires_at",
            "signing_key",
            "previous_signing_key",
            "public_key",
            "headers",
            "tls",
            "client_certificate_expires_at",
            "status",
            "disabled_reason",
            "max_in_flight",
            "rate_per_second",
            "timeout",
            "version",
            "created_at",
            "updated_at",
        ],
        removed=["secret", "previous_secret", "signing_key", "previous_signing_key", "headers", "tls"],
    ),
    _own(
        "console_sessions",
        [
            "id",
            "email",
            "permission",
            "tenant",
            "token_hash",
            "ip",
            "user_agent",
            "created_at",
            "expires_at",
            "idle_timeout",
            "revoked_at",
            "revoked_by",
        ],
        unique=["token_hash"],
        removed=["token_hash"],
    ),
    _own(
        "console_tokens",
        [
            "id",
            "name",
            "permission",
            "tenant",
            "token_hash",
            "created_at",
            "created_by",
            "expires_at",
            "revoked_at",
            "revoked_by",
        ],
        unique=["token_hash"],
        removed=["token_hash"],
    ),
    _own(
        "audit_holds",
        [
            "id",
            "table_name",
            "record_id",
            "reason",
            "held_at",
            "held_by",
            "lifted_at",
            "lifted_by",
            "lift_reason",
        ],
    ),
    _own(
        "tenants",
        ["id", "name", "created_at", "updated_at"],
        unique=["name"],
    ),
]
