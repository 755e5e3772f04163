"""The state of the system: versions, workers, sizes, and the time for which things are kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal

from psycopg import AsyncConnection

from svc_pg import __version__
from svc_pg.config import Config
from svc_pg.console.status.drift import Drift
from svc_pg.database.query import Query, afetch, afetch_one
from svc_pg.database.sql_products import is_table_of_webhooks
from svc_pg.database.statements import statement
from svc_pg.formats.doc import Doc
from svc_pg.status.horizon_holders import HorizonHolder, horizon_holders
from svc_pg.status.last_verification import LAST_VERIFICATION, LastVerification
from svc_pg.status.seal_destinations import SealDestination, seal_destinations
from svc_pg.status.webhooks_installed import with_webhooks
from svc_pg.webhooks.traffic import backlog
from svc_pg.webhooks.traffic.backlog import Backlog

_FACTS: Final = statement("queries/console/system_facts.sql")
_SIZES: Final = statement("queries/console/table_sizes.sql")
_PROGRAMS: Final = statement("queries/console/programs.sql")
_LEASING: Final = """
select l.worker as name, count(*)::integer as in_flight, max(l.leased_at) as last_claim_at
  from (select w.worker, w.leased_at from svc.webhook_leases w where w.lease_until > now() limit 10000) l
 group by l.worker order by l.worker limit 200
"""
_PROOF: Final = statement("queries/console/proof.sql")


@dataclass(frozen=True, slots=True)
class ProofStatus:
    """The last seal, and the legal holds."""

    last_seal: Annotated[int | None, Doc("The number of the last seal; null if nobody seals this log.", 9)]
    last_sealed_at: Annotated[datetime | None, Doc("The time of the last seal; null without one.")]
    key_id: Annotated[str | None, Doc("The id of the key that signed it; null without one.", "2026-01")]
    unsealed_since: Annotated[
        datetime | None,
        Doc(
            "The time of the oldest entry without a seal, which no purge removes unless it is told to; null if all"
            " have one."
        ),
    ]
    holds: Annotated[int, Doc("The number of legal holds, 1,000 at most.", 0)]


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    """The versions and the size of the database, and its oldest entry and message."""

    schema_version: Annotated[str, Doc("The version of svc-pg that installed the schema.", "0.1.0")]
    postgres_version: Annotated[str, Doc("The version of the server.", "18.4")]
    is_standby: Annotated[bool, Doc("True if the server is a standby.")]
    database_bytes: Annotated[int, Doc("The size of the database.", 81264640)]
    oldest_entry_at: Annotated[datetime | None, Doc("The time of the oldest entry; null if there is none.")]
    oldest_message_at: Annotated[datetime | None, Doc("The time of the oldest message; null if there is none.")]


@dataclass(frozen=True, slots=True)
class TableSize:
    """The size of a table."""

    name: Annotated[str, Doc("The name of the table.", "svc.audit_logs")]
    bytes: Annotated[int, Doc("Its bytes with its indexes.", 40960)]
    estimated_rows: Annotated[int, Doc("The planner's estimate of its rows.", 1200)]


@dataclass(frozen=True, slots=True)
class ConnectedProgram:
    """A worker, or the consoles of one address, with their connections."""

    kind: Annotated[Literal["worker", "console"], Doc("The kind of the program.")]
    name: Annotated[str | None, Doc("The name of the worker; null for consoles.", "worker-1")]
    address: Annotated[
        str | None,
        Doc("The address that it connects from; null if the role of the console may not see it.", "10.0.0.7"),
    ]
    connections: Annotated[int, Doc("The number of its connections.", 3)]
    connected_at: Annotated[datetime | None, Doc("The time of its oldest connection; null if the role may not see it.")]
    last_seen_at: Annotated[
        datetime | None, Doc("The time at which one of them last changed its state; null if the role may not see it.")
    ]


@dataclass(frozen=True, slots=True)
class BusyWorker:
    """A worker that has attempts under way."""

    name: Annotated[str, Doc("The name of the worker.", "worker-1")]
    in_flight: Annotated[int, Doc("The number of its attempts under way.", 4)]
    last_claim_at: Annotated[datetime, Doc("The time at which it last took deliveries.")]


@dataclass(frozen=True, slots=True)
class Retention:
    """The times for which things are kept."""

    audit_entries: Annotated[
        timedelta | None, Doc("The time for which entries are kept; null means forever.", 31536000.0)
    ]
    delivered: Annotated[
        timedelta | None, Doc("The time for which delivered messages are kept; null means forever.", 2592000.0)
    ]
    failed: Annotated[timedelta | None, Doc("The time for which failed ones are kept; null means forever.", 7776000.0)]


@dataclass(frozen=True, slots=True)
class SystemStatus:
    """The state of the system.

    Workers are seen by their connections: one that polls through PgBouncer, or whose conninfo has an application_name,
    is not among ``programs``, but is one of ``busy_workers`` while it delivers.
    """

    version: Annotated[str, Doc("The version of svc-pg.", "0.1.0")]
    facts: Annotated[DatabaseStatus, Doc("The database.")]
    sizes: Annotated[Sequence[TableSize], Doc("The sizes of its tables.")]
    programs: Annotated[
        Sequence[ConnectedProgram], Doc("The workers and consoles that are connected, 200 workers at most.")
    ]
    busy_workers: Annotated[Sequence[BusyWorker], Doc("The workers that have attempts under way.")]
    retention: Annotated[Retention, Doc("The times for which things are kept.")]
    proof: Annotated[ProofStatus, Doc("The seals of the log, and its legal holds.")]
    seal_destinations: Annotated[
        Sequence[SealDestination],
        Doc("The places outside of the database to which copies of the seals go, 100 at most."),
    ]
    verification: Annotated[
        LastVerification | None, Doc("The last verification of the audit log that was recorded; null if there is none.")
    ]
    horizon_holders: Annotated[
        Sequence[HorizonHolder], Doc("The sessions, slots and prepared transactions that hold others up.")
    ]
    drift: Annotated[Drift, Doc("The differences from the configuration, as of the last minute.")]
    backlog: Annotated[Backlog, Doc("The state of the queue of deliveries; without webhooks it is empty.")]


async def read_system_status(
    conn: AsyncConnection[Any], config: Config, drift: Drift, *, has_webhooks: bool
) -> SystemStatus:
    """The state of the system now, with the drift that was found before."""
    days = config.audit.retention_days
    sizes = await afetch(conn, Query(_SIZES, (), TableSize))
    return SystemStatus(
        version=__version__,
        facts=await afetch_one(conn, Query(with_webhooks(_FACTS, has_webhooks=has_webhooks), (), DatabaseStatus)),
        sizes=[size for size in sizes if has_webhooks or not is_table_of_webhooks(size.name)],
        programs=await afetch(conn, Query(_PROGRAMS, (), ConnectedProgram)),
        busy_workers=await afetch(conn, Query(with_webhooks(_LEASING, has_webhooks=has_webhooks), (), BusyWorker)),
        retention=Retention(
            audit_entries=None if days is None else timedelta(days=days),
            delivered=config.webhooks.keep_delivered,
            failed=config.webhooks.keep_failed,
        ),
        proof=await afetch_one(conn, Query(_PROOF, (), ProofStatus)),
        seal_destinations=await afetch(conn, seal_destinations(has_webhooks=has_webhooks)),
        verification=next(iter(await afetch(conn, LAST_VERIFICATION)), None),
        horizon_holders=await afetch(conn, horizon_holders()),
        drift=drift,
        backlog=await backlog.aread(conn) if has_webhooks else backlog.EMPTY,  # the last: its settings stay
    )
