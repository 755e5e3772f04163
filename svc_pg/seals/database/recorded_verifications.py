"""The record of verifications in the database: written by roles that may, read for status and metrics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg import AsyncConnection, Connection

from svc_pg.database.effects import Effects
from svc_pg.database.query import Query, afetch, fetch
from svc_pg.seals.database.stored_seals import require_sealable
from svc_pg.status.last_verification import LAST_VERIFICATION, LastVerification

_MOST_KEYS: Final = 100

_MAY_RECORD: Final = """
select coalesce(has_function_privilege(to_regprocedure(
           'svc.audit_add_verification(int8, int8, int8, int8, integer, boolean, boolean, text[], int8, int8)'
       )::oid, 'execute'), false) and current_setting('transaction_read_only') = 'off' as is_allowed
"""
_RECORD: Final = "select svc.audit_add_verification(%s, %s, %s, %s, %s, %s, %s, %s::text[], %s, %s)::text as nothing"


@dataclass(frozen=True, slots=True)
class _Permission:
    is_allowed: bool


@dataclass(frozen=True, slots=True)
class _Nothing:
    nothing: str | None


def recording(
    *,
    entries: int,
    unsealed: int,
    findings: int,
    is_complete: bool,
    first_seal: int | None,
    last_seal: int | None,
    has_copies: bool,
    key_ids: Sequence[str],
    timestamps: int | None,
    unverified_timestamps: int,
) -> Effects[bool]:
    """Record a result, by its numbers, if the role and the database allow it; return whether they did."""
    [permission] = yield Query(_MAY_RECORD, (), _Permission)
    if not permission.is_allowed:
        return False
    counts = (entries, unsealed, findings, is_complete)
    keys = [*key_ids][:_MOST_KEYS]
    yield Query(
        _RECORD, (first_seal, last_seal, *counts, has_copies, keys, timestamps, unverified_timestamps), _Nothing
    )
    return True


def last_verification(conn: Connection[Any]) -> LastVerification | None:
    """The last recorded verification, if there is one. Raises NotInstalledError, and ConfigError elsewhere."""
    require_sealable(conn)
    return next(iter(fetch(conn, LAST_VERIFICATION)), None)


async def alast_verification(conn: AsyncConnection[Any]) -> LastVerification | None:
    """As ``last_verification``, on an async connection."""
    require_sealable(conn)
    return next(iter(await afetch(conn, LAST_VERIFICATION)), None)
