"""The parameters and bodies of operations, made of docs/openapi.json by tests/support/client_source.py."""

from collections.abc import Mapping, Sequence, Set
from datetime import datetime, timedelta
from typing import Literal, Required, TypeAlias, TypedDict, TypeVar

T = TypeVar("T")

OneOrMore: TypeAlias = Sequence[T] | Set[T] | T
"""A value, or several of which one has to fit."""
PointInTime: TypeAlias = str | datetime | timedelta
"""A time with its zone, or a duration before now: as a text such as ``7d``, or as an object."""
Duration: TypeAlias = str | timedelta
"""A duration, as a text such as ``7d``, or as an object."""
Seconds: TypeAlias = float | timedelta
"""A duration, as a number of seconds, or as an object."""

__all__ = [
    "ChangeDeliveriesRequest",
    "ClaimRequest",
    "ConsoleEventsListPage",
    "ConsoleEventsListQuery",
    "CoverageCountsQuery",
    "CoverageListPage",
    "CoverageListQuery",
    "CreateEndpointRequest",
    "CreatePortalSessionRequest",
    "CreateTenantRequest",
    "CreateTokenRequest",
    "CreateViewRequest",
    "DataChangesListPage",
    "DataChangesListQuery",
    "DeliveriesAttemptsPage",
    "DeliveriesCausedQuery",
    "DeliveriesCountsQuery",
    "DeliveriesListPage",
    "DeliveriesListQuery",
    "DeliveriesValuesQuery",
    "DisableEndpointRequest",
    "Duration",
    "EndpointsActivityQuery",
    "EndpointsListHealthPage",
    "EndpointsListHealthQuery",
    "EndpointsListPage",
    "EndpointsListQuery",
    "EndpointsStatsQuery",
    "EntriesExportFile",
    "EntriesExportQuery",
    "EntriesFacetsQuery",
    "EntriesListPage",
    "EntriesListQuery",
    "EntriesPurgeQuery",
    "EntriesRevertQuery",
    "EntriesStatsQuery",
    "EntriesValuesQuery",
    "HoldsListPage",
    "HoldsListQuery",
    "MagicLinkRequest",
    "MessagesListPage",
    "MessagesListQuery",
    "MessagesTryFilterQuery",
    "OneOrMore",
    "OpenPortalRequest",
    "OwnSessionsListPage",
    "OwnSessionsListQuery",
    "PointInTime",
    "RecordsAsOfQuery",
    "RecordsBlamePage",
    "RecordsEntriesPage",
    "RecordsEntriesQuery",
    "RecordsReadsPage",
    "RecordsReadsQuery",
    "RecordsRelatedPage",
    "RecordsRelatedQuery",
    "RecordsStatesPage",
    "RecordsStatesQuery",
    "RecordsTracksPage",
    "RecordsTracksQuery",
    "RecoverEndpointRequest",
    "ReplayMessagesRequest",
    "RotateSecretRequest",
    "SealsListPage",
    "Seconds",
    "SendEventRequest",
    "SessionsListPage",
    "SessionsListQuery",
    "SignInPollQuery",
    "SuggestionsListQuery",
    "TablesAsOfPage",
    "TablesAsOfQuery",
    "TablesListPage",
    "TablesReadsPage",
    "TablesReadsQuery",
    "TenantsListPage",
    "TenantsListQuery",
    "TenantsUseQuery",
    "TlsMaterial",
    "TokensListPage",
    "TokensListQuery",
    "TrafficGetQuery",
    "TransactionsListPage",
    "TransactionsListQuery",
    "TransactionsRevertQuery",
    "UpdateEndpointRequest",
    "UpdateTenantRequest",
    "UpdateViewRequest",
    "VerifyRequest",
    "ViewsListPage",
    "ViewsListQuery",
]


class SignInPollQuery(TypedDict, total=False):
    """The parameters of ``sign_in.poll``."""

    session_id: Required[str]
    """The sign-in that this device began."""


class OwnSessionsListQuery(TypedDict, total=False):
    """The parameters of ``own_sessions.list``."""

    state: Literal["live", "ended"] | None
    """Those that are live, or those that have ended."""


class OwnSessionsListPage(OwnSessionsListQuery, total=False):
    """Those of a page of ``own_sessions.list``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""


class SessionsListQuery(TypedDict, total=False):
    """The parameters of ``sessions.list``."""

    state: Literal["live", "ended"] | None
    """Those that are live, or those that have ended."""


class SessionsListPage(SessionsListQuery, total=False):
    """Those of a page of ``sessions.list``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""


class TokensListQuery(TypedDict, total=False):
    """The parameters of ``tokens.list``."""

    state: Literal["live", "ended"] | None
    """Those that are live, or those that have ended."""


class TokensListPage(TokensListQuery, total=False):
    """Those of a page of ``tokens.list``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""


class ViewsListQuery(TypedDict, total=False):
    """The parameters of ``views.list``."""

    of: Literal["audit", "deliveries", "messages", "endpoints"] | None
    """Views of this list."""
    text: str | None
    """Views with these letters in their name."""


class ViewsListPage(ViewsListQuery, total=False):
    """Those of a page of ``views.list``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""


class ConsoleEventsListQuery(TypedDict, total=False):
    """The parameters of ``console_events.list``."""

    event: (
        Literal[
            "link_requested",
            "mail_failed",
            "code_rejected",
            "link_locked",
            "code_accepted",
            "signed_in",
            "session_revoked",
            "log_exported",
            "call_refused",
            "link_made",
            "token_added",
            "token_revoked",
            "portal_link_made",
            "portal_link_revoked",
            "portal_opened",
            "view_added",
            "view_changed",
            "view_deleted",
        ]
        | None
    )
    """Events of this kind."""
    email: str | None
    """Events of this person or actor."""
    since: PointInTime | None
    """Events since this time: RFC 3339, or a duration before now such as 1h."""
    until: PointInTime | None
    """Events before this time: RFC 3339, or a duration before now such as 1h."""


class ConsoleEventsListPage(ConsoleEventsListQuery, total=False):
    """Those of a page of ``console_events.list``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""


class DataChangesListQuery(TypedDict, total=False):
    """The parameters of ``data_changes.list``."""

    record: str | None
    """Changes of the row with this id."""
    resource: OneOrMore[str] | None
    """Entries of this table: schema.table, or a table in public; repeat it for several."""
    actor: OneOrMore[str] | None
    """Entries of this actor; repeat it for several."""
    since: PointInTime | None
    """Entries since this time: RFC 3339, or a duration before now such as 1h."""
    until: PointInTime | None
    """Entries before this time: RFC 3339, or a duration before now such as 1h."""
    fields: OneOrMore[str] | None
    """The fields to show, separated by commas, for example to leave out the snapshots; id, timestamp, ``table_name``
    always come.
    """


class DataChangesListPage(DataChangesListQuery, total=False):
    """Those of a page of ``data_changes.list``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""


class SuggestionsListQuery(TypedDict, total=False):
    """The parameters of ``suggestions.list``."""

    q: str | None
    """The text that somebody typed: a name, an id, a key, or an action."""
    here: str | None
    """The page that somebody looks at, below ``/ui``, for ``export this``."""
    kind: (
        Literal[
            "entry",
            "transaction",
            "record",
            "table",
            "actor",
            "request",
            "endpoint",
            "event_type",
            "tenant",
            "view",
            "page",
            "action",
        ]
        | None
    )
    """Suggestions of this kind alone; for others nothing is looked at."""


class EntriesListQuery(TypedDict, total=False):
    """The parameters of ``entries.list``."""

    since: PointInTime | None
    """Entries since this time: RFC 3339, or a duration before now such as 1h."""
    until: PointInTime | None
    """Entries before this time: RFC 3339, or a duration before now such as 1h."""
    resource: OneOrMore[str] | None
    """Entries of this table: schema.table, or a table in public; repeat it for several."""
    not_resource: OneOrMore[str] | None
    """Entries of tables but for this one; repeat it for several."""
    record: str | None
    """Entries of the record with this key; of several columns as a JSON array, as [7, 2]."""
    actor: OneOrMore[str] | None
    """Entries of this actor; repeat it for several."""
    not_actor: OneOrMore[str] | None
    """Entries but for those of this actor; repeat it for several."""
    tenant: OneOrMore[str] | None
    """Entries of this tenant; repeat it for several."""
    not_tenant: OneOrMore[str] | None
    """Entries but for those of this tenant; repeat it for several."""
    db_user: OneOrMore[str] | None
    """Entries of this user of the database; repeat it for several."""
    operation: OneOrMore[Literal["INSERT", "UPDATE", "DELETE", "TRUNCATE", "SNAPSHOT", "GONE", "DDL", "READ"]] | None
    """Entries of this operation; repeat it for several."""
    not_operation: (
        OneOrMore[Literal["INSERT", "UPDATE", "DELETE", "TRUNCATE", "SNAPSHOT", "GONE", "DDL", "READ"]] | None
    )
    """Entries but for those of this operation; repeat it for several."""
    label: OneOrMore[str] | None
    """Entries with this label; repeat it for several."""
    not_label: OneOrMore[str] | None
    """Entries but for those with this label; repeat it for several."""
    severity: OneOrMore[Literal["low", "medium", "high", "critical"]] | None
    """Entries of this severity; repeat it for several."""
    not_severity: OneOrMore[Literal["low", "medium", "high", "critical"]] | None
    """Entries but for those of this severity; repeat it for several."""
    min_severity: Literal["low", "medium", "high", "critical"] | None
    """Entries of this severity or a higher one."""
    compliance: OneOrMore[str] | None
    """Entries with this tag of compliance; repeat it for several."""
    not_compliance: OneOrMore[str] | None
    """Entries but for those with this tag of compliance; repeat it for several."""
    missing: OneOrMore[Literal["actor", "tenant", "record", "label", "severity", "compliance"]] | None
    """Entries without this value; repeat it for several."""
    changed: OneOrMore[str] | None
    """Updates that changed this field; repeat it for several."""
    transaction: str | None
    """Entries of one transaction, by the ``xact_id`` of any of them."""
    order: Literal["newest", "oldest"] | None
    """Which entries come first."""
    contains: str | None
    """Entries of which a snapshot has these members: a JSON object, as jsonb @> compares."""
    context: str | None
    """Entries whose context has this value, for example the id of a request or an address."""
    text: str | None
    """Entries with these words in their snapshots or description; "of a phrase", or, -without."""
    fields: OneOrMore[str] | None
    """The fields to show, separated by commas, for example to leave out the snapshots; id, timestamp, ``table_name``
    always come.
    """


class EntriesListPage(EntriesListQuery, total=False):
    """Those of a page of ``entries.list``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""
    around: str | None
    """The id of an entry: it comes between those before and after."""
    after: str | None
    """Follow the log, oldest entry first, with none left out: now, start, or ``next_cursor`` of the page before, which
    is never None; an empty page means that there are no more yet.
    """


class EntriesPurgeQuery(TypedDict, total=False):
    """The parameters of ``entries.purge``."""

    older_than: Duration | None
    """Remove older entries, for example 90d; default: retention_days of the configuration."""
    dry_run: bool | None
    """Only count, remove nothing."""
    unsealed: bool | None
    """Also remove entries that no seal has yet, although the log has seals: nothing will ever prove what they said."""


class RecordsEntriesQuery(TypedDict, total=False):
    """The parameters of ``records.entries``."""

    since: PointInTime | None
    """Entries since this time: RFC 3339, or a duration before now such as 1h."""
    until: PointInTime | None
    """Entries before this time: RFC 3339, or a duration before now such as 1h."""
    fields: OneOrMore[str] | None
    """The fields to show, separated by commas, for example to leave out the snapshots; id, timestamp, ``table_name``
    always come.
    """


class RecordsEntriesPage(RecordsEntriesQuery, total=False):
    """Those of a page of ``records.entries``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""


class TransactionsListQuery(TypedDict, total=False):
    """The parameters of ``transactions.list``."""

    since: PointInTime | None
    """Entries since this time: RFC 3339, or a duration before now such as 1h."""
    until: PointInTime | None
    """Entries before this time: RFC 3339, or a duration before now such as 1h."""
    resource: OneOrMore[str] | None
    """Entries of this table: schema.table, or a table in public; repeat it for several."""
    not_resource: OneOrMore[str] | None
    """Entries of tables but for this one; repeat it for several."""
    record: str | None
    """Entries of the record with this key; of several columns as a JSON array, as [7, 2]."""
    actor: OneOrMore[str] | None
    """Entries of this actor; repeat it for several."""
    not_actor: OneOrMore[str] | None
    """Entries but for those of this actor; repeat it for several."""
    tenant: OneOrMore[str] | None
    """Entries of this tenant; repeat it for several."""
    not_tenant: OneOrMore[str] | None
    """Entries but for those of this tenant; repeat it for several."""
    db_user: OneOrMore[str] | None
    """Entries of this user of the database; repeat it for several."""
    operation: OneOrMore[Literal["INSERT", "UPDATE", "DELETE", "TRUNCATE", "SNAPSHOT", "GONE", "DDL", "READ"]] | None
    """Entries of this operation; repeat it for several."""
    not_operation: (
        OneOrMore[Literal["INSERT", "UPDATE", "DELETE", "TRUNCATE", "SNAPSHOT", "GONE", "DDL", "READ"]] | None
    )
    """Entries but for those of this operation; repeat it for several."""
    label: OneOrMore[str] | None
    """Entries with this label; repeat it for several."""
    not_label: OneOrMore[str] | None
    """Entries but for those with this label; repeat it for several."""
    severity: OneOrMore[Literal["low", "medium", "high", "critical"]] | None
    """Entries of this severity; repeat it for several."""
    not_severity: OneOrMore[Literal["low", "medium", "high", "critical"]] | None
    """Entries but for those of this severity; repeat it for several."""
    min_severity: Literal["low", "medium", "high", "critical"] | None
    """Entries of this severity or a higher one."""
    compliance: OneOrMore[str] | None
    """Entries with this tag of compliance; repeat it for several."""
    not_compliance: OneOrMore[str] | None
    """Entries but for those with this tag of compliance; repeat it for several."""
    missing: OneOrMore[Literal["actor", "tenant", "record", "label", "severity", "compliance"]] | None
    """Entries without this value; repeat it for several."""
    changed: OneOrMore[str] | None
    """Updates that changed this field; repeat it for several."""
    transaction: str | None
    """Entries of one transaction, by the ``xact_id`` of any of them."""
    contains: str | None
    """Entries of which a snapshot has these members: a JSON object, as jsonb @> compares."""
    context: str | None
    """Entries whose context has this value, for example the id of a request or an address."""
    text: str | None
    """Entries with these words in their snapshots or description; "of a phrase", or, -without."""


class TransactionsListPage(TransactionsListQuery, total=False):
    """Those of a page of ``transactions.list``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""


class RecordsStatesQuery(TypedDict, total=False):
    """The parameters of ``records.states``."""

    order: Literal["newest", "oldest"] | None
    """Which states come first."""


class RecordsStatesPage(RecordsStatesQuery, total=False):
    """Those of a page of ``records.states``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""


class RecordsBlamePage(TypedDict, total=False):
    """Those of a page of ``records.blame``."""

    cursor: str | None
    """NextCursor of a page that looked at 10,000 entries, for the fields that none of them changed."""


class RecordsAsOfQuery(TypedDict, total=False):
    """The parameters of ``records.as_of``."""

    time: Required[PointInTime]
    """The point in time: RFC 3339, a date, or a duration before now such as 1h."""


class TablesAsOfQuery(TypedDict, total=False):
    """The parameters of ``tables.as_of``."""

    time: Required[PointInTime]
    """The point in time: RFC 3339, a date, or a duration before now such as 1h."""


class TablesAsOfPage(TablesAsOfQuery, total=False):
    """Those of a page of ``tables.as_of``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""


class RecordsTracksQuery(TypedDict, total=False):
    """The parameters of ``records.tracks``."""

    fields_from: int | None
    """The tracks to leave out, those with most ticks: a page has up to 40 of ``field_count``."""


class RecordsTracksPage(RecordsTracksQuery, total=False):
    """Those of a page of ``records.tracks``."""

    limit: int | None
    """The changes of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""


class RecordsRelatedQuery(TypedDict, total=False):
    """The parameters of ``records.related``."""

    steps: int | None
    """1 for rows that refer to the record, 2 also for those that refer to these."""
    time: PointInTime | None
    """A time at which the states of the records are told too: RFC 3339, a date, a duration before now such as 1h, or
    first or last for that of a change of the answer.
    """
    other_time: str | None
    """Another such time."""


class RecordsRelatedPage(RecordsRelatedQuery, total=False):
    """Those of a page of ``records.related``."""

    cursor: str | None
    """NextCursor of a page."""
    limit: int | None
    """The most changes."""


class RecordsReadsQuery(TypedDict, total=False):
    """The parameters of ``records.reads``."""

    since: PointInTime | None
    """Entries since this time: RFC 3339, or a duration before now such as 1h."""
    until: PointInTime | None
    """Entries before this time: RFC 3339, or a duration before now such as 1h."""


class RecordsReadsPage(RecordsReadsQuery, total=False):
    """Those of a page of ``records.reads``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""


class TablesReadsQuery(TypedDict, total=False):
    """The parameters of ``tables.reads``."""

    since: PointInTime | None
    """Entries since this time: RFC 3339, or a duration before now such as 1h."""
    until: PointInTime | None
    """Entries before this time: RFC 3339, or a duration before now such as 1h."""


class TablesReadsPage(TablesReadsQuery, total=False):
    """Those of a page of ``tables.reads``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""


class EntriesRevertQuery(TypedDict, total=False):
    """The parameters of ``entries.revert``."""

    leave: OneOrMore[str] | None
    """A field that is neither changed nor compared, such as one that a trigger sets."""


class TransactionsRevertQuery(TypedDict, total=False):
    """The parameters of ``transactions.revert``."""

    leave: OneOrMore[str] | None
    """A field that is neither changed nor compared, such as one that a trigger sets."""


class SealsListPage(TypedDict, total=False):
    """Those of a page of ``seals.list``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""


class HoldsListQuery(TypedDict, total=False):
    """The parameters of ``holds.list``."""

    lifted: bool | None
    """Also those that were lifted."""
    resource: str | None
    """Holds of this table and of its records: schema.table, or a table in public."""
    record: str | None
    """Holds of the record with that key, or of its table; with resource, also of what it refers to."""


class HoldsListPage(HoldsListQuery, total=False):
    """Those of a page of ``holds.list``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""


class EntriesStatsQuery(TypedDict, total=False):
    """The parameters of ``entries.stats``."""

    since: PointInTime | None
    """Entries since this time: RFC 3339, or a duration before now such as 1h."""
    until: PointInTime | None
    """Entries before this time: RFC 3339, or a duration before now such as 1h."""
    resource: OneOrMore[str] | None
    """Entries of this table: schema.table, or a table in public; repeat it for several."""
    not_resource: OneOrMore[str] | None
    """Entries of tables but for this one; repeat it for several."""
    record: str | None
    """Entries of the record with this key; of several columns as a JSON array, as [7, 2]."""
    actor: OneOrMore[str] | None
    """Entries of this actor; repeat it for several."""
    not_actor: OneOrMore[str] | None
    """Entries but for those of this actor; repeat it for several."""
    tenant: OneOrMore[str] | None
    """Entries of this tenant; repeat it for several."""
    not_tenant: OneOrMore[str] | None
    """Entries but for those of this tenant; repeat it for several."""
    db_user: OneOrMore[str] | None
    """Entries of this user of the database; repeat it for several."""
    operation: OneOrMore[Literal["INSERT", "UPDATE", "DELETE", "TRUNCATE", "SNAPSHOT", "GONE", "DDL", "READ"]] | None
    """Entries of this operation; repeat it for several."""
    not_operation: (
        OneOrMore[Literal["INSERT", "UPDATE", "DELETE", "TRUNCATE", "SNAPSHOT", "GONE", "DDL", "READ"]] | None
    )
    """Entries but for those of this operation; repeat it for several."""
    label: OneOrMore[str] | None
    """Entries with this label; repeat it for several."""
    not_label: OneOrMore[str] | None
    """Entries but for those with this label; repeat it for several."""
    severity: OneOrMore[Literal["low", "medium", "high", "critical"]] | None
    """Entries of this severity; repeat it for several."""
    not_severity: OneOrMore[Literal["low", "medium", "high", "critical"]] | None
    """Entries but for those of this severity; repeat it for several."""
    min_severity: Literal["low", "medium", "high", "critical"] | None
    """Entries of this severity or a higher one."""
    compliance: OneOrMore[str] | None
    """Entries with this tag of compliance; repeat it for several."""
    not_compliance: OneOrMore[str] | None
    """Entries but for those with this tag of compliance; repeat it for several."""
    missing: OneOrMore[Literal["actor", "tenant", "record", "label", "severity", "compliance"]] | None
    """Entries without this value; repeat it for several."""
    changed: OneOrMore[str] | None
    """Updates that changed this field; repeat it for several."""
    transaction: str | None
    """Entries of one transaction, by the ``xact_id`` of any of them."""
    bucket: Literal["minute", "hour", "day"] | None
    """The unit of times; default: minute up to three hours, hour up to seven days, else day."""
    newest: bool | None
    """True to count only the newest 10,000 entries of the range, which costs little."""


class EntriesFacetsQuery(TypedDict, total=False):
    """The parameters of ``entries.facets``."""

    since: PointInTime | None
    """Entries since this time: RFC 3339, or a duration before now such as 1h."""
    until: PointInTime | None
    """Entries before this time: RFC 3339, or a duration before now such as 1h."""
    resource: OneOrMore[str] | None
    """Entries of this table: schema.table, or a table in public; repeat it for several."""
    not_resource: OneOrMore[str] | None
    """Entries of tables but for this one; repeat it for several."""
    record: str | None
    """Entries of the record with this key; of several columns as a JSON array, as [7, 2]."""
    actor: OneOrMore[str] | None
    """Entries of this actor; repeat it for several."""
    not_actor: OneOrMore[str] | None
    """Entries but for those of this actor; repeat it for several."""
    tenant: OneOrMore[str] | None
    """Entries of this tenant; repeat it for several."""
    not_tenant: OneOrMore[str] | None
    """Entries but for those of this tenant; repeat it for several."""
    db_user: OneOrMore[str] | None
    """Entries of this user of the database; repeat it for several."""
    operation: OneOrMore[Literal["INSERT", "UPDATE", "DELETE", "TRUNCATE", "SNAPSHOT", "GONE", "DDL", "READ"]] | None
    """Entries of this operation; repeat it for several."""
    not_operation: (
        OneOrMore[Literal["INSERT", "UPDATE", "DELETE", "TRUNCATE", "SNAPSHOT", "GONE", "DDL", "READ"]] | None
    )
    """Entries but for those of this operation; repeat it for several."""
    label: OneOrMore[str] | None
    """Entries with this label; repeat it for several."""
    not_label: OneOrMore[str] | None
    """Entries but for those with this label; repeat it for several."""
    severity: OneOrMore[Literal["low", "medium", "high", "critical"]] | None
    """Entries of this severity; repeat it for several."""
    not_severity: OneOrMore[Literal["low", "medium", "high", "critical"]] | None
    """Entries but for those of this severity; repeat it for several."""
    min_severity: Literal["low", "medium", "high", "critical"] | None
    """Entries of this severity or a higher one."""
    compliance: OneOrMore[str] | None
    """Entries with this tag of compliance; repeat it for several."""
    not_compliance: OneOrMore[str] | None
    """Entries but for those with this tag of compliance; repeat it for several."""
    missing: OneOrMore[Literal["actor", "tenant", "record", "label", "severity", "compliance"]] | None
    """Entries without this value; repeat it for several."""
    changed: OneOrMore[str] | None
    """Updates that changed this field; repeat it for several."""
    transaction: str | None
    """Entries of one transaction, by the ``xact_id`` of any of them."""
    facet: (
        OneOrMore[Literal["resource", "actor", "tenant", "operation", "severity", "label", "compliance", "time"]] | None
    )
    """A filter to count, or time; default: all; repeat it for several, which cost less than all."""


class EntriesValuesQuery(TypedDict, total=False):
    """The parameters of ``entries.values``."""

    of: Required[Literal["resource", "actor", "tenant", "label"]]
    """The filter whose values are wanted."""
    text: str | None
    """Letters that the values have, in whatever case."""


class TablesListPage(TypedDict, total=False):
    """Those of a page of ``tables.list``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""


class CoverageListQuery(TypedDict, total=False):
    """The parameters of ``coverage.list``."""

    state: Literal["audited", "drifting", "not_audited"] | None
    """Tables in this state."""
    schema: str | None
    """Tables of this schema."""
    text: str | None
    """Tables with these letters in their name or that of their schema."""


class CoverageListPage(CoverageListQuery, total=False):
    """Those of a page of ``coverage.list``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""


class CoverageCountsQuery(TypedDict, total=False):
    """The parameters of ``coverage.counts``."""

    state: Literal["audited", "drifting", "not_audited"] | None
    """Tables in this state."""
    schema: str | None
    """Tables of this schema."""
    text: str | None
    """Tables with these letters in their name or that of their schema."""


class EntriesExportQuery(TypedDict, total=False):
    """The parameters of ``entries.export``."""

    since: PointInTime | None
    """Entries since this time: RFC 3339, or a duration before now such as 1h."""
    until: PointInTime | None
    """Entries before this time: RFC 3339, or a duration before now such as 1h."""
    resource: OneOrMore[str] | None
    """Entries of this table: schema.table, or a table in public; repeat it for several."""
    not_resource: OneOrMore[str] | None
    """Entries of tables but for this one; repeat it for several."""
    record: str | None
    """Entries of the record with this key; of several columns as a JSON array, as [7, 2]."""
    actor: OneOrMore[str] | None
    """Entries of this actor; repeat it for several."""
    not_actor: OneOrMore[str] | None
    """Entries but for those of this actor; repeat it for several."""
    tenant: OneOrMore[str] | None
    """Entries of this tenant; repeat it for several."""
    not_tenant: OneOrMore[str] | None
    """Entries but for those of this tenant; repeat it for several."""
    db_user: OneOrMore[str] | None
    """Entries of this user of the database; repeat it for several."""
    operation: OneOrMore[Literal["INSERT", "UPDATE", "DELETE", "TRUNCATE", "SNAPSHOT", "GONE", "DDL", "READ"]] | None
    """Entries of this operation; repeat it for several."""
    not_operation: (
        OneOrMore[Literal["INSERT", "UPDATE", "DELETE", "TRUNCATE", "SNAPSHOT", "GONE", "DDL", "READ"]] | None
    )
    """Entries but for those of this operation; repeat it for several."""
    label: OneOrMore[str] | None
    """Entries with this label; repeat it for several."""
    not_label: OneOrMore[str] | None
    """Entries but for those with this label; repeat it for several."""
    severity: OneOrMore[Literal["low", "medium", "high", "critical"]] | None
    """Entries of this severity; repeat it for several."""
    not_severity: OneOrMore[Literal["low", "medium", "high", "critical"]] | None
    """Entries but for those of this severity; repeat it for several."""
    min_severity: Literal["low", "medium", "high", "critical"] | None
    """Entries of this severity or a higher one."""
    compliance: OneOrMore[str] | None
    """Entries with this tag of compliance; repeat it for several."""
    not_compliance: OneOrMore[str] | None
    """Entries but for those with this tag of compliance; repeat it for several."""
    missing: OneOrMore[Literal["actor", "tenant", "record", "label", "severity", "compliance"]] | None
    """Entries without this value; repeat it for several."""
    changed: OneOrMore[str] | None
    """Updates that changed this field; repeat it for several."""
    transaction: str | None
    """Entries of one transaction, by the ``xact_id`` of any of them."""
    contains: str | None
    """Entries of which a snapshot has these members: a JSON object, as jsonb @> compares."""
    context: str | None
    """Entries whose context has this value, for example the id of a request or an address."""
    text: str | None
    """Entries with these words in their snapshots or description; "of a phrase", or, -without."""


class EntriesExportFile(EntriesExportQuery, total=False):
    """Those of a file of ``entries.export``."""

    format: Literal["json", "ndjson", "csv"] | None
    """The format of the file."""


class EndpointsListQuery(TypedDict, total=False):
    """The parameters of ``endpoints.list``."""

    status: Literal["active", "paused", "disabled"] | None
    """Endpoints in this state."""
    tenant: str | None
    """Endpoints of this tenant."""
    event: str | None
    """Endpoints that get this event."""
    text: str | None
    """Endpoints with these letters in their description or URL, but for the URL's query."""
    needs_attention: bool | None
    """Endpoints that fail, or whose client certificate ends within 30 days."""
    ids: OneOrMore[str] | None
    """These endpoints, with commas between their ids."""


class EndpointsListPage(EndpointsListQuery, total=False):
    """Those of a page of ``endpoints.list``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""


class EndpointsListHealthQuery(TypedDict, total=False):
    """The parameters of ``endpoints.list_health``."""

    health: Literal["healthy", "failing", "broken", "throttled", "paused", "disabled"] | None
    """Endpoints in this state."""
    tenant: str | None
    """Endpoints of this tenant."""
    needs_attention: bool | None
    """Endpoints that fail, or whose client certificate ends within 30 days."""
    ids: OneOrMore[str] | None
    """These endpoints, with commas between their ids."""


class EndpointsListHealthPage(EndpointsListHealthQuery, total=False):
    """Those of a page of ``endpoints.list_health``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""


class EndpointsStatsQuery(TypedDict, total=False):
    """The parameters of ``endpoints.stats``."""

    window: Duration | None
    """A duration up to 7d; default: 24h."""


class DeliveriesListQuery(TypedDict, total=False):
    """The parameters of ``deliveries.list``."""

    since: PointInTime | None
    """Deliveries created since this time: RFC 3339, or a duration before now such as 1h."""
    until: PointInTime | None
    """Deliveries created before this time: RFC 3339, or a duration before now such as 1h."""
    status: Literal["pending", "delivered", "failed", "canceled"] | None
    """Deliveries in this state."""
    endpoint_id: str | None
    """Deliveries to this endpoint."""
    message_id: str | None
    """Deliveries of this message."""
    event: str | None
    """Deliveries of this event."""
    tenant: str | None
    """Deliveries of the messages of this tenant."""
    payload: str | None
    """Deliveries of the messages whose payload has this value at a key that is searched."""
    transaction: str | None
    """Deliveries of what this transaction sent, by the ``xact_id`` of entries in the audit log."""
    ids: OneOrMore[str] | None
    """These deliveries, with commas between their ids."""
    finished_since: str | None
    """Deliveries that were delivered, failed or canceled since this time: RFC 3339, or a duration before now such as
    1h.
    """
    finished_until: str | None
    """Deliveries that were delivered, failed or canceled before this time: RFC 3339, or a duration before now such as
    1h.
    """


class DeliveriesListPage(DeliveriesListQuery, total=False):
    """Those of a page of ``deliveries.list``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""


class DeliveriesAttemptsPage(TypedDict, total=False):
    """Those of a page of ``deliveries.attempts``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""


class DeliveriesCountsQuery(TypedDict, total=False):
    """The parameters of ``deliveries.counts``."""

    since: PointInTime | None
    """Deliveries created since this time: RFC 3339, or a duration before now such as 1h."""
    until: PointInTime | None
    """Deliveries created before this time: RFC 3339, or a duration before now such as 1h."""
    endpoint_id: str | None
    """Deliveries to this endpoint."""
    message_id: str | None
    """Deliveries of this message."""
    event: str | None
    """Deliveries of this event."""
    tenant: str | None
    """Deliveries of the messages of this tenant."""
    payload: str | None
    """Deliveries of the messages whose payload has this value at a key that is searched."""
    transaction: str | None
    """Deliveries of what this transaction sent, by the ``xact_id`` of entries in the audit log."""
    ids: OneOrMore[str] | None
    """These deliveries, with commas between their ids."""
    finished_since: str | None
    """Deliveries that were delivered, failed or canceled since this time: RFC 3339, or a duration before now such as
    1h.
    """
    finished_until: str | None
    """Deliveries that were delivered, failed or canceled before this time: RFC 3339, or a duration before now such as
    1h.
    """


class DeliveriesCausedQuery(TypedDict, total=False):
    """The parameters of ``deliveries.caused``."""

    ids: Required[OneOrMore[str]]
    """The ``xact_id`` of the transactions, up to 100, with commas between them."""


class MessagesListQuery(TypedDict, total=False):
    """The parameters of ``messages.list``."""

    event: str | None
    """Messages of this event."""
    tenant: str | None
    """Messages of this tenant."""
    payload: str | None
    """Messages whose payload has this value at a key that is searched."""
    transaction: str | None
    """Messages that this transaction sent, by the ``xact_id`` of entries in the audit log."""
    since: PointInTime | None
    """Messages sent since this time: RFC 3339, or a duration before now such as 1h."""
    until: PointInTime | None
    """Messages sent before this time: RFC 3339, or a duration before now such as 1h."""
    ids: OneOrMore[str] | None
    """These messages, with commas between their ids."""


class MessagesListPage(MessagesListQuery, total=False):
    """Those of a page of ``messages.list``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""


class MessagesTryFilterQuery(TypedDict, total=False):
    """The parameters of ``messages.try_filter``."""

    filter: Required[str]
    """The SQL/JSON path that payloads must meet."""
    event: OneOrMore[str] | None
    """An event of the endpoint, or a pattern as order.*; repeat it for several; all by default."""
    tenant: str | None
    """The tenant of the endpoint; without it, messages of all count."""


class TrafficGetQuery(TypedDict, total=False):
    """The parameters of ``traffic.get``."""

    by: Literal["minute", "hour", "day"] | None
    """The length of a bucket."""
    since: PointInTime | None
    """The beginning: RFC 3339, or a duration before now; default: 1h by minute, 1d by hour, 7d by day."""
    until: PointInTime | None
    """The end; default: now."""
    endpoint_id: str | None
    """Only what was sent to one endpoint."""


class EndpointsActivityQuery(TypedDict, total=False):
    """The parameters of ``endpoints.activity``."""

    ids: Required[OneOrMore[str]]
    """The ids of up to 100 endpoints, with commas between them."""
    hours: int | None
    """How many hours back."""


class DeliveriesValuesQuery(TypedDict, total=False):
    """The parameters of ``deliveries.values``."""

    of: Required[Literal["endpoint", "event", "tenant", "payload"]]
    """The filter whose values are wanted."""
    text: str | None
    """Letters that the values have, in whatever case; of an endpoint its description, or its URL without the query; of
    a payload the key.
    """


class TenantsListQuery(TypedDict, total=False):
    """The parameters of ``tenants.list``."""

    text: str | None
    """Tenants with these letters in their name."""


class TenantsListPage(TenantsListQuery, total=False):
    """Those of a page of ``tenants.list``."""

    limit: int | None
    """The size of a page."""
    cursor: str | None
    """NextCursor of a page."""
    before: str | None
    """PrevCursor of a page, for the page before it."""


class TenantsUseQuery(TypedDict, total=False):
    """The parameters of ``tenants.use``."""

    id: OneOrMore[str] | None
    """A tenant."""


class ChangeDeliveriesRequest(TypedDict, total=False):
    """The deliveries to change: all that meet each condition that is given; at least one is."""

    dry_run: bool
    """Only count them. Default: false."""
    since: PointInTime | None
    """Deliveries created since this time."""
    until: PointInTime | None
    """Deliveries created before this time."""
    status: Literal["pending", "delivered", "failed", "canceled"] | None
    """Deliveries in this state."""
    endpoint_id: str | None
    """Deliveries to this endpoint."""
    message_id: str | None
    """Deliveries of this message."""
    event: str | None
    """Deliveries of this event."""
    tenant: str | None
    """Deliveries of the messages of this tenant."""
    payload: str | None
    """Deliveries of the messages whose payload has this value at a key that is searched."""
    transaction: str | None
    """Deliveries of what this transaction sent, by the ``xact_id`` of entries in the audit log."""
    ids: Sequence[str] | None
    """These deliveries."""
    finished_since: str | None
    """Deliveries that were delivered, failed or canceled since this time."""
    finished_until: str | None
    """Deliveries that were delivered, failed or canceled before this time."""


class ClaimRequest(TypedDict, total=False):
    """The sign-in that this device began."""

    session_id: Required[str]
    """The id of the sign-in."""


class TlsMaterial(TypedDict, total=False):
    """Authorities to trust, and the client certificate to show, in PEM."""

    ca_bundle: str | None
    """The authorities to trust in place of the system's."""
    client_certificate: str | None
    """With those between it and its authority."""
    client_key: str | None
    """The private key of the certificate, not encrypted."""


class CreateEndpointRequest(TypedDict, total=False):
    """An endpoint to register."""

    description: str
    """A note for people."""
    headers: Mapping[str, str]
    """Sent with every attempt; up to 8 KiB, not read back."""
    filter: str | None
    """An SQL/JSON path predicate; only messages whose payload meets it are sent."""
    ordering: Literal["none", "key", "strict"]
    """``key`` and ``strict`` send the messages of a key in order. Default: ``none``."""
    max_in_flight: int
    """Attempts under way at a time. Default: 8."""
    rate_per_second: int | None
    """Attempts that begin in a second."""
    timeout: Seconds
    """Seconds an attempt may take. Default: 15."""
    signatures: Sequence[Literal["v1", "v1a"]]
    """``v1`` by a secret, ``v1a`` by a key pair. Default: [``v1``]."""
    tls: TlsMaterial | None
    """For private receivers; it cannot be read back."""
    url_by: Literal["operator", "customer"]
    """Who gave the URL: a ``customer``, whose URLs lead to public addresses alone. Default: ``operator``."""
    url: Required[str]
    """The address to POST to: https and public, unless the configuration allows others."""
    events: Required[Sequence[str]]
    """Names of events, ``order.*`` or ``*``."""
    tenant: str | None
    """Only messages of this tenant."""


class CreatePortalSessionRequest(TypedDict, total=False):
    """The tenant whose webhooks a customer may manage, and the seconds for which the session lasts."""

    tenant: Required[str]
    """The tenant whose webhooks the customer may manage."""
    expires_in: Seconds
    """The seconds for which the session lasts. Default: 3600."""


class CreateTenantRequest(TypedDict, total=False):
    """A tenant to add."""

    name: Required[str]
    """For people; one line, without spaces around it."""
    id: str | None
    """As entries, messages and endpoints name it. Default: the table makes one, svc.tenants a UUID."""


class CreateTokenRequest(TypedDict, total=False):
    """The token of a program."""

    name: Required[str]
    """The actor of its changes is token:name."""
    permission: Required[Literal["read", "write", "admin"]]
    """The greatest permission of it; each includes those before it."""
    tenant: str | None
    """Only what is this tenant's."""
    expires_in: Seconds
    """The seconds for which it lasts. Default: 7776000."""


class CreateViewRequest(TypedDict, total=False):
    """A question to keep."""

    of: Required[Literal["audit", "deliveries", "messages", "endpoints"]]
    """The list of which it is a question."""
    name: Required[str]
    """One line, without spaces around it, which no other view of the list has."""
    question: Required[str]
    """As the bar of the list takes it. Its yesterday is that of the day on which it is opened."""


class DisableEndpointRequest(TypedDict, total=False):
    """The reason for disabling an endpoint."""

    reason: str
    """For people: its ``disabled_reason``. Default: "disabled by hand"."""


class MagicLinkRequest(TypedDict, total=False):
    """The address that the code goes to. ``known_device`` is from an earlier sign-in with it, if there was one."""

    email: Required[str]
    """The address that the code goes to."""
    known_device: str | None
    """Gives the device limits of its own, which no stranger can use up."""


class OpenPortalRequest(TypedDict, total=False):
    """The token of a link."""

    token: Required[str]
    """The token of the link, from its address."""


class RecoverEndpointRequest(TypedDict, total=False):
    """The deliveries of an endpoint to try again."""

    dry_run: bool
    """Only count them. Default: false."""
    since: PointInTime | None
    """Deliveries created since this time."""
    until: PointInTime | None
    """Deliveries created before this time."""


class ReplayMessagesRequest(TypedDict, total=False):
    """The messages to deliver to an endpoint once more; since or after is needed."""

    dry_run: bool
    """Only count them. Default: false."""
    by: Literal["sent", "finished"]
    """The time for since and until: finished is when a delivery failed or was canceled. Default: ``sent``."""
    new_ids: bool
    """Send copies with ids of their own. Default: false."""
    after: str | None
    """The ``next_cursor`` of the batch before, with the same options."""
    since: PointInTime | None
    """Messages sent since this time."""
    until: PointInTime | None
    """Messages sent before this time."""
    event: str | None
    """Messages of this event."""
    status: Literal["delivered", "failed", "canceled", "missing"] | None
    """Messages whose delivery is in this state; missing: that the endpoint wants and never got."""


class RotateSecretRequest(TypedDict, total=False):
    """The seconds for which the previous secret and key pair sign too."""

    overlap: Seconds
    """For so many seconds they sign too. Default: 86400."""


class SendEventRequest(TypedDict, total=False):
    """An event to send."""

    event: Required[str]
    """The name of the event."""
    payload: Required[object]
    """Any JSON; delivered as it was written."""
    tenant: str | None
    """Only its endpoints, and those without a tenant, get it."""
    delay: Seconds
    """Seconds to wait before the first attempt. Default: 0."""
    key: str | None
    """Numbers the messages of this key in the order of commits; at most 255 bytes."""


class UpdateEndpointRequest(TypedDict, total=False):
    """Changes of an endpoint; fields that are left out stay. ``headers`` and ``tls`` replace the former ones.

    None removes the filter, the rate or the TLS material. Another origin of the URL loses headers and TLS material
    unless they are given too.
    """

    description: str
    """A note for people."""
    headers: Mapping[str, str]
    """Sent with every attempt; up to 8 KiB, not read back."""
    filter: str | None
    """An SQL/JSON path predicate; only messages whose payload meets it are sent."""
    ordering: Literal["none", "key", "strict"]
    """``key`` and ``strict`` send the messages of a key in order."""
    max_in_flight: int
    """Attempts under way at a time."""
    rate_per_second: int | None
    """Attempts that begin in a second."""
    timeout: Seconds
    """Seconds an attempt may take."""
    signatures: Sequence[Literal["v1", "v1a"]]
    """``v1`` by a secret, ``v1a`` by a key pair."""
    tls: TlsMaterial | None
    """For private receivers; it cannot be read back."""
    url_by: Literal["operator", "customer"]
    """Who gave the URL: a ``customer``, whose URLs lead to public addresses alone."""
    url: str
    """The new address."""
    events: Sequence[str]
    """The new list."""


class UpdateTenantRequest(TypedDict, total=False):
    """The new name of a tenant."""

    name: Required[str]
    """For people; one line, without spaces around it."""


class UpdateViewRequest(TypedDict, total=False):
    """Changes of a view; fields that are left out stay."""

    name: str
    """One line, without spaces around it, which no other view of the list has."""
    question: str
    """As the bar of the list takes it. Its yesterday is that of the day on which it is opened."""


class VerifyRequest(TypedDict, total=False):
    """A code as somebody typed it: case, spaces and hyphens do not matter."""

    session_id: Required[str]
    """The id of the sign-in."""
    code: Required[str]
    """The code as somebody typed it."""
