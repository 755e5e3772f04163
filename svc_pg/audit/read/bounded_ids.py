"""Ids of actors and tenants, and keys of records, as entries of PostgreSQL name them: as ``svc.audit_bounded``."""

from hashlib import sha256
from typing import Final

_MOST_BYTES: Final = 1000
_MOST_BYTES_OF_TENANTS: Final = 2048
_BEGINNING: Final = 100


def bounded(name: str) -> str:
    """The id or key; of one that is too long for an index, its beginning with its size and SHA-256."""
    text = name.encode()
    if len(text) <= _MOST_BYTES:
        return name
    return f"{name[:_BEGINNING]}... ({len(text)} bytes, sha256 {sha256(text).hexdigest()})"


def bounded_tenant(name: str) -> str:
    """As ``svc.audit_bounded_tenant``: any id that the Python API takes is as it is."""
    return name if len(name.encode()) <= _MOST_BYTES_OF_TENANTS else bounded(name)


def bounded_value(column: str, value: str) -> str:
    """The value of a column of the log as entries have it."""
    if column in ("actor_id", "record_id"):
        return bounded(value)
    return bounded_tenant(value) if column == "tenant_id" else value
