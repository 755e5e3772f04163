"""The tables of svc-pg that are always audited, so that the log also records changes made in the console."""

from typing import Final

from svc_pg.capture.table import Table
from svc_pg.config import AuditedTable
from svc_pg.table_names import TableName

# Listed here, because their triggers are rendered before the migration that creates the table has run
OWN_TABLES: Final = [
    (
        Table(
            name=TableName("svc", "webhook_endpoints"),
            columns=[
                "id",
                "url",
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
            json_columns=[],
            key=["id"],
            virtual=[],
            unique=[["id"]],
            is_partitioned=False,
            partitions=[],
            parent=None,
        ),
        AuditedTable(
            name="svc.webhook_endpoints",
            redact=dict.fromkeys(
                ("secret", "previous_secret", "signing_key", "previous_signing_key", "headers", "tls"), "remove"
            ),
        ),
    ),
    (
        Table(
            name=TableName("svc", "console_sessions"),
            columns=[
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
            json_columns=[],
            key=["id"],
            virtual=[],
            unique=[["id"], ["token_hash"]],
            is_partitioned=False,
            partitions=[],
            parent=None,
        ),
        AuditedTable(name="svc.console_sessions", redact={"token_hash": "remove"}),
    ),
    (
        Table(
            name=TableName("svc", "console_tokens"),
            columns=[
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
            json_columns=[],
            key=["id"],
            virtual=[],
            unique=[["id"], ["token_hash"]],
            is_partitioned=False,
            partitions=[],
            parent=None,
        ),
        AuditedTable(name="svc.console_tokens", redact={"token_hash": "remove"}),
    ),
    (
        Table(
            name=TableName("svc", "tenants"),
            columns=["id", "name", "created_at", "updated_at"],
            json_columns=[],
            key=["id"],
            virtual=[],
            unique=[["id"], ["name"]],
            is_partitioned=False,
            partitions=[],
            parent=None,
        ),
        AuditedTable(name="svc.tenants"),
    ),
]
