"""The answers of the API, made of docs/openapi.json by tests/support/client_source.py."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import Field

from svc_pg.client.answers import Answer

__all__ = [
    "ApiToken",
    "AuditSeal",
    "AuditStats",
    "Backlog",
    "BreakerStep",
    "BulkResult",
    "BusyWorker",
    "Capabilities",
    "CaptureRules",
    "CapturedTable",
    "CausedDeliveries",
    "Certificate",
    "CertifiedEntry",
    "ChangeCount",
    "ClaimedSession",
    "ConnectedProgram",
    "ConsoleEvent",
    "CoverageCounts",
    "CoveredTable",
    "CreatedPortalLink",
    "CreatedToken",
    "DatabaseStatus",
    "DayCount",
    "Delivery",
    "DeliveryAttempt",
    "DeliveryDetail",
    "DeliveryPost",
    "DeliveryReason",
    "Drift",
    "Endpoint",
    "EndpointActivity",
    "EndpointHealth",
    "EndpointOutage",
    "EndpointStats",
    "EndpointWithSecret",
    "EnrichmentRule",
    "Entry",
    "EntryCount",
    "EntryDiff",
    "EntrySeal",
    "EventType",
    "Facet",
    "Facets",
    "FieldDiff",
    "FieldOrigin",
    "FilterValue",
    "FilterValues",
    "Health",
    "Hold",
    "HorizonHolder",
    "HttpHeader",
    "KnownValues",
    "LastVerification",
    "LoggedTransaction",
    "Message",
    "MessageWithDeliveries",
    "NamedView",
    "OpenedPortalSession",
    "OutageAnswer",
    "OutageAttempt",
    "PastRow",
    "PendingCounts",
    "PendingPortalLink",
    "PendingPortalLinks",
    "PendingSignIn",
    "PortalLink",
    "ProofStatus",
    "PurgeReport",
    "QueueState",
    "ReadinessReport",
    "ReconciledTables",
    "RecordRead",
    "RecordState",
    "RecordTracks",
    "RecordedComparison",
    "RegisteredEndpoint",
    "RelatedChange",
    "RelatedField",
    "RelatedHistory",
    "RelatedRecord",
    "RelatedState",
    "RelatedStates",
    "RelatedTable",
    "ReplayResult",
    "Retention",
    "Revert",
    "SchemaDifference",
    "SealDestination",
    "SealPublicKey",
    "SealPublicKeys",
    "SearchKey",
    "SentEvent",
    "Session",
    "SessionRecord",
    "SignInState",
    "Silence",
    "StateField",
    "StatusCount",
    "Suggestion",
    "Suggestions",
    "SystemStatus",
    "TableSize",
    "Tenant",
    "TenantUse",
    "TenantUses",
    "Tick",
    "TimeCount",
    "TimedTrafficBucket",
    "Track",
    "TrackActor",
    "TrackChange",
    "TrackValue",
    "Traffic",
    "TrafficBucket",
    "TriedMessage",
    "UnlistedTenants",
    "Verified",
]


class Health(Answer):
    """The console answers; the database is not asked."""

    status: str
    """The state of the console. One of ok; later versions may have others."""


class ReadinessReport(Answer):
    """The console answers, and reads its tables."""

    status: str
    """The state of the console. One of ready; later versions may have others."""


class Capabilities(Answer):
    """The products, the ways to sign in, and the permissions."""

    products: Sequence[str]
    """The ids of the products."""
    auth_methods: Sequence[str]
    """The ways to sign in."""
    permissions: Sequence[str]
    """The permissions, from the least to the greatest."""
    api_version: int
    """The version of the API, which changes if an older client would fail."""


class OpenedPortalSession(Answer):
    """A session of the portal's pages, which opens nothing else."""

    portal_token: str = Field(repr=False)
    """The token of the session, for the portal's pages."""
    tenant: str
    """The tenant whose webhooks it may manage."""
    expires_in: int
    """The seconds for which it lasts."""


class PendingSignIn(Answer):
    """A sign-in, the same for every address."""

    method: str
    """The way of signing in. One of auto_approve, magic_link; later versions may have others."""
    session_id: str
    """The id of the sign-in."""
    device_token: str = Field(repr=False)
    """The token that binds the sign-in to this device, which is shown only here."""
    expires_in: int
    """The seconds for which it lasts."""
    interval: int
    """The seconds to wait before the next question for its state."""


class Verified(Answer):
    """The code was right."""

    status: str
    """The state of the sign-in. One of verified; later versions may have others."""
    claim_expires_in: int
    """The seconds for which the session can be claimed."""


class SignInState(Answer):
    """The state of a sign-in."""

    status: str
    """The state of the sign-in. One of pending, verified, claimed, locked, expired; later versions may have others."""
    interval: int
    """The seconds to wait before the next question for its state."""
    expires_in: int
    """The seconds for which it lasts."""


class ClaimedSession(Answer):
    """A session of a sign-in that was claimed."""

    status: str
    """The state of the sign-in. One of claimed; later versions may have others."""
    session_token: str = Field(repr=False)
    """The token of the session, which is shown only here."""
    token_type: str
    """The way of sending it: ``Authorization: Bearer``. One of Bearer; later versions may have others."""
    expires_in: int
    """The seconds for which it lasts."""
    known_device: str
    """For the next sign-in of this device, for 90 days; it opens nothing by itself."""


class Session(Answer):
    """The person who makes a request, and their permissions.

    A session with a ``tenant`` reaches only the routes that serve tenants, and there only what is that tenant's.
    """

    session_id: str
    """The id of the session."""
    email: str
    """The address of its person, or the name of its program."""
    permissions: Sequence[str]
    """The permissions that it has."""
    expires_at: datetime
    """The time of its end."""
    tenant: str | None
    """The only tenant that it reaches; None if it reaches all."""


class SessionRecord(Answer):
    """A session as administrators and its own person see it. It is live until it is revoked or expires."""

    session_id: str
    """The id of the session."""
    email: str
    """The address of its person."""
    permission: str
    """The greatest permission of it; each includes those before it. One of read, write, admin; later versions may have
    others.
    """
    tenant: str | None
    """The only tenant that it reaches; None if it reaches all."""
    ip: str | None
    """The address from which it was begun; None if it is not known."""
    user_agent: str | None
    """The browser from which it was begun; None if it is not known."""
    created_at: datetime
    """The time at which it was made."""
    last_used_at: datetime | None
    """The time of its last use, to the minute; None if it was not used."""
    expires_at: datetime
    """The time of its end, which comes earlier if it is not used any more."""
    revoked_at: datetime | None
    """The time at which somebody revoked it; None if nobody did."""
    revoked_by: str | None
    """The actor who revoked it; None if nobody did."""


class ApiToken(Answer):
    """A token of a program, as administrators see it. It is live until it is revoked or expires."""

    id: str
    """The id of the token."""
    name: str
    """Its name; the actor of its changes is ``token:name``."""
    permission: str
    """The greatest permission of it; each includes those before it. One of read, write, admin; later versions may have
    others.
    """
    tenant: str | None
    """The only tenant that it reaches; None if it reaches all."""
    created_at: datetime
    """The time at which it was made."""
    created_by: str
    """The actor who made it."""
    expires_at: datetime
    """The time of its end, unless it is revoked before."""
    last_used_at: datetime | None
    """The time of its last use, to the minute; None if it was not used."""
    revoked_at: datetime | None
    """The time at which somebody revoked it; None if nobody did."""
    revoked_by: str | None
    """The actor who revoked it; None if nobody did."""


class CreatedToken(Answer):
    """A token that was just made."""

    id: str
    """The id of the token."""
    name: str
    """Its name; the actor of its changes is ``token:name``."""
    permission: str
    """The greatest permission of it; each includes those before it. One of read, write, admin; later versions may have
    others.
    """
    tenant: str | None
    """The only tenant that it reaches; None if it reaches all."""
    created_at: datetime
    """The time at which it was made."""
    created_by: str
    """The actor who made it."""
    expires_at: datetime
    """The time of its end, unless it is revoked before."""
    last_used_at: datetime | None
    """The time of its last use, to the minute; None if it was not used."""
    revoked_at: datetime | None
    """The time at which somebody revoked it; None if nobody did."""
    revoked_by: str | None
    """The actor who revoked it; None if nobody did."""
    token: str = Field(repr=False)
    """The token itself, which is shown only here: ``Authorization: Bearer`` carries it."""
    is_new_tenant: bool
    """True if nothing else in the database is of the tenant, whose name may be misspelt."""


class NamedView(Answer):
    """A question under a name."""

    id: str
    """The id of the view."""
    of: str
    """The list of which it is a question. One of audit, deliveries, messages, endpoints; later versions may have
    others.
    """
    name: str
    """Its name."""
    question: str
    """The question, as the bar of the list takes it."""
    is_of_team: bool
    """True if it is the team's; else it is the person's own, and nobody else sees it."""
    created_at: datetime
    """The time at which it was made."""
    created_by: str
    """The actor who made it."""
    updated_at: datetime
    """The time of its last change."""
    updated_by: str
    """The actor who made the last change."""
    problem: str | None
    """A sentence on why the question can be read no longer; None if it can."""


class ConsoleEvent(Answer):
    """One event of the console."""

    id: str
    """The id of the event."""
    occurred_at: datetime
    """The time of the event."""
    event: str
    """The kind of the event. One of link_requested, mail_failed, code_rejected, link_locked, code_accepted, signed_in,
    session_revoked, log_exported, call_refused, link_made, token_added, token_revoked, portal_link_made,
    portal_link_revoked, portal_opened, view_added, view_changed, view_deleted; later versions may have others.
    """
    session_id: str | None
    """The session that it is about; None if it is about none."""
    email: str
    """The person or the actor."""
    ip: str | None
    """The address of the client; None if it is not known."""
    user_agent: str | None
    """The browser; None if it is not known."""
    detail: str | None
    """The other facts; None if there are none."""


class DatabaseStatus(Answer):
    """The versions and the size of the database, and its oldest entry and message."""

    schema_version: str
    """The version of svc-pg that installed the schema."""
    postgres_version: str
    """The version of the server."""
    is_standby: bool
    """True if the server is a standby."""
    database_bytes: int
    """The size of the database."""
    oldest_entry_at: datetime | None
    """The time of the oldest entry; None if there is none."""
    oldest_message_at: datetime | None
    """The time of the oldest message; None if there is none."""


class TableSize(Answer):
    """The size of a table."""

    name: str
    """The name of the table."""
    bytes: int
    """Its bytes with its indexes."""
    estimated_rows: int
    """The planner's estimate of its rows."""


class ConnectedProgram(Answer):
    """A worker, or the consoles of one address, with their connections."""

    kind: str
    """The kind of the program. One of worker, console; later versions may have others."""
    name: str | None
    """The name of the worker; None for consoles."""
    address: str | None
    """The address that it connects from; None if the role of the console may not see it."""
    connections: int
    """The number of its connections."""
    connected_at: datetime | None
    """The time of its oldest connection; None if the role may not see it."""
    last_seen_at: datetime | None
    """The time at which one of them last changed its state; None if the role may not see it."""


class BusyWorker(Answer):
    """A worker that has attempts under way."""

    name: str
    """The name of the worker."""
    in_flight: int
    """The number of its attempts under way."""
    last_claim_at: datetime
    """The time at which it last took deliveries."""


class Retention(Answer):
    """The times for which things are kept."""

    audit_entries: float | None
    """The time for which entries are kept; None means forever."""
    delivered: float | None
    """The time for which delivered messages are kept; None means forever."""
    failed: float | None
    """The time for which failed ones are kept; None means forever."""


class ProofStatus(Answer):
    """The last seal, and the legal holds."""

    last_seal: int | None
    """The number of the last seal; None if nobody seals this log."""
    last_sealed_at: datetime | None
    """The time of the last seal; None without one."""
    key_id: str | None
    """The id of the key that signed it; None without one."""
    unsealed_since: datetime | None
    """The time of the oldest entry without a seal, which no purge removes unless it is told to; None if all have one.
    """
    holds: int
    """The number of legal holds, 1,000 at most."""


class SealDestination(Answer):
    """A place outside of the database to which copies of the seals go."""

    kind: str
    """Copies in a file or a folder, an endpoint of webhooks that gets the event audit.sealed, or an authority that
    gives timestamps. One of copies, endpoint, timestamps; later versions may have others.
    """
    name: str
    """Its path, its host, or the host and the id of the endpoint."""
    last_seal: int | None
    """The last seal that is there, or has a timestamp; None if none."""
    waiting: int
    """The number of seals that it lacks; of an endpoint among the last thousand."""
    copied_at: datetime | None
    """The time at which all seals were last there; None if never."""
    problem: str | None
    """The error since then; None if there is none."""


class LastVerification(Answer):
    """The last recorded verification, with the result that its program reported."""

    verified_at: datetime
    """The time at which it ended."""
    age: float
    """The time since then. In seconds."""
    first_seal: int | None
    """The first seal that it compared; None if there was none."""
    last_seal: int | None
    """The last one; None if there was none."""
    entries: int
    """The number of entries that were as they were sealed."""
    unsealed: int
    """The number of entries without a seal."""
    findings: int
    """The number of differences; 0 if all was as it was sealed."""
    is_complete: bool
    """False if many findings ended it early."""
    has_copies: bool
    """True if it also compared copies that were kept outside."""
    keys: Sequence[str]
    """The ids of the public keys with which it verified."""
    verified_by: str
    """The actor who verified, or else the role."""
    timestamps: int | None
    """The number of good timestamps of seals; None if it verified none."""
    unverified_timestamps: int
    """The number of timestamps that it left unverified, for lack of the authority's certificates."""


class HorizonHolder(Answer):
    """A session, a prepared transaction or a slot that holds others up."""

    kind: str
    """The kind of it; of a hidden session a role without pg_read_all_stats sees no more. One of session, prepared,
    slot, hidden; later versions may have others.
    """
    pid: int | None
    """The process of the session, or of the reader of the slot; None if there is none."""
    name: str
    """The application of the session, or the name of the slot or the prepared transaction."""
    database: str | None
    """Its database; None if it has none."""
    user: str | None
    """Its role; None if it has none."""
    state: str | None
    """The state of the session or of the slot; None for others."""
    seconds: float | None
    """The age of its transaction; None if it is not known."""
    transactions: int
    """The number of transactions begun since its own."""
    holds_log: bool
    """True if exports, seals and followers of the log wait for it; otherwise only vacuum does."""


class SchemaDifference(Answer):
    """An object that differs from the configuration."""

    kind: str
    """The kind of the object."""
    identity: str
    """The name of the object."""
    state: str
    """Its state. One of ok, missing, outdated, tampered, disabled, incomplete, orphan; later versions may have others.
    """
    audited_table: str | None
    """The table whose changes it records or sends; None if it belongs to none."""


class Drift(Answer):
    """The differences between the database and its configuration."""

    checked_at: datetime
    """The time of the comparison."""
    objects: int
    """The number of objects that were compared."""
    count: int
    """The number of differences."""
    differences: Sequence[SchemaDifference]
    """The first 200 of them."""
    guards: int
    """The number of differing guards: triggers and functions that refuse changes of entries and seals."""
    problem: str | None
    """The reason if they could not be found; else None."""


class Backlog(Answer):
    """The endpoints by state, the age of due deliveries, and the transactions that hold readers up."""

    oldest_due_seconds: float
    """The age of the oldest due delivery that could start now, because its endpoint has room and has not reached its
    rate. The time before its endpoint was resumed, before its breaker closed, and during a wait that its receiver asked
    for does not count. Only the first 1,000 endpoints with pending deliveries count.
    """
    active: int
    """The number of active endpoints."""
    paused: int
    """The number of paused ones."""
    disabled: int
    """The number of disabled ones."""
    failing: int
    """The number of active endpoints whose last attempt failed."""
    open_breakers: int
    """The number of those with an open circuit breaker."""
    ending_certificates: int
    """The number of active endpoints whose client certificate ends within 30 days."""
    oldest_snapshot_transactions: int
    """The number of transactions begun since the oldest held snapshot, in any database."""
    unsettled_transactions: int
    """The number of transactions begun since the oldest running transaction, in any database: readers of the log stop
    there.
    """
    is_worker_seen: bool
    """True if a worker is connected or delivers; always true on a standby."""
    needs_attention: bool
    """True if a delivery is due for more than a minute and no worker is seen, or for more than 15 minutes."""


class SystemStatus(Answer):
    """The state of the system.

    Workers are seen by their connections: one that polls through PgBouncer, or whose conninfo has an application_name,
    is not among ``programs``, but is one of ``busy_workers`` while it delivers.
    """

    version: str
    """The version of svc-pg."""
    facts: DatabaseStatus
    """The database."""
    sizes: Sequence[TableSize]
    """The sizes of its tables."""
    programs: Sequence[ConnectedProgram]
    """The workers and consoles that are connected, 200 workers at most."""
    busy_workers: Sequence[BusyWorker]
    """The workers that have attempts under way."""
    retention: Retention
    """The times for which things are kept."""
    proof: ProofStatus
    """The seals of the log, and its legal holds."""
    seal_destinations: Sequence[SealDestination]
    """The places outside of the database to which copies of the seals go, 100 at most."""
    verification: LastVerification | None
    """The last verification of the audit log that was recorded; None if there is none."""
    horizon_holders: Sequence[HorizonHolder]
    """The sessions, slots and prepared transactions that hold others up."""
    drift: Drift
    """The differences from the configuration, as of the last minute."""
    backlog: Backlog
    """The state of the queue of deliveries; without webhooks it is empty."""


class Suggestion(Answer):
    """A thing, or an action on one. Its page has a form or asks first: the address alone changes nothing."""

    kind: str
    """The kind of the thing; ``action`` for something to do. One of entry, transaction, record, table, actor, request,
    endpoint, event_type, tenant, view, page, action; later versions may have others.
    """
    label: str
    """Its name, or the action in words."""
    about: str
    """A note, or an empty text."""
    address: str
    """The path of the page of the console, below the console."""


class Suggestions(Answer):
    """Suggestions for a text, the surest first."""

    data: Sequence[Suggestion]
    """The suggestions: up to 40."""
    remarks: Sequence[str]
    """The looks that reached their bound, in words."""


class Entry(Answer):
    """One change of one record.

    On PostgreSQL every entry has a ``db_user`` and an ``xact_id``. SQLite knows neither, and MySQL no ``xact_id``.
    """

    id: str
    """The id of the entry in the audit log."""
    timestamp: datetime
    """The time of the entry."""
    table_name: str
    """The table, with its schema."""
    operation: str | None = None
    """The kind of the change. SNAPSHOT is a row that was there when capture began. GONE, a record that only the log
    had, and a SNAPSHOT labelled ``found by ...``, a row that the log lacked or knew otherwise, were found by a
    comparison: nobody knows who made the change and when. DDL is a statement that changed the table itself, such as
    ALTER TABLE: the label is its tag, and before and after have what differs, such as ``column email``. READ tells who
    read records of the table that is its record: after has their keys. One of INSERT, UPDATE, DELETE, TRUNCATE,
    SNAPSHOT, GONE, DDL, READ; later versions may have others.
    """
    record_id: str | None = None
    """The key of the record, of several columns as a JSON array; None without a key."""
    actor_id: str | None = None
    """The actor, as the application set it; None if it set none."""
    tenant_id: str | None = None
    """The tenant, as the application set it; None if it set none."""
    db_user: str | None = None
    """The role that connected to PostgreSQL; None on databases that do not tell."""
    db_role: str | None = None
    """The role that was set (set role); None if none was."""
    before_data: Any = None
    """The row before the change, without redacted values; None if there was none."""
    after_data: Any = None
    """The row after the change, without redacted values; None if there is none."""
    changed_fields: Sequence[str] | None = None
    """The fields that differ; None unless it is an UPDATE, or a SNAPSHOT of a row that differed."""
    label: str | None = None
    """The name that a rule gives the change; None if none does."""
    severity: str | None = None
    """The weight that a rule gives the change; None if none does."""
    compliance: Sequence[str] | None = None
    """The tags of compliance that a rule gives the change; None if none does."""
    description: str | None = None
    """The change in a sentence, as a rule says; None if none does."""
    redacted_fields: Sequence[str] | None = None
    """The fields whose values are left out or disguised; None if none is."""
    context: Any = None
    """Facts about the request, as the application set them; None if it set none."""
    xact_id: str | None = None
    """The transaction: entries and webhook messages of one transaction have the same."""
    partition: str | None = None
    """The partition that held the row, or that a TRUNCATE emptied; None for a table without partitions. A TRUNCATE with
    None emptied the whole table.
    """


class ChangeCount(Answer):
    """Entries of one transaction about one table."""

    operation: str
    """The kind of the change. SNAPSHOT is a row that was there when capture began. GONE, a record that only the log
    had, and a SNAPSHOT labelled ``found by ...``, a row that the log lacked or knew otherwise, were found by a
    comparison: nobody knows who made the change and when. DDL is a statement that changed the table itself, such as
    ALTER TABLE: the label is its tag, and before and after have what differs, such as ``column email``. READ tells who
    read records of the table that is its record: after has their keys. One of INSERT, UPDATE, DELETE, TRUNCATE,
    SNAPSHOT, GONE, DDL, READ; later versions may have others.
    """
    table_name: str
    """The table, with its schema."""
    count: int
    """The number of entries."""


class LoggedTransaction(Answer):
    """The changes of one transaction, as far as its entries are on one page."""

    xact_id: str
    """The transaction: entries and webhook messages of one transaction have the same."""
    timestamp: datetime
    """The time of its newest entry on this page."""
    entries: Sequence[Entry]
    """The first of its entries on this page, 10 at most with the gravest one, in their order."""
    changes: Sequence[ChangeCount]
    """Its entries on this page by operation and table."""
    count: int
    """The number of its entries on this page, 100 at most."""
    is_complete: bool
    """False if it has, or may have, more entries on this page."""


class RecordState(Answer):
    """A state of a record, and the entry that recorded it: a DELETE, GONE, or an UPDATE of the key, ends the record."""

    valid_from: datetime
    """The time from which the record was so."""
    valid_to: datetime | None
    """The time until which it was so; None for the state of now. Equal to ``valid_from`` if the entry ended the record.
    """
    operation: str
    """The kind of the change. SNAPSHOT is a row that was there when capture began. GONE, a record that only the log
    had, and a SNAPSHOT labelled ``found by ...``, a row that the log lacked or knew otherwise, were found by a
    comparison: nobody knows who made the change and when. DDL is a statement that changed the table itself, such as
    ALTER TABLE: the label is its tag, and before and after have what differs, such as ``column email``. READ tells who
    read records of the table that is its record: after has their keys. One of INSERT, UPDATE, DELETE, TRUNCATE,
    SNAPSHOT, GONE, DDL, READ; later versions may have others.
    """
    actor_id: str | None
    """The actor, as the application set it; None if it set none."""
    tenant_id: str | None
    """The tenant, as the application set it; None if it set none."""
    db_user: str
    """The role that connected to PostgreSQL; None on databases that do not tell."""
    entry_id: str
    """The id of the entry in the audit log."""
    xact_id: str
    """The transaction: entries and webhook messages of one transaction have the same."""
    before_data: Any
    """The row before the change, without redacted values; None if there was none."""
    after_data: Any
    """The row after the change, without redacted values; None if there is none."""
    changed_fields: Sequence[str] | None
    """The fields that differ; None unless it is an UPDATE, or a SNAPSHOT of a row that differed."""
    redacted_fields: Sequence[str] | None
    """The fields whose values are left out or disguised; None if none is."""
    moved_from: str | None
    """The key that the record had before, if the entry gave it another; else None."""
    moved_to: str | None
    """The key that the record got, if the entry ended it by giving it another; else None."""
    is_in_order: bool
    """False if the images of a transaction do not follow each other, and its states are in the order in which they were
    written; or if the rules of the table left out changes between this state and the one before, which then ended
    earlier.
    """
    is_found: bool
    """True if a comparison with the table found the change, so that nobody knows its actor and time."""
    place_id: str
    """Orders states of one time."""


class FieldOrigin(Answer):
    """A field of a record as it is now, and the entry that last changed it.

    Without an entry the change is unknown, or lies before ``unchanged_since``. The operation SNAPSHOT means that the
    field had this value when capture began, or when a comparison of the table with the log found it: then it
    ``is_found``, and actor and time are not known.
    """

    field: str
    """The name of the field."""
    value: Any
    """Its present value."""
    is_redacted: bool
    """True if the log has no value of it, or a disguised one."""
    entry_id: str | None
    """The id of the entry in the audit log."""
    changed_at: datetime | None
    """The time of that entry; None if there is none."""
    operation: str | None
    """The kind of the change. SNAPSHOT is a row that was there when capture began. GONE, a record that only the log
    had, and a SNAPSHOT labelled ``found by ...``, a row that the log lacked or knew otherwise, were found by a
    comparison: nobody knows who made the change and when. DDL is a statement that changed the table itself, such as
    ALTER TABLE: the label is its tag, and before and after have what differs, such as ``column email``. READ tells who
    read records of the table that is its record: after has their keys.
    """
    actor_id: str | None
    """The actor, as the application set it; None if it set none."""
    db_user: str | None
    """The role that connected to PostgreSQL; None on databases that do not tell."""
    xact_id: str | None
    """The transaction: entries and webhook messages of one transaction have the same."""
    is_found: bool
    """True if a comparison with the table found the change, so that nobody knows its actor and time."""
    known_since: datetime | None
    """The time since which the log has the field under this name, if no entry has changed it; None if no entry has it.
    """
    unchanged_since: datetime | None
    """The time since which no entry has changed the field, if the answer ended before it had found one that did: the
    next page goes on with these fields; else None.
    """


class PastRow(Answer):
    """A row as it was. The change that left it so is None if it was before the first entry of the row."""

    record_id: str
    """The key of the record, of several columns as a JSON array; None without a key."""
    valid_from: datetime | None
    """The time from which the row was so; None if it was before the first entry of the row."""
    operation: str | None
    """The kind of the change. SNAPSHOT is a row that was there when capture began. GONE, a record that only the log
    had, and a SNAPSHOT labelled ``found by ...``, a row that the log lacked or knew otherwise, were found by a
    comparison: nobody knows who made the change and when. DDL is a statement that changed the table itself, such as
    ALTER TABLE: the label is its tag, and before and after have what differs, such as ``column email``. READ tells who
    read records of the table that is its record: after has their keys.
    """
    actor_id: str | None
    """The actor, as the application set it; None if it set none."""
    tenant_id: str | None
    """The tenant, as the application set it; None if it set none."""
    db_user: str | None
    """The role that connected to PostgreSQL; None on databases that do not tell."""
    entry_id: str | None
    """The id of the entry in the audit log."""
    xact_id: str | None
    """The transaction: entries and webhook messages of one transaction have the same."""
    redacted_fields: Sequence[str] | None
    """The fields whose values are left out or disguised; None if none is."""
    unknown_fields: Sequence[str] | None
    """The columns whose value then is unknown, because the column is newer, was redacted, or has changed its type;
    their value is None.
    """
    other_data: Any
    """Recorded values without a column: of renamed or dropped columns, values that do not fit the present type, and the
    markers of redacted ones.
    """
    values: Mapping[str, Any]
    """The columns that the table has now, each with a value of its type."""


class Silence(Answer):
    """A time in which changes of a table may have gone unrecorded, as maintenance found.

    All was right at ``since``, which is None if it never was, and again at ``until``, which is None if it is not yet.
    """

    since: datetime | None
    """The last time at which all was right; None if it never was."""
    until: datetime | None
    """The time since which all is right again; None if it is not yet."""


class TrackActor(Answer):
    """Somebody who made changes of a page: an actor, or, if no actor was set, a role of the database."""

    actor_id: str | None
    """The actor, as the application set it; None if it set none."""
    db_user: str
    """The role that connected to PostgreSQL; None on databases that do not tell."""
    is_found: bool
    """True if a comparison with the table found the change, so that nobody knows its actor and time."""
    changes: int
    """The number of their changes on this page."""


class TrackChange(Answer):
    """A change of the record."""

    entry_id: str
    """The id of the entry in the audit log."""
    xact_id: str
    """The transaction: entries and webhook messages of one transaction have the same."""
    time: datetime
    """The time of the change; of one that was found, the time of the comparison."""
    until: datetime | None
    """The time until which the record was so; None for the state of now. Not the time of the next change if its table
    was emptied, or its rules left changes out.
    """
    operation: str
    """The kind of the change. SNAPSHOT is a row that was there when capture began. GONE, a record that only the log
    had, and a SNAPSHOT labelled ``found by ...``, a row that the log lacked or knew otherwise, were found by a
    comparison: nobody knows who made the change and when. DDL is a statement that changed the table itself, such as
    ALTER TABLE: the label is its tag, and before and after have what differs, such as ``column email``. READ tells who
    read records of the table that is its record: after has their keys. One of INSERT, UPDATE, DELETE, TRUNCATE,
    SNAPSHOT, GONE, DDL, READ; later versions may have others.
    """
    actor: int
    """The position of its actor in ``actors``, from 0."""
    field_count: int
    """The number of fields that it changed."""
    ends: bool
    """True if the record was not there after it, or had another key."""
    is_erased: bool
    """True if the values of the entry were erased."""
    is_in_order: bool
    """False if changes between it and the one before may be missing."""
    moved_from: str | None
    """The key that the record had before, if it got another one."""
    moved_to: str | None
    """The key that the record got, if it got another one."""


class TrackValue(Answer):
    """A value of a field."""

    state: str
    """``known``; ``long`` if only its beginning is here; ``not_there`` if the record or its field was not there;
    ``hidden`` if it was redacted or erased, or is nested too deeply to be read. One of known, long, not_there, hidden;
    later versions may have others.
    """
    value: Any
    """The value, if it is known; None may also be the value itself."""
    beginning: str | None
    """The first 200 characters of a long value: of a text, or of the JSON."""
    digest: str | None
    """The beginning of the SHA-256 of a long value's JSON: equal ones are the same value."""


class Tick(Answer):
    """A change of a field."""

    change: int
    """The position of the change in ``changes``, from 0."""
    before: TrackValue
    """The value before it, which other changes than those shown may have set."""
    after: TrackValue
    """The value that the field got."""


class Track(Answer):
    """A field that changed, and its values."""

    field: str
    """The name of the field."""
    ticks: Sequence[Tick]
    """Its changes, the oldest first."""


class RecordTracks(Answer):
    """Some changes of a record in the order of change, the oldest first, and a track for each field that changed.

    A field that has its first value only, or that only ended with the record, has no track.
    """

    actors: Sequence[TrackActor]
    """Those who made the changes, in the order of their first one here."""
    changes: Sequence[TrackChange]
    """The changes, the oldest first."""
    fields: Sequence[Track]
    """Up to 40 tracks, those with most ticks first: from ``fields_from`` on."""
    field_count: int
    """The number of all fields that have a track."""
    unchanged_fields: int
    """The number of other fields of the newest of these states."""
    next_cursor: str | None
    """The cursor for older changes; None if there are none."""
    prev_cursor: str | None
    """That for newer changes; None if there are none."""


class RelatedTable(Answer):
    """A foreign key by which rows refer to the record, or to rows that do."""

    table: str
    """The table, with its schema."""
    columns: Sequence[str]
    """The columns that refer."""
    refers_to: str
    """The table to which they refer."""
    step: int
    """1 if its rows refer to the record, 2 if they refer to rows that do."""
    reach: str
    """``whole`` if all of its entries were looked at, or found by an index; ``newest`` if only those since ``back_to``;
    ``not_audited``; ``not_looked_at`` if it is one table too many, has too many columns, or if nothing that it could
    refer to was found. One of whole, newest, not_audited, not_looked_at; later versions may have others.
    """
    looked_at: int | None
    """The number of entries looked at; None if that is not told."""
    back_to: datetime | None
    """The time of the oldest entry looked at; None if all were, or that is not told."""
    unnamed: int | None
    """The number of entries among them that do not tell the columns: redacted, not recorded, or of another name then;
    None if that is not told.
    """
    has_more: bool
    """True if it may refer to more records than were looked for, or has more entries."""


class RelatedRecord(Answer):
    """The record itself, or one that referred to it."""

    table: str
    """The table, with its schema."""
    record_id: str
    """The key of the record, of several columns as a JSON array; None without a key."""
    step: int
    """0 for the record itself, 1 if it referred to that, 2 if it referred to one of those."""
    changes: int
    """The number of its changes in this answer."""


class RelatedField(Answer):
    """A field that a change set."""

    field: str
    """The name of the field."""
    before: TrackValue
    """The value before it."""
    after: TrackValue
    """The value after it."""


class RelatedChange(Answer):
    """A change of one of the records, or of a row without a key."""

    entry_id: str
    """The id of the entry in the audit log."""
    xact_id: str
    """The transaction: entries and webhook messages of one transaction have the same."""
    time: datetime
    """The time of the change; of one that was found, the time of the comparison."""
    table: str
    """The table, with its schema."""
    record_id: str | None
    """The key of the record, of several columns as a JSON array; None without a key."""
    step: int
    """The step of its record."""
    operation: str
    """The kind of the change. SNAPSHOT is a row that was there when capture began. GONE, a record that only the log
    had, and a SNAPSHOT labelled ``found by ...``, a row that the log lacked or knew otherwise, were found by a
    comparison: nobody knows who made the change and when. DDL is a statement that changed the table itself, such as
    ALTER TABLE: the label is its tag, and before and after have what differs, such as ``column email``. READ tells who
    read records of the table that is its record: after has their keys. One of INSERT, UPDATE, DELETE, TRUNCATE,
    SNAPSHOT, GONE, DDL, READ; later versions may have others.
    """
    actor: int
    """The position of its actor in ``actors``, from 0."""
    fields: Sequence[RelatedField]
    """The first fields that it changed."""
    field_count: int
    """The number of all of them."""
    joins: bool
    """True if its row began to refer to the record, or to one that does, by this change."""
    leaves: bool
    """True if its row no longer referred to it after this change, and was still there."""
    is_erased: bool
    """True if the values of the entry were erased."""


class StateField(Answer):
    """A field of a record at a time."""

    field: str
    """The name of the field."""
    value: TrackValue
    """Its value."""


class RelatedState(Answer):
    """A record at a time."""

    record: int
    """The position of the record in ``records``, from 0."""
    state: str
    """``there``; ``not_there``; ``not_known`` if the log does not know its table then, or has no states. One of there,
    not_there, not_known; later versions may have others.
    """
    belongs: bool
    """True of the record itself, and of one that then referred to it, or to one that did."""
    fields: Sequence[StateField]
    """Its first fields."""
    field_count: int
    """The number of all of them."""


class RelatedStates(Answer):
    """The records at one time."""

    time: datetime
    """The time."""
    states: Sequence[RelatedState]
    """The state of each record."""


class RelatedHistory(Answer):
    """The changes of a record and of the rows that referred to it then, newest first."""

    tables: Sequence[RelatedTable]
    """The foreign keys, and how far the entries of each were looked at."""
    actors: Sequence[TrackActor]
    """Those who made the changes."""
    records: Sequence[RelatedRecord]
    """The records, the one asked about first, then those with the newest changes."""
    record_count: int
    """The number of all records that were found."""
    changes: Sequence[RelatedChange]
    """The changes, the newest first."""
    states: Sequence[RelatedStates]
    """The states of the records at the times asked for."""
    next_cursor: str | None
    """The cursor for what is further back; None if there is nothing. Changes of tables that were looked at further than
    others come again.
    """


class RecordRead(Answer):
    """One answer, page or file that showed records of a table, and who got it."""

    entry_id: str
    """The id of the entry in the audit log."""
    timestamp: datetime
    """The time of the read."""
    actor_id: str | None
    """The actor, as the application set it; None if it set none."""
    tenant_id: str | None
    """The tenant, as the application set it; None if it set none."""
    db_user: str
    """The role that connected to PostgreSQL; None on databases that do not tell."""
    through: str
    """The way: page or api of the console, command, python, export of a file, or admin of Django."""
    records: int | None
    """The number of records that were shown; None of a file, which may have any."""
    is_certain: bool
    """True if the record that was asked for was shown; false if it may have been, as one of a file."""
    question: Any
    """The question, without values of searches."""
    context: Any
    """Facts about the request, as the console sets them."""


class FieldDiff(Answer):
    """A field that differs."""

    field: str
    """The name of the field."""
    before: Any
    """Its value before; None if the field was not there, or was None (in Python a Snapshot of None)."""
    after: Any
    """Its value after, written in the same way."""
    is_redacted: bool
    """True if the field changed, but the log has no value of it, or a disguised one."""


class EntryDiff(Answer):
    """The fields that an entry changed, and a JSON Patch."""

    fields: Sequence[FieldDiff]
    """The fields that it changed."""
    patch: Any
    """The JSON Patch (RFC 6902) from the snapshot before to the one after; it changes nothing of redacted fields."""


class Revert(Answer):
    """The SQL that takes a change back."""

    sql: str
    """One statement, which compares the rows with the log before and after."""


class AuditSeal(Answer):
    """A seal of the audit log."""

    number: int
    """The number of the seal."""
    entries: int
    """The number of entries that it seals."""
    sealed_at: datetime
    """The time at which it was made."""
    key_id: str
    """The id of the key that signed it."""
    text: str
    """The text that is signed, for a copy outside; it has no data of the entries."""
    signature: str
    """The signature (Ed25519) of the text."""


class EntrySeal(Answer):
    """The seal of an entry."""

    seal: AuditSeal | None
    """The seal; None if the entry has none yet."""
    has_seals: bool
    """False if nobody seals this log."""


class Hold(Answer):
    """A legal hold of a record, or of a whole table: its entries are neither removed nor erased while it holds."""

    id: str
    """The number of the hold."""
    table_name: str
    """The table, with its schema."""
    record_id: str | None
    """The key of the record that is held; None if the whole table is."""
    reason: str
    """The reason for the hold."""
    held_at: datetime
    """The time at which it was placed."""
    held_by: str
    """The actor who placed it, or else the role."""
    lifted_at: datetime | None
    """The time at which it was lifted; None while it holds."""
    lifted_by: str | None
    """The actor who lifted it, or else the role; None while it holds."""
    lift_reason: str | None
    """The reason for lifting it; None while it holds."""
    connected: int
    """The number of other records that it keeps because they refer to this one, as of the last purge or erasure, or of
    the hold itself.
    """


class SealPublicKey(Answer):
    """A public key that verifies seals."""

    key_id: str
    """The id of the key, which its seals name."""
    public_key: str
    """Its 32 bytes in base64 (Ed25519)."""
    fingerprint: str
    """The SHA-256 of these bytes, in hexadecimal."""


class SealPublicKeys(Answer):
    """The public keys that the console knows. Compare them with a copy from elsewhere before you trust them."""

    keys: Sequence[SealPublicKey]
    """The keys; empty if its settings have none."""


class CertifiedEntry(Answer):
    """An entry of a certificate, and what proves it."""

    id: str
    """The id of the entry."""
    state: str
    """``sealed`` if the entry leads to the root of its seal, whose signature is left to you. ``changed`` if its seal
    has another leaf with this id, ``missing`` if it has none. With ``leaves_changed``, the leaves that the database
    keeps lead to another root. ``erased_unproven`` if its contents were erased, and what is left does not name the
    record of the certificate. One of sealed, not_sealed, changed, missing, leaves_changed, erased_unproven; later
    versions may have others.
    """
    place: int | None
    """Its place among the entries of its seal, counted from 0; None if it has none."""
    sealed_leaf: str | None
    """The 48 bytes of the leaf that was sealed, in hexadecimal, if the entry is ``changed``; else None."""
    proof: Any
    """The proof, as ``svc-pg prove`` prints it; None if it is ``not_sealed``, or two rows of the log have its id."""


class Certificate(Answer):
    """Entries with their proofs, which the verifier in one file verifies with the public key alone."""

    kind: str
    """The kind of the file. One of svc-pg audit certificate; later versions may have others."""
    version: int
    """Its version."""
    subject: str
    """The thing that it is about. One of entry, record, erasure; later versions may have others."""
    table: str | None
    """The table of the record; None unless it is about one."""
    record: str | None
    """The key of the record; None unless it is about one."""
    digest: str | None
    """The root of the hash tree (RFC 9162) over the leaves of its ``sealed`` entries in their order; of one entry its
    lowest node. Null if no entry is sealed.
    """
    entries: Sequence[CertifiedEntry]
    """The entries, the newest first; of an erasure the entry that tells of it, then those that it erased."""
    is_complete: bool
    """False if there are more entries than these, which are 20 at most, of 5 seals and 4 MiB of contents."""


class TimeCount(Answer):
    """The number of entries in a minute, an hour or a day."""

    at: datetime
    """The beginning of the minute, hour or day."""
    entries: int
    """The number of entries in it."""


class EntryCount(Answer):
    """The number of entries with a value."""

    value: str | None
    """The value; None stands for entries without one."""
    entries: int
    """The number of entries with it."""


class AuditStats(Answer):
    """Counts of entries by time and by value."""

    entries: int
    """The number of entries."""
    since: datetime | None
    """The time of the oldest entry that was counted; None if there is none."""
    is_complete: bool
    """False if only entries from ``since`` on were counted."""
    is_estimate: bool
    """True if the numbers were computed from a sample of the range."""
    bucket: str
    """The unit of ``times``. One of minute, hour, day; later versions may have others."""
    times: Sequence[TimeCount]
    """The newest 1,500 buckets that have entries, in UTC, oldest first."""
    tables: Sequence[EntryCount]
    """The tables with the most entries, 20 at most."""
    actors: Sequence[EntryCount]
    """The actors with the most entries, 20 at most."""
    operations: Sequence[EntryCount]
    """The operations."""
    severities: Sequence[EntryCount]
    """The severities."""


class Facet(Answer):
    """A filter, and the values that it can have."""

    name: str
    """The name of the filter, as a parameter of the list has it."""
    values: Sequence[EntryCount]
    """Its values with the most entries, 20 at most."""


class Facets(Answer):
    """Counts of entries by the values of each filter, and by time."""

    entries: int
    """The number of entries that were counted."""
    since: datetime | None
    """The time of the oldest entry that was counted; None if there is none."""
    is_complete: bool
    """False if there are older entries, which were not counted."""
    facets: Sequence[Facet]
    """The filters that were to be counted."""
    bucket: str
    """The unit of ``times``. One of minute, hour, day; later versions may have others."""
    times: Sequence[TimeCount]
    """The newest 1,500 buckets that have entries, in UTC, oldest first."""


class KnownValues(Answer):
    """Values of a filter that have a text in them, the ones that begin with it first."""

    values: Sequence[str]
    """Values with the text in them, 10 at most, those that begin with it first."""
    looked_at: str
    """``log`` if all entries were looked at; ``beginnings`` if the log has too many values, so that of all entries only
    those values were found that begin with the text; ``newest`` if only the newest 10,000 entries were looked at: for a
    session of one tenant, or a filter without an index. One of log, beginnings, newest; later versions may have others.
    """


class EnrichmentRule(Answer):
    """A rule of enrichment, for the entries that it applies to."""

    operation: str
    """The operation of the entries; ``*`` stands for any. One of INSERT, UPDATE, DELETE, TRUNCATE, ``*``; later
    versions may have others.
    """
    label: str | None
    """The label that they get."""
    severity: str | None
    """The severity that they get."""
    compliance: Sequence[str]
    """The tags of compliance that they get."""
    description: str | None
    """The template of their description."""
    when: Mapping[str, Any] | None
    """The condition that must hold, as the configuration has it; None if there is none."""


class CaptureRules(Answer):
    """The rules of a table in the configuration."""

    name: str
    """The pattern that covers the table, or its own name."""
    level: str
    """The kind of the triggers. One of row, statement; later versions may have others."""
    key: Sequence[str]
    """The columns that identify a record, if the table has no primary key."""
    columns: Sequence[str] | None
    """The only columns that are recorded; None stands for all."""
    ignore: Sequence[str]
    """An UPDATE that changes these columns alone has no entry."""
    record_when: Mapping[str, Any] | None
    """The condition without which no change has an entry, as the configuration has it; None if there is none."""
    redact: Mapping[str, str]
    """The way in which values of a column are disguised, by column."""
    max_value_bytes: int | None
    """A larger value is replaced by its size and SHA-256; None if there is no limit."""
    on_drift: str
    """The reaction if a redacted column no longer exists: it masks all of the snapshot, or raises. One of mask_all,
    raise; later versions may have others.
    """
    on_error: str
    """The reaction if an entry cannot be written: it raises, or only warns. One of raise, warn; later versions may have
    others.
    """
    replica: bool
    """True if the writes of logical replication are recorded too."""
    record_reads: bool
    """True if it is recorded who reads its records in the log."""
    enrich: Sequence[EnrichmentRule]
    """The rules of enrichment."""


class CapturedTable(Answer):
    """One audited table."""

    name: str
    """The table, with its schema."""
    capture: str
    """The state of its capture: missing if a trigger is, disabled if one does not fire. One of recording, disabled,
    missing; later versions may have others.
    """
    rules: CaptureRules | None
    """Its rules in the configuration that the console was given; None if that does not name the table."""


class DayCount(Answer):
    """The number of entries of a table in a day."""

    day: datetime
    """The beginning of the day, in UTC."""
    entries: int
    """The number of its entries."""
    is_estimate: bool
    """True if it was computed from a sample: few entries may be missed."""


class RecordedComparison(Answer):
    """The last recorded comparison of a table with the log, of the last 400 days."""

    at: datetime
    """The time at which it was recorded."""
    rows: int
    """The number of rows that it compared."""
    missing: int
    """The number of rows that the log lacked."""
    differing: int
    """The number of rows that the log knew otherwise."""
    gone: int
    """The number of records that only the log had."""
    unrepaired: int
    """The number of those differences that no repair has recorded."""


class CoveredTable(Answer):
    """A table, a foreign table or a view, or a name that should be a table."""

    schema_: str = Field(alias="schema")
    """Its schema."""
    name: str
    """Its name with its schema, as entries have it."""
    kind: str | None
    """Its kind; None if it is not there."""
    state: str
    """Its state: audited if its triggers are there and fire, drifting if its triggers are not as configured, so that
    changes may be missed. The rules in force are compared by ``svc-pg status``. One of audited, drifting, not_audited;
    later versions may have others.
    """
    reason: str | None
    """The reason for which it is not audited, or is drifting; else None."""
    redact: Mapping[str, str]
    """The way in which the configuration disguises values of its columns, by column."""
    ignore: Sequence[str]
    """By the configuration, an UPDATE of these columns alone has no entry."""
    columns: Sequence[str] | None
    """By the configuration, the only columns recorded beside its key; None stands for all."""
    has_key: bool
    """True if it has a primary key or a configured one; otherwise entries name no record."""
    partitions: int | None
    """The number of its partitions; None if it has none by its kind."""
    estimated_rows: int | None
    """The planner's estimate of its rows; None if it has none yet."""
    days: Sequence[DayCount]
    """Its entries in the last 14 days, the oldest first; empty if none was found."""
    last_entry_at: datetime | None
    """The time of the newest of those entries that were counted; None if there is none."""
    reconciliation: RecordedComparison | None
    """Its last recorded comparison with the log; None if there is none."""


class ReconciledTables(Answer):
    """The last recorded comparisons with the log of the first 1,000 audited tables by name, of the last 400 days."""

    tables: int
    """The number of those tables that were compared."""
    last_at: datetime | None
    """The time of the last comparison; None if there is none."""
    oldest_at: datetime | None
    """That of the table whose last comparison is the oldest."""
    unrepaired: int
    """The number of differences that no repair has recorded."""


class CoverageCounts(Answer):
    """The number of tables in each state, the schemas that they are in, and the last comparisons with the log."""

    tables: int
    """The number of tables, with those that should be there and are not."""
    audited: int
    """The number of those whose triggers are there and fire."""
    drifting: int
    """The number of those whose triggers are not as configured."""
    not_audited: int
    """The number of those whose changes are not recorded."""
    excluded: int
    """The number of these that the configuration excludes."""
    others: int
    """The number of views and foreign tables, which are never audited."""
    schemas: Sequence[str]
    """The first 200 schemas by name."""
    reconciled: ReconciledTables
    """The comparisons of audited tables, whichever are counted: of the first 1,000 by name."""


class PurgeReport(Answer):
    """The entries removed, or to be removed."""

    before: datetime | None
    """The time that they precede; None if only tables with an age of their own are purged."""
    partitions: Sequence[str]
    """The partitions that were dropped as a whole."""
    entries: int
    """The number of entries that were removed one by one."""
    postponed: Sequence[str]
    """The partitions that readers or writers kept locked; the next purge continues with them."""
    tables: Mapping[str, int]
    """The number of entries that were removed one by one, by table."""
    held: Sequence[str]
    """The records and tables whose holds keep entries from being removed."""
    unsealed_since: datetime | None
    """The time of the oldest entry without a seal, if old entries stay until they are sealed; else None."""
    partition_entries: Mapping[str, int | None]
    """About how many entries each of the partitions had; None if that is not known."""
    databases: Mapping[str, int]
    """The number of entries that were removed one by one, by database, if a purge is of all databases of a server of
    MySQL or MariaDB; else empty. An empty name stands for entries of none.
    """


class Endpoint(Answer):
    """A receiver of webhooks. Secrets, keys, custom headers and TLS material are never read back."""

    id: str
    """The id of the endpoint."""
    url: str
    """The address of the receiver."""
    url_by: str
    """The giver of the URL: operator, or customer, whose URLs lead to public addresses alone. One of operator,
    customer; later versions may have others.
    """
    description: str
    """A note for people."""
    tenant: str | None
    """The tenant whose messages it gets; None if it gets those of all."""
    events: Sequence[str]
    """The events that it gets: names, patterns such as ``order.*``, or ``*``."""
    filter: str | None
    """An SQL/JSON path predicate that the payload of a message must meet; None if all meet it."""
    ordering: str
    """The order of the messages of a key: none, key (one at a time) or strict (a failed one also blocks its key). One
    of none, key, strict; later versions may have others.
    """
    status: str
    """Its state: active, paused (deliveries wait) or disabled (deliveries are canceled). One of active, paused,
    disabled; later versions may have others.
    """
    disabled_reason: str | None
    """The reason for disabling it; None unless it is disabled."""
    max_in_flight: int
    """The most attempts under way at a time."""
    rate_per_second: int | None
    """The most attempts that begin within a second; None if there is no limit."""
    timeout: float
    """The limit of the duration of an attempt. In seconds."""
    signatures: Sequence[str]
    """The signatures of an attempt: v1 by a secret, v1a by a key pair."""
    public_key: str | None
    """The public key that verifies v1a; None without v1a."""
    previous_secret_expires_at: datetime | None
    """The time until which the secret and the key pair before a rotation sign too; None if none does."""
    has_headers: bool
    """True if it has custom headers, which are not read back."""
    has_tls: bool
    """True if it has TLS material, which is not read back."""
    client_certificate_expires_at: datetime | None
    """The end of its client certificate; None if it has none."""
    version: int
    """Rises with each change; the header ETag has it too."""
    created_at: datetime
    """The time of its registration."""
    updated_at: datetime
    """The time at which somebody last changed it."""


class EndpointHealth(Answer):
    """The health of one endpoint."""

    endpoint_id: str
    """The id of the endpoint."""
    url: str
    """The address of the receiver."""
    description: str
    """A note for people."""
    tenant: str | None
    """The tenant whose messages it gets; None if it gets those of all."""
    health: str
    """Its health: broken means paused by its circuit breaker, throttled by its receiver. One of healthy, failing,
    broken, throttled, paused, disabled; later versions may have others.
    """
    needs_attention: bool
    """True if it is failing or broken, or if its client certificate ends within 30 days or has ended."""
    disabled_reason: str | None
    """The reason for disabling it; None unless it is disabled."""
    failure_streak: int
    """The number of failures since the last success."""
    failing_since: datetime | None
    """The time of the first of them; None if there is none."""
    breaker_until: datetime | None
    """The time until which its circuit breaker sends nothing; None if that is closed."""
    throttled_until: datetime | None
    """The time until which its receiver asked to send nothing; None if it did not."""
    last_success_at: datetime | None
    """The time of the last success, within 10 seconds; None if there was none."""
    last_failure_at: datetime | None
    """The time of the last failure; None if there was none."""
    last_failure: str | None
    """The error of the last failure; None if there was none."""
    backlog_age: float | None
    """The time for which its first pending delivery is overdue; None if none is pending."""
    in_flight: int
    """The number of attempts under way."""
    client_certificate_expires_at: datetime | None
    """The end of its client certificate; None if it has none."""
    failed_deliveries: int
    """The number of deliveries of the last day that have no attempt left, among the latest 100 that failed or were
    canceled.
    """


class RegisteredEndpoint(Answer):
    """A new endpoint and its secret."""

    id: str
    """The id of the endpoint."""
    url: str
    """The address of the receiver."""
    url_by: str
    """The giver of the URL: operator, or customer, whose URLs lead to public addresses alone. One of operator,
    customer; later versions may have others.
    """
    description: str
    """A note for people."""
    tenant: str | None
    """The tenant whose messages it gets; None if it gets those of all."""
    events: Sequence[str]
    """The events that it gets: names, patterns such as ``order.*``, or ``*``."""
    filter: str | None
    """An SQL/JSON path predicate that the payload of a message must meet; None if all meet it."""
    ordering: str
    """The order of the messages of a key: none, key (one at a time) or strict (a failed one also blocks its key). One
    of none, key, strict; later versions may have others.
    """
    status: str
    """Its state: active, paused (deliveries wait) or disabled (deliveries are canceled). One of active, paused,
    disabled; later versions may have others.
    """
    disabled_reason: str | None
    """The reason for disabling it; None unless it is disabled."""
    max_in_flight: int
    """The most attempts under way at a time."""
    rate_per_second: int | None
    """The most attempts that begin within a second; None if there is no limit."""
    timeout: float
    """The limit of the duration of an attempt. In seconds."""
    signatures: Sequence[str]
    """The signatures of an attempt: v1 by a secret, v1a by a key pair."""
    public_key: str | None
    """The public key that verifies v1a; None without v1a."""
    previous_secret_expires_at: datetime | None
    """The time until which the secret and the key pair before a rotation sign too; None if none does."""
    has_headers: bool
    """True if it has custom headers, which are not read back."""
    has_tls: bool
    """True if it has TLS material, which is not read back."""
    client_certificate_expires_at: datetime | None
    """The end of its client certificate; None if it has none."""
    version: int
    """Rises with each change; the header ETag has it too."""
    created_at: datetime
    """The time of its registration."""
    updated_at: datetime
    """The time at which somebody last changed it."""
    secret: str = Field(repr=False)
    """The secret that signs, which can be read only now."""
    is_new_tenant: bool
    """True if nothing else in the database is of the tenant, whose name may be misspelt."""


class EndpointStats(Answer):
    """The latest deliveries of an endpoint, 10,000 at most, and its health as it is now."""

    endpoint_id: str
    """The id of the endpoint."""
    window: float
    """The time in which the deliveries were created. In seconds."""
    deliveries: Mapping[str, int]
    """The number of deliveries by status."""
    attempts: Mapping[str, int]
    """The number of their attempts by outcome."""
    p_50: float | None
    """The median of the attempts, in seconds; None if there was none."""
    p_95: float | None
    """The 95th percentile of the attempts, in seconds; None if there was none."""
    next_pending_since: datetime | None
    """The time at which the next delivery in turn was created; None if none is pending."""
    failure_streak: int
    """The number of failures since the last success."""
    failing_since: datetime | None
    """The time of the first of them; None if there is none."""
    breaker_until: datetime | None
    """The time until which its circuit breaker sends nothing; None if that is closed."""
    throttled_until: datetime | None
    """The time until which its receiver asked to send nothing; None if it did not."""
    last_success_at: datetime | None
    """The time of the last success, within 10 seconds; None if there was none."""
    last_failure_at: datetime | None
    """The time of the last failure; None if there was none."""
    last_failure: str | None
    """The error of the last failure; None if there was none."""


class OutageAnswer(Answer):
    """A failed attempt of an outage, with what the receiver answered."""

    id: str
    """The id of the attempt."""
    attempt: int
    """Its number among those of the delivery."""
    cause: str
    """Its cause: auto of the schedule, manual of a retry, test of a ping. One of auto, manual, test; later versions may
    have others.
    """
    started_at: datetime
    """The time at which it began."""
    duration_ms: int | None
    """Its duration in milliseconds; None if it was lost."""
    outcome: str
    """Its outcome. One of success, http_error, timeout, connect_error, tls_error, dns_error, blocked, lost; later
    versions may have others.
    """
    status_code: int | None
    """The status that the receiver answered; None if it did not answer."""
    error: str | None
    """The error in words; None if it was a success."""
    response_headers: Any
    """The headers of the answer, without cookies; None if there was none."""
    response_body: str | None
    """At most 16 KiB of the body of the answer; None if there was none."""
    remote_ip: str | None
    """The address that the worker connected to; None if it did not connect."""
    worker: str | None
    """The worker; None if it is not known, and for a session of one tenant."""
    delivery_id: str
    """The id of the delivery: the header ``webhook-id`` of its requests."""
    event_name: str
    """The name of the event."""


class OutageAttempt(Answer):
    """An attempt on the line of an outage."""

    started_at: datetime
    """The time at which it began."""
    duration_ms: int | None
    """Its duration in milliseconds; None if it is unknown."""
    outcome: str
    """Its outcome. One of success, http_error, timeout, connect_error, tls_error, dns_error, blocked, lost; later
    versions may have others.
    """
    status_code: int | None
    """The status that the receiver answered; None if it did not answer."""


class BreakerStep(Answer):
    """A time for which the circuit breaker held deliveries back."""

    since: datetime
    """The time at which it opened."""
    until: datetime
    """The time until which it sent nothing, or will send nothing."""


class EndpointOutage(Answer):
    """The last outage of an endpoint: from its first failure to a success that no failure follows within ten minutes.

    If it has never failed, ``since`` is None, and the rest tells of now. It lasts while ``until`` is None. Deliveries
    are counted up to 1,000.
    """

    endpoint_id: str
    """The id of the endpoint."""
    at: datetime
    """The time of this answer, by the database's clock."""
    health: str
    """Its health: broken means paused by its circuit breaker, throttled by its receiver. One of healthy, failing,
    broken, throttled, paused, disabled; later versions may have others.
    """
    disabled_reason: str | None
    """The reason for disabling it; None unless it is disabled."""
    since: datetime | None
    """The first failure of the outage; None if it has never failed."""
    until: datetime | None
    """The success that ended the outage; None while it lasts."""
    failure_streak: int
    """The number of failures since the last success."""
    breaker_until: datetime | None
    """The time until which its circuit breaker sends nothing; None if that is closed."""
    throttled_until: datetime | None
    """The time until which its receiver asked to send nothing; None if it did not."""
    next_attempt_at: datetime | None
    """The time at which its first pending delivery is or was due, if nothing holds it; None if none is."""
    last_success_at: datetime | None
    """The time of the last success, within 10 seconds; None if there was none."""
    last_failure_at: datetime | None
    """The time of the last failure; None if there was none."""
    last_failure: str | None
    """The error of the last failure; None if there was none."""
    first_answer: OutageAnswer | None
    """The first failed attempt of the outage; None if none is kept."""
    last_answer: OutageAnswer | None
    """The last one; None if none is kept."""
    attempts: Sequence[OutageAttempt]
    """Failed attempts of the outage, the first 100 and the last 100, and up to 60 successes before, in and after it;
    oldest first.
    """
    is_every_failure: bool
    """True if ``attempts`` has each failed attempt of the outage."""
    steps: Sequence[BreakerStep]
    """The latest 32 steps of the circuit breaker, oldest first."""
    waiting: int
    """The number of deliveries that wait or are under way, up to 1,000."""
    is_waiting_complete: bool
    """True if no more wait."""
    waiting_since: datetime | None
    """The time at which the oldest of these was sent; None if none waits."""
    failed: int
    """The number of deliveries that failed since ``since`` and have no attempt left, up to 1,000."""
    is_failed_complete: bool
    """True if no more failed: the endpoint's newest 10,000 that failed or were canceled are looked at."""


class EndpointWithSecret(Answer):
    """An endpoint and its new secret, which can be read only now."""

    id: str
    """The id of the endpoint."""
    url: str
    """The address of the receiver."""
    url_by: str
    """The giver of the URL: operator, or customer, whose URLs lead to public addresses alone. One of operator,
    customer; later versions may have others.
    """
    description: str
    """A note for people."""
    tenant: str | None
    """The tenant whose messages it gets; None if it gets those of all."""
    events: Sequence[str]
    """The events that it gets: names, patterns such as ``order.*``, or ``*``."""
    filter: str | None
    """An SQL/JSON path predicate that the payload of a message must meet; None if all meet it."""
    ordering: str
    """The order of the messages of a key: none, key (one at a time) or strict (a failed one also blocks its key). One
    of none, key, strict; later versions may have others.
    """
    status: str
    """Its state: active, paused (deliveries wait) or disabled (deliveries are canceled). One of active, paused,
    disabled; later versions may have others.
    """
    disabled_reason: str | None
    """The reason for disabling it; None unless it is disabled."""
    max_in_flight: int
    """The most attempts under way at a time."""
    rate_per_second: int | None
    """The most attempts that begin within a second; None if there is no limit."""
    timeout: float
    """The limit of the duration of an attempt. In seconds."""
    signatures: Sequence[str]
    """The signatures of an attempt: v1 by a secret, v1a by a key pair."""
    public_key: str | None
    """The public key that verifies v1a; None without v1a."""
    previous_secret_expires_at: datetime | None
    """The time until which the secret and the key pair before a rotation sign too; None if none does."""
    has_headers: bool
    """True if it has custom headers, which are not read back."""
    has_tls: bool
    """True if it has TLS material, which is not read back."""
    client_certificate_expires_at: datetime | None
    """The end of its client certificate; None if it has none."""
    version: int
    """Rises with each change; the header ETag has it too."""
    created_at: datetime
    """The time of its registration."""
    updated_at: datetime
    """The time at which somebody last changed it."""
    secret: str = Field(repr=False)
    """The secret that signs, which can be read only now."""


class Delivery(Answer):
    """One message on its way to one endpoint."""

    id: str
    """The id of the delivery: the header ``webhook-id`` of its requests."""
    message_id: str
    """The id of the message: ``id`` in the body of its requests."""
    endpoint_id: str
    """The id of the endpoint."""
    event_name: str
    """The name of the event."""
    status: str
    """The state of the delivery. One of pending, delivered, failed, canceled; later versions may have others."""
    attempts: int
    """The number of its attempts so far."""
    lost_attempts: int
    """The number of those that were lost with their worker; they do not count towards ``max_attempts``."""
    throttled_attempts: int
    """The number of those that a receiver refused that asked to wait; they do not count towards ``max_attempts``."""
    max_attempts: int
    """The most attempts that it gets."""
    created_at: datetime
    """The time at which the message was sent to it."""
    updated_at: datetime
    """The time of its last change."""
    next_attempt_at: datetime | None
    """The time of the next attempt; None unless it is pending."""
    finished_at: datetime | None
    """The time at which it was delivered, failed or canceled; None while it is pending."""
    last_status_code: int | None
    """The status that the receiver answered last; None if it has not answered."""
    last_error: str | None
    """The error of the last attempt; None if it has none."""


class BulkResult(Answer):
    """The result of a change of many deliveries."""

    count: int
    """The number of deliveries that were changed, or would be."""
    is_complete: bool
    """True if no more match; else make the same call again."""


class ReplayResult(Answer):
    """The deliveries of one batch of a replay."""

    count: int
    """The number of deliveries of this batch that wait now, or would."""
    next_cursor: str | None
    """The value of ``after`` for the next batch; None after the last one."""


class DeliveryDetail(Answer):
    """A delivery with the content of its message."""

    id: str
    """The id of the delivery: the header ``webhook-id`` of its requests."""
    message_id: str
    """The id of the message: ``id`` in the body of its requests."""
    endpoint_id: str
    """The id of the endpoint."""
    event_name: str
    """The name of the event."""
    status: str
    """The state of the delivery. One of pending, delivered, failed, canceled; later versions may have others."""
    attempts: int
    """The number of its attempts so far."""
    lost_attempts: int
    """The number of those that were lost with their worker; they do not count towards ``max_attempts``."""
    throttled_attempts: int
    """The number of those that a receiver refused that asked to wait; they do not count towards ``max_attempts``."""
    max_attempts: int
    """The most attempts that it gets."""
    created_at: datetime
    """The time at which the message was sent to it."""
    updated_at: datetime
    """The time of its last change."""
    next_attempt_at: datetime | None
    """The time of the next attempt; None unless it is pending."""
    finished_at: datetime | None
    """The time at which it was delivered, failed or canceled; None while it is pending."""
    last_status_code: int | None
    """The status that the receiver answered last; None if it has not answered."""
    last_error: str | None
    """The error of the last attempt; None if it has none."""
    tenant: str | None
    """The tenant of the message; None if it has none."""
    idempotency_key: str | None
    """The key by which the sender made it once; None if it gave none."""
    key: str | None
    """The key whose messages have an order; None if it has none."""
    sequence: int | None
    """The number of the message among those of its tenant and key, from 1 and without gaps."""
    copy_of: str | None
    """The id of the original, if it is the copy of a replay; else None."""
    xact_id: str | None
    """The transaction that sent it: its entries in the audit log are the cause."""
    payload: Any
    """The payload as it was sent; None once retention has deleted the message."""


class DeliveryAttempt(Answer):
    """One attempt of a delivery."""

    id: str
    """The id of the attempt."""
    attempt: int
    """Its number among those of the delivery."""
    cause: str
    """Its cause: auto of the schedule, manual of a retry, test of a ping. One of auto, manual, test; later versions may
    have others.
    """
    started_at: datetime
    """The time at which it began."""
    duration_ms: int | None
    """Its duration in milliseconds; None if it was lost."""
    outcome: str
    """Its outcome. One of success, http_error, timeout, connect_error, tls_error, dns_error, blocked, lost; later
    versions may have others.
    """
    status_code: int | None
    """The status that the receiver answered; None if it did not answer."""
    error: str | None
    """The error in words; None if it was a success."""
    response_headers: Any
    """The headers of the answer, without cookies; None if there was none."""
    response_body: str | None
    """At most 16 KiB of the body of the answer; None if there was none."""
    remote_ip: str | None
    """The address that the worker connected to; None if it did not connect."""
    worker: str | None
    """The worker; None if it is not known, and for a session of one tenant."""


class DeliveryReason(Answer):
    """A reason for which a delivery waits, or how it has ended."""

    reason: str
    """The reason, for programs. One of delivered, failed, canceled, blocking, sending, lost, due, deleted, disabled,
    later, paused, broken, throttled, key, probed, full, rate, clock, queue, standby, subscription, no_worker; later
    versions may have others.
    """
    sentence: str
    """The reason, for people."""
    since: datetime | None
    """Its beginning; None if that is not known."""
    until: datetime | None
    """Its end; None if that is not known."""
    other_delivery_id: str | None
    """The delivery that comes first; None if none has to."""


class StatusCount(Answer):
    """The number of deliveries in one state."""

    status: str
    """The state. One of pending, delivered, failed, canceled; later versions may have others."""
    count: int | None
    """The number of deliveries in it; None if it is too dear to count."""
    is_complete: bool
    """True if there are no more than that."""


class CausedDeliveries(Answer):
    """The deliveries of what one transaction sent."""

    xact_id: str
    """The transaction: entries and webhook messages of one transaction have the same."""
    deliveries: Sequence[Delivery]
    """Its deliveries, 20 at most, the newest first; of 1,000 of its messages if it sent more."""
    is_complete: bool
    """False if there may be more: the list of deliveries has all by its filter ``transaction``. For a tenant with no
    message among those looked at it is true, so that nothing tells of others' messages.
    """


class HttpHeader(Answer):
    """One header of a request."""

    name: str
    """The name of the header, in the spelling in which a worker sends it."""
    value: str | None
    """Its value; None if it is sealed, or not told to this session."""
    is_recorded: bool
    """True if the value is stored with the delivery, so that each attempt had it."""


class DeliveryPost(Answer):
    """The POST that an attempt would make now: no attempt keeps its URL, its headers or its signature."""

    method: str
    """The method of the request."""
    url: str | None
    """The address of the receiver; None if the endpoint was deleted."""
    headers: Sequence[HttpHeader] = Field(repr=False)
    """The headers in the order in which a worker sends them."""
    body: str | None
    """The body, the same in every attempt; the signature covers ``{webhook-id}.{webhook-timestamp}.{body}``. None once
    retention has deleted the message.
    """
    has_unnamed_headers: bool
    """True if the endpoint has further headers that cannot be opened here."""


class Message(Answer):
    """One sent event, for any number of endpoints."""

    id: str
    """The id of the message: ``id`` in the body of its requests."""
    event_name: str
    """The name of the event."""
    tenant: str | None
    """The tenant of the message; None if it has none."""
    idempotency_key: str | None
    """The key by which the sender made it once; None if it gave none."""
    key: str | None
    """The key whose messages have an order; None if it has none."""
    sequence: int | None
    """The number of the message among those of its tenant and key, from 1 and without gaps."""
    trace_context: str | None
    """The trace of the sender (W3C traceparent); None if there was none."""
    copy_of: str | None
    """The id of the original, if it is the copy of a replay; else None."""
    xact_id: str
    """The transaction that sent it: its entries in the audit log are the cause."""
    created_at: datetime
    """The time at which the transaction began that sent it."""
    summary: str
    """The values of the payload at the keys by which its event is searched, or else its first members that are a text,
    a number or a boolean: for people, in 80 characters at most; empty if the first 2,000 characters have none, or if it
    is large.
    """


class SearchKey(Answer):
    """A key of the payloads of an event by which its messages are found."""

    key: str
    """The key: names of members, with dots between them."""
    event_name: str
    """The name of the event."""
    since: datetime | None
    """Messages from then on are found by it; None if all are."""


class MessageWithDeliveries(Answer):
    """A message with its payload and its deliveries."""

    id: str
    """The id of the message: ``id`` in the body of its requests."""
    event_name: str
    """The name of the event."""
    tenant: str | None
    """The tenant of the message; None if it has none."""
    idempotency_key: str | None
    """The key by which the sender made it once; None if it gave none."""
    key: str | None
    """The key whose messages have an order; None if it has none."""
    sequence: int | None
    """The number of the message among those of its tenant and key, from 1 and without gaps."""
    trace_context: str | None
    """The trace of the sender (W3C traceparent); None if there was none."""
    copy_of: str | None
    """The id of the original, if it is the copy of a replay; else None."""
    xact_id: str
    """The transaction that sent it: its entries in the audit log are the cause."""
    created_at: datetime
    """The time at which the transaction began that sent it."""
    summary: str
    """The values of the payload at the keys by which its event is searched, or else its first members that are a text,
    a number or a boolean: for people, in 80 characters at most; empty if the first 2,000 characters have none, or if it
    is large.
    """
    payload: Any
    """The payload as it was sent."""
    deliveries: Sequence[Delivery]
    """Its deliveries, the newest 100."""


class TriedMessage(Answer):
    """A message on which a filter was tried."""

    id: str
    """The id of the message: ``id`` in the body of its requests."""
    event_name: str
    """The name of the event."""
    tenant: str | None
    """The tenant of the message; None if it has none."""
    created_at: datetime
    """The time at which the transaction began that sent it."""
    is_met: bool | None
    """True if it would be sent, false if it would not; None if that is not known."""
    problem: str | None
    """The reason for which that is not known; else None."""


class EventType(Answer):
    """An event that endpoints can subscribe to."""

    name: str
    """The name of the event."""
    description: str
    """A description for people."""
    schema_: Any = Field(alias="schema")
    """The JSON Schema of its payload; None if it has none."""
    example: Any
    """A payload made from the schema; None if there is none."""
    endpoints: int
    """The number of its subscribers, counted up to 1,000, without disabled ones."""
    synced_at: datetime
    """The time at which an install last wrote it."""


class SentEvent(Answer):
    """The message that a sent event became."""

    id: str
    """The id of the message: ``id`` in the body of its requests."""


class TimedTrafficBucket(Answer):
    """As TrafficBucket, with the durations of the attempts."""

    at: datetime
    """The beginning of the bucket."""
    sent: int
    """The number of deliveries that were sent."""
    delivered: int
    """The number of those that are delivered."""
    failed: int
    """The number of those that have no attempt left."""
    late: int
    """The number of those that are pending after their time."""
    failed_attempts: int
    """The number of attempts without success so far."""
    p_50: float | None
    """The median of the attempts, in seconds; None if there was none."""
    p_95: float | None
    """The 95th percentile of the attempts, in seconds; None if there was none."""


class Traffic(Answer):
    """The traffic of a time, in all and bucket by bucket. The durations always come from a sample."""

    by: str
    """The length of a bucket. One of minute, hour, day; later versions may have others."""
    since: datetime
    """The beginning."""
    until: datetime
    """The end."""
    sent: int
    """The number of deliveries that were sent."""
    delivered: int
    """The number of those that are delivered."""
    failed: int
    """The number of those that have no attempt left."""
    late: int
    """The number of those that are pending after their time."""
    failed_attempts: int
    """The number of attempts without success so far."""
    success_rate: float | None
    """The share of delivered ones among those delivered, failed or late; None if there is none."""
    p_50: float | None
    """The median of the attempts, in seconds; None if there was none."""
    p_95: float | None
    """The 95th percentile of the attempts, in seconds; None if there was none."""
    is_estimate: bool
    """True if the numbers come from a sample of each bucket; ``sent`` is exact up to 100,000."""
    buckets: Sequence[TimedTrafficBucket]
    """The traffic bucket by bucket, oldest first."""


class PendingCounts(Answer):
    """The pending deliveries by the reason of their wait, each number counted up to 10,000."""

    due: int
    """Those that can start as soon as their endpoint has room."""
    later: int
    """Those whose time has not come."""
    behind: int
    """Those that wait for another of their key."""
    parked: int
    """Those that wait for their endpoint, which is paused or failing."""
    in_flight: int
    """Those under way."""


class QueueState(Answer):
    """The state of the queue of deliveries."""

    waiting: PendingCounts
    """The pending deliveries by the reason of their wait."""
    backlog: Backlog
    """The endpoints, and the age of due deliveries."""


class TrafficBucket(Answer):
    """The deliveries sent in a bucket of time, in their present states.

    A delivery is late if an attempt has failed, or none began within a minute.
    """

    at: datetime
    """The beginning of the bucket."""
    sent: int
    """The number of deliveries that were sent."""
    delivered: int
    """The number of those that are delivered."""
    failed: int
    """The number of those that have no attempt left."""
    late: int
    """The number of those that are pending after their time."""
    failed_attempts: int
    """The number of attempts without success so far."""


class EndpointActivity(Answer):
    """The traffic of one endpoint."""

    endpoint_id: str
    """The id of the endpoint."""
    hours: Sequence[TrafficBucket]
    """Its traffic hour by hour, oldest first."""
    is_estimate: bool
    """True if the numbers come from a sample."""


class FilterValue(Answer):
    """A value of a filter, and what people call it."""

    value: str
    """The value, as the filter takes it."""
    name: str
    """Its name; the value itself, unless that is an id."""
    about: str
    """A note, or an empty text."""


class FilterValues(Answer):
    """Values of a filter that have a text in them."""

    data: Sequence[FilterValue]
    """The values, 10 at most."""
    is_complete: bool
    """False if only a part was looked at: the newest 10,000 endpoints, or the first 1,000 tenants of messages."""


class PendingPortalLink(Answer):
    """A link to the portal that nobody has opened yet."""

    id: str
    """The id of the link, and of the session that it becomes."""
    tenant: str
    """The tenant whose webhooks the customer may manage."""
    created_at: datetime
    """The time at which it was made."""
    created_by: str
    """The actor who made it."""
    expires_at: datetime
    """The time until which it can be opened."""
    lasts: float
    """The time for which its session lasts. In seconds."""


class PendingPortalLinks(Answer):
    """The links to the portal that nobody has opened yet."""

    data: Sequence[PendingPortalLink]
    """The links, newest first."""


class CreatedPortalLink(Answer):
    """A link to the portal that was just made."""

    id: str
    """The id of the link, and of the session that it becomes."""
    url: str | None = Field(repr=False)
    """The address to send to the customer; None if SVC_CONSOLE_PUBLIC_URL does not tell the host."""
    path: str = Field(repr=False)
    """The part of the address after the host."""
    link_expires_at: datetime
    """The time until which it can be opened, once."""
    expires_in: int
    """The seconds for which its session lasts."""
    is_new_tenant: bool
    """True if nothing else in the database is of the tenant, whose name may be misspelt."""
    warning: str | None
    """The reason if the customer cannot open the link, because its host is of this machine or its network; else None.
    """


class PortalLink(Answer):
    """A link to the portal in any state. Once it is opened, the session with its id tells more."""

    id: str
    """The id of the link, and of the session that it becomes."""
    tenant: str
    """The tenant whose webhooks the customer may manage."""
    created_at: datetime
    """The time at which it was made."""
    created_by: str
    """The actor who made it."""
    expires_at: datetime
    """The time until which it can be opened."""
    lasts: float
    """The time for which its session lasts. In seconds."""
    opened_at: datetime | None
    """The time at which it was opened; None if it was not."""
    revoked_at: datetime | None
    """The time at which somebody revoked it; None if nobody did."""
    revoked_by: str | None
    """The actor who revoked it; None if nobody did."""
    is_waiting: bool
    """True if it can still be opened."""


class Tenant(Answer):
    """One tenant."""

    id: str
    """The id of the tenant, as entries, messages and endpoints name it."""
    name: str
    """Its name."""
    created_at: datetime | None
    """The time at which it was added; None if the table has no column for it."""
    updated_at: datetime | None
    """The time of its last change; None if the table has no column for it."""


class TenantUse(Answer):
    """The use of the service by one tenant."""

    id: str
    """The id of the tenant."""
    endpoints: int
    """The number of its endpoints."""
    messages: int
    """The number of its messages that are kept, up to 1,000; of several tenants up to 5,000 in all."""
    sessions: int
    """The number of its live sessions."""
    tokens: int
    """The number of its live tokens."""


class TenantUses(Answer):
    """The use of each of these tenants."""

    data: Sequence[TenantUse]
    """The tenants."""


class UnlistedTenants(Answer):
    """Tenants that are not in the table, by id."""

    data: Sequence[TenantUse]
    """The tenants."""
    is_complete: bool
    """False if there are more."""
