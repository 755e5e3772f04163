"""The queries of leaves: PostgreSQL makes them of the entries, in one statement for several seals."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from svc_pg.database.performing import ByRanges
from svc_pg.database.query import Query
from svc_pg.database.statements import statement
from svc_pg.seals.verification.seal import Stretch

_LOWEST: Final = -(2**63)
_LONGEST_TOMBSTONE: Final = 10_000

# The expressions of the functions of the same names, so that a replaced function does not change the verification
_UUID: Final = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ANONYMOUS_KEY: Final = """case when l.{column} operator(pg_catalog.~)
        '^(?:-?[0-9]+|{uuid}|[[](?:(?:-?[0-9]+|"-?[0-9]+"|"{uuid}"|null)(?:, )?)+[]])$' then l.{column} end"""
WHO: Final = """pg_catalog.json_build_array(
        2, l.xact_id, l.table_name, l.table_oid, l.operation, {record_id}, {moved_from}, l.actor_id, l.tenant_id,
        l.db_user, l.db_role, l.changed_fields, l.label, l.severity, l.compliance,
        l.partition
    )::pg_catalog.text""".replace(
    "{record_id}", _ANONYMOUS_KEY.replace("{column}", "record_id").replace("{uuid}", _UUID)
).replace("{moved_from}", _ANONYMOUS_KEY.replace("{column}", "moved_from").replace("{uuid}", _UUID))
"""The first part of an entry, which an erasure keeps: actor, operation and record. As svc.audit_first_part."""
CONTENT: Final = """pg_catalog.json_build_array(
        l.record_id, l.moved_from, l.before_data, l.after_data, l.description, l.redacted_fields, l.context,
        pg_catalog.encode(l.erased_leaf, 'hex')
    )::pg_catalog.text"""
"""The second part, which an erasure replaces. As svc.audit_content."""
CONTENT_DIGEST: Final = """case when pg_catalog.length(l.erased_leaf) operator(pg_catalog.>) 0 then l.erased_leaf
        else pg_catalog.sha256(pg_catalog.convert_to({content}, 'UTF8')) end""".replace("{content}", CONTENT)
"""The digest of the second part when it was sealed."""
DIGEST: Final = """pg_catalog.sha256(
        pg_catalog.sha256(pg_catalog.convert_to({who}, 'UTF8')) operator(pg_catalog.||) {content_digest}
    )""".replace("{who}", WHO).replace("{content_digest}", CONTENT_DIGEST)
"""The digest of an entry, as svc.audit_leaf."""
LEAF: Final = (
    'pg_catalog.int8send(l.id) operator(pg_catalog.||) pg_catalog.timestamptz_send(l."timestamp")'
    " operator(pg_catalog.||) " + DIGEST
)
"""The expression of a leaf."""

_IN_STRETCH: Final = """(%(from_xact_id)s::bigint is null or l.xact_id >= %(from_xact_id)s)
       and (%(until_xact_id)s::bigint is null or l.xact_id < %(until_xact_id)s)
       and (%(after_id)s::bigint is null or l.id > %(after_id)s)
       and (%(until_id)s::bigint is null or l.id <= %(until_id)s)
       and (%(began_at)s::timestamptz is null or l."timestamp" >= %(began_at)s)
       and (%(ended_at)s::timestamptz is null or l."timestamp" < %(ended_at)s)"""
_COUNT: Final = """
select min(l.id) as lowest_id, count(*) as entries, clock_timestamp() as at from svc.audit_logs l where {in_stretch}
""".replace("{in_stretch}", _IN_STRETCH)
_LEAVES: Final = (
    statement("queries/seals/leaves.sql")
    .replace("{leaf}", LEAF)
    .replace("{content}", CONTENT)
    .replace("{longest}", str(_LONGEST_TOMBSTONE))
    .replace("{in_stretch}", _IN_STRETCH)
)


@dataclass(frozen=True, slots=True)
class FoundLeaves:
    """The leaves of one of several stretches, the first at position 1.

    ``erased`` has the id and the second part of each erased entry.
    """

    position: int
    leaves: bytes
    erased: list[list[str]] | None


@dataclass(frozen=True, slots=True)
class Count:
    """The number of entries in a stretch, the lowest id of one, and the time at which they were counted."""

    lowest_id: int | None
    entries: int
    at: datetime


def leaves_of(stretches: Sequence[Stretch], *, ended_at: datetime | None) -> ByRanges[FoundLeaves]:
    """The query of the leaves of stretches of one epoch that follow each other, or of one; their order is by id.

    ``ended_at`` is the time at which the next epoch began.
    """
    first, last = stretches[0], stretches[-1]
    whole = replace(first, until_xact_id=last.until_xact_id)
    # entries before the second are in the first
    starts = [_LOWEST, *(stretch.from_xact_id for stretch in stretches[1:])]
    parameters = _parameters(whole, ended_at) | {"from_xact_ids": starts}
    return ByRanges(Query(_LEAVES, parameters, FoundLeaves))


def count_of(stretch: Stretch, *, ended_at: datetime | None) -> ByRanges[Count]:
    """The query of the number of entries in a stretch."""
    return ByRanges(Query(_COUNT, _parameters(stretch, ended_at), Count))


def _parameters(stretch: Stretch, ended_at: datetime | None) -> dict[str, object]:
    """The parameters of the conditions on the entries of a stretch."""
    return {
        "from_xact_id": stretch.from_xact_id,
        "until_xact_id": stretch.until_xact_id,
        "after_id": stretch.after_id,
        "until_id": stretch.until_id,
        "began_at": stretch.epoch_began_at,
        "ended_at": ended_at,
    }
