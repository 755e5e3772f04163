"""The names of svc-pg's own tables in a SQLite database, which has no schemas."""

from typing import Final

OWN_TABLES: Final = frozenset(
    {
        "svc_audit_hash_key",
        "svc_audit_logs",
        "svc_audit_omissions",
        "svc_audit_purge",
        "svc_audit_replaced",
        "svc_installation",
        "svc_installed_objects",
        "svc_migrations",
    }
)
