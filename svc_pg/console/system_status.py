"""The state of the system: versions, workers, sizes, and the time for which things are kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from psycopg import AsyncConnection

from svc_pg import __version__
from svc_pg.config import Config
from svc_pg.console.drift import Drift
from svc_pg.database.query import Query, afetch, afetch_one
from svc_pg.database.statements import statement
from svc_pg.status.horizon_holders import HorizonHolder, horizon_holders
from svc_pg.status.last_verification import LAST_VERIFICATION, LastVerification
from svc_pg.webhooks.traffic import backlog
from svc_pg.webhooks.traffic.backlog import Backlog

_FACTS: Final = statement("queries/console/system_facts.sql")
_SIZES: Final = statement("queries/console/table_sizes.sql")
_PROGRAMS: Final = statement("queries/console/programs.sql")
_LEASING: Final = """
select l.worker as name, count(*)::integer as in_flight, max(l.leased_at) as last_claim_at
  from (select worker, leased_at from svc.webhook_leases where lease_until > now() limit 10000) l
 group by l.worker order by l.worker limit 200
"""
_PROOF: Final = statement("queries/console/proof.sql")


@dataclass(frozen=True, slots=True)
class ProofStatus:
    """The last seal, whose members are None if nobody seals this log, and the number of legal holds, 1000 at most.

    ``unsealed_since`` is the time of the oldest entry without a seal, which no purge removes unless it is told to.
    """

    last_seal: int | None
    last_sealed_at: datetime | None
    key_id: str | None
    unsealed_since: datetime | None
    holds: int


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    """The versions and the size of the database, and its oldest entry and message."""

    schema_version: str
    postgres_version: str
    is_standby: bool
    database_bytes: int
    oldest_entry_at: datetime | None
    oldest_message_at: datetime | None


@dataclass(frozen=True, slots=True)
class TableSize:
    """The bytes of a table with its indexes, and the planner's estimate of its rows."""

    name: str
    bytes: int
    estimated_rows: int


@dataclass(frozen=True, slots=True)
class ConnectedProgram:
    """A worker by its ``name``, or the consoles of one address, with their connections.

    The times and the address are None if the console's role may not see them.
    """

    kind: Literal["worker", "console"]
    name: str | None
    address: str | None
    connections: int
    connected_at: datetime | None
    last_seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class BusyWorker:
    """A worker that has attempts under way."""

    name: str
    in_flight: int
    last_claim_at: datetime


@dataclass(frozen=True, slots=True)
class Retention:
    """The times for which things are kept; None means forever."""

    audit_entries: timedelta | None
    delivered: timedelta | None
    failed: timedelta | None


@dataclass(frozen=True, slots=True)
class SystemStatus:
    """The state of the system. ``drift`` is that of the last minute; the other facts are as they are now.

    ``verification`` is the last one of the audit log that was recorded.

    Workers are seen by their connections, 200 workers at most: one that polls through PgBouncer, or whose conninfo
    has an application_name, is not among ``programs``, but is a ``busy_worker`` while it delivers. The ``backlog``
    tells if any is seen.
    """

    version: str
    facts: DatabaseStatus
    sizes: Sequence[TableSize]
    programs: Sequence[ConnectedProgram]
    busy_workers: Sequence[BusyWorker]
    retention: Retention
    proof: ProofStatus
    verification: LastVerification | None
    horizon_holders: Sequence[HorizonHolder]
    drift: Drift
    backlog: Backlog


async def read_system_status(conn: AsyncConnection[Any], config: Config, drift: Drift) -> SystemStatus:
    """The state of the system now, with the drift that was found before."""
    days = config.audit.retention_days
    return SystemStatus(
        version=__version__,
        facts=await afetch_one(conn, Query(_FACTS, (), DatabaseStatus)),
        sizes=await afetch(conn, Query(_SIZES, (), TableSize)),
        programs=await afetch(conn, Query(_PROGRAMS, (), ConnectedProgram)),
        busy_workers=await afetch(conn, Query(_LEASING, (), BusyWorker)),
        retention=Retention(
            audit_entries=None if days is None else timedelta(days=days),
            delivered=config.webhooks.keep_delivered,
            failed=config.webhooks.keep_failed,
        ),
        proof=await afetch_one(conn, Query(_PROOF, (), ProofStatus)),
        verification=next(iter(await afetch(conn, LAST_VERIFICATION)), None),
        horizon_holders=await afetch(conn, horizon_holders()),
        drift=drift,
        backlog=await backlog.aread(conn),  # the last: its settings stay
    )
