"""The methods of AsyncClient, made of docs/openapi.json by tests/support/client_source.py."""

# ruff: noqa: A002 - names of the API

from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal, Unpack

from svc_pg.client.answers import Page
from svc_pg.client.generated import models, requests
from svc_pg.client.generated import operations as ops
from svc_pg.client.operations import Arguments
from svc_pg.client.performing import AsyncApi
from svc_pg.client.streams import AsyncStream, Lines, Parts, ServerEvent, ServerEvents

__all__ = [
    "AsyncBacklog",
    "AsyncCapabilities",
    "AsyncChanges",
    "AsyncConsoleEvents",
    "AsyncCoverage",
    "AsyncDataChanges",
    "AsyncDeliveries",
    "AsyncEndpoints",
    "AsyncEntries",
    "AsyncEventTypes",
    "AsyncEvents",
    "AsyncHealth",
    "AsyncHolds",
    "AsyncMessages",
    "AsyncOpenapi",
    "AsyncOwnSessions",
    "AsyncOwnViews",
    "AsyncPortal",
    "AsyncPortalSessions",
    "AsyncReady",
    "AsyncRecords",
    "AsyncSeals",
    "AsyncSession",
    "AsyncSessions",
    "AsyncSignIn",
    "AsyncSuggestions",
    "AsyncSystem",
    "AsyncTables",
    "AsyncTenants",
    "AsyncTokens",
    "AsyncTraffic",
    "AsyncTransactions",
    "AsyncViews",
]


class AsyncOpenapi:
    """The operations ``openapi``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def get(self) -> dict[str, Any]:
        """This document.

        It is the same without a session, and on every console of this version with the same products. Needs no session.
        """
        return await self._api.answer(ops.OPENAPI_GET)


class AsyncHealth:
    """The operations ``health``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def get(self) -> models.Health:
        """Whether the console answers.

        Needs no session.
        """
        return await self._api.answer(ops.HEALTH_GET)


class AsyncReady:
    """The operations ``ready``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def get(self) -> models.ReadinessReport:
        """Whether the console reads its tables.

        Needs no session.
        """
        return await self._api.answer(ops.READY_GET)


class AsyncCapabilities:
    """The operations ``capabilities``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def get(self) -> models.Capabilities:
        """Products, sign-in methods and permissions.

        Needs no session.
        """
        return await self._api.answer(ops.CAPABILITIES_GET)


class AsyncPortal:
    """The operations ``portal``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def open(self, **body: Unpack[requests.OpenPortalRequest]) -> models.OpenedPortalSession:
        """Turn a link to the portal into a session of its pages, once.

        Needs no session.
        """
        return await self._api.answer(ops.PORTAL_OPEN, Arguments(body=body))


class AsyncSignIn:
    """The operations ``sign_in``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def begin(self, **body: Unpack[requests.MagicLinkRequest]) -> models.PendingSignIn:
        """Have a code mailed, and get the token that binds it to this device.

        Needs no session.
        """
        return await self._api.answer(ops.SIGN_IN_BEGIN, Arguments(body=body))

    async def verify(self, *, device_token: str, **body: Unpack[requests.VerifyRequest]) -> models.Verified:
        """Try the code.

        Needs the token of a device.
        """
        return await self._api.answer(ops.SIGN_IN_VERIFY, Arguments(device_token=device_token, body=body))

    async def poll(self, *, device_token: str, **query: Unpack[requests.SignInPollQuery]) -> models.SignInState:
        """Ask for the state of a sign-in.

        Needs the token of a device.
        """
        return await self._api.answer(ops.SIGN_IN_POLL, Arguments(device_token=device_token, query=query))

    async def claim(self, *, device_token: str, **body: Unpack[requests.ClaimRequest]) -> models.ClaimedSession:
        """Get the session of a verified code; again, within two minutes, if the answer was lost.

        Needs the token of a device.
        """
        return await self._api.answer(ops.SIGN_IN_CLAIM, Arguments(device_token=device_token, body=body))


class AsyncSession:
    """The operations ``session``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def get(self) -> models.Session:
        """The user's own session and permission.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.SESSION_GET)

    async def delete(self) -> None:
        """Sign out.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.SESSION_DELETE)


class AsyncOwnSessions:
    """The operations ``own_sessions``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(self, **query: Unpack[requests.OwnSessionsListPage]) -> Page[models.SessionRecord]:
        """The user's own sessions, newest first.

        Needs the permission read.
        """
        return await self._api.answer(ops.OWN_SESSIONS_LIST, Arguments(query=query))

    def iterate(
        self, *, page_size: int | None = None, **query: Unpack[requests.OwnSessionsListQuery]
    ) -> AsyncIterator[models.SessionRecord]:
        """As ``list``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.OWN_SESSIONS_LIST, Arguments(query=query), page_size)

    async def get(self, id: str) -> models.SessionRecord:
        """One of the user's own sessions.

        Needs the permission read.
        """
        return await self._api.answer(ops.OWN_SESSIONS_GET, Arguments(path=[id]))

    async def revoke(self, id: str) -> None:
        """End one of the user's own sessions.

        Needs the permission read.
        """
        return await self._api.answer(ops.OWN_SESSIONS_REVOKE, Arguments(path=[id]))


class AsyncSessions:
    """The operations ``sessions``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(self, **query: Unpack[requests.SessionsListPage]) -> Page[models.SessionRecord]:
        """Everybody's sessions, newest first.

        Needs the permission admin.
        """
        return await self._api.answer(ops.SESSIONS_LIST, Arguments(query=query))

    def iterate(
        self, *, page_size: int | None = None, **query: Unpack[requests.SessionsListQuery]
    ) -> AsyncIterator[models.SessionRecord]:
        """As ``list``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.SESSIONS_LIST, Arguments(query=query), page_size)

    async def get(self, id: str) -> models.SessionRecord:
        """One session.

        Needs the permission admin.
        """
        return await self._api.answer(ops.SESSIONS_GET, Arguments(path=[id]))

    async def revoke(self, id: str) -> None:
        """End a session.

        Needs the permission admin.
        """
        return await self._api.answer(ops.SESSIONS_REVOKE, Arguments(path=[id]))


class AsyncTokens:
    """The operations ``tokens``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(self, **query: Unpack[requests.TokensListPage]) -> Page[models.ApiToken]:
        """The tokens of programs, newest first.

        Needs the permission admin.
        """
        return await self._api.answer(ops.TOKENS_LIST, Arguments(query=query))

    def iterate(
        self, *, page_size: int | None = None, **query: Unpack[requests.TokensListQuery]
    ) -> AsyncIterator[models.ApiToken]:
        """As ``list``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.TOKENS_LIST, Arguments(query=query), page_size)

    async def create(
        self, *, idempotency_key: str | None = None, **body: Unpack[requests.CreateTokenRequest]
    ) -> models.CreatedToken:
        """Make a token for a program; the answer holds it, this once.

        Needs the permission admin.
        """
        return await self._api.answer(ops.TOKENS_CREATE, Arguments(idempotency_key=idempotency_key, body=body))

    async def get(self, id: str) -> models.ApiToken:
        """The token of a program, without its secret.

        Needs the permission admin.
        """
        return await self._api.answer(ops.TOKENS_GET, Arguments(path=[id]))

    async def revoke(self, id: str) -> None:
        """End the token of a program.

        Needs the permission admin.
        """
        return await self._api.answer(ops.TOKENS_REVOKE, Arguments(path=[id]))


class AsyncViews:
    """The operations ``views``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(self, **query: Unpack[requests.ViewsListPage]) -> Page[models.NamedView]:
        """The views of the team and one's own, by name.

        Needs the permission read.
        """
        return await self._api.answer(ops.VIEWS_LIST, Arguments(query=query))

    def iterate(
        self, *, page_size: int | None = None, **query: Unpack[requests.ViewsListQuery]
    ) -> AsyncIterator[models.NamedView]:
        """As ``list``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.VIEWS_LIST, Arguments(query=query), page_size)

    async def create(
        self, *, idempotency_key: str | None = None, **body: Unpack[requests.CreateViewRequest]
    ) -> models.NamedView:
        """Keep a question as a view of the team.

        Needs the permission write.
        """
        return await self._api.answer(ops.VIEWS_CREATE, Arguments(idempotency_key=idempotency_key, body=body))

    async def get(self, id: str) -> models.NamedView:
        """A view of the team, or one's own.

        Needs the permission read.
        """
        return await self._api.answer(ops.VIEWS_GET, Arguments(path=[id]))

    async def update(
        self, id: str, *, if_match: str | None = "*", **body: Unpack[requests.UpdateViewRequest]
    ) -> models.NamedView:
        """Rename a view of the team, or give it another question; with If-Match only if nobody else changed it.

        Needs the permission write.
        """
        return await self._api.answer(ops.VIEWS_UPDATE, Arguments(path=[id], if_match=if_match, body=body or None))

    async def delete(self, id: str) -> None:
        """Delete a view of the team.

        Needs the permission write.
        """
        return await self._api.answer(ops.VIEWS_DELETE, Arguments(path=[id]))


class AsyncOwnViews:
    """The operations ``own_views``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def create(
        self, *, idempotency_key: str | None = None, **body: Unpack[requests.CreateViewRequest]
    ) -> models.NamedView:
        """Keep a question as a view of one's own.

        Needs the permission read.
        """
        return await self._api.answer(ops.OWN_VIEWS_CREATE, Arguments(idempotency_key=idempotency_key, body=body))

    async def update(
        self, id: str, *, if_match: str | None = "*", **body: Unpack[requests.UpdateViewRequest]
    ) -> models.NamedView:
        """Rename a view of one's own, or give it another question; with If-Match only if nobody else changed it.

        Needs the permission read.
        """
        return await self._api.answer(ops.OWN_VIEWS_UPDATE, Arguments(path=[id], if_match=if_match, body=body or None))

    async def delete(self, id: str) -> None:
        """Delete a view of one's own.

        Needs the permission read.
        """
        return await self._api.answer(ops.OWN_VIEWS_DELETE, Arguments(path=[id]))


class AsyncConsoleEvents:
    """The operations ``console_events``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(self, **query: Unpack[requests.ConsoleEventsListPage]) -> Page[models.ConsoleEvent]:
        """The events of the console, newest first: sign-ins, exports, refused calls, tokens, views.

        Needs the permission admin.
        """
        return await self._api.answer(ops.CONSOLE_EVENTS_LIST, Arguments(query=query))

    def iterate(
        self, *, page_size: int | None = None, **query: Unpack[requests.ConsoleEventsListQuery]
    ) -> AsyncIterator[models.ConsoleEvent]:
        """As ``list``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.CONSOLE_EVENTS_LIST, Arguments(query=query), page_size)


class AsyncDataChanges:
    """The operations ``data_changes``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(self, **query: Unpack[requests.DataChangesListPage]) -> Page[models.Entry]:
        """Changes of endpoints, tenants, sessions and tokens, newest first; without the audit trail too.

        Needs the permission read.
        """
        return await self._api.answer(ops.DATA_CHANGES_LIST, Arguments(query=query))

    def iterate(
        self, *, page_size: int | None = None, **query: Unpack[requests.DataChangesListQuery]
    ) -> AsyncIterator[models.Entry]:
        """As ``list``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.DATA_CHANGES_LIST, Arguments(query=query), page_size)


class AsyncSystem:
    """The operations ``system``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def get(self) -> models.SystemStatus:
        """Versions, workers, sizes, retention, and how the database differs from the configuration.

        Needs the permission read.
        """
        return await self._api.answer(ops.SYSTEM_GET)


class AsyncSuggestions:
    """The operations ``suggestions``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(self, **query: Unpack[requests.SuggestionsListQuery]) -> models.Suggestions:
        """Things and actions that a text may mean, of those that the session may see and do.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.SUGGESTIONS_LIST, Arguments(query=query))


class AsyncChanges:
    """The operations ``changes``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    def stream(self) -> AsyncStream[ServerEvent]:
        """Events that name the topics that changed: audit, deliveries, endpoints, console; for 10 minutes.

        Needs the permission read.
        """
        return self._api.stream(ops.CHANGES_STREAM, ServerEvents)


class AsyncEntries:
    """The operations ``entries``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(self, **query: Unpack[requests.EntriesListPage]) -> Page[models.Entry]:
        """Entries, newest first.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.ENTRIES_LIST, Arguments(query=query))

    def iterate(
        self, *, page_size: int | None = None, **query: Unpack[requests.EntriesListQuery]
    ) -> AsyncIterator[models.Entry]:
        """As ``list``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.ENTRIES_LIST, Arguments(query=query), page_size)

    async def purge(self, **query: Unpack[requests.EntriesPurgeQuery]) -> models.PurgeReport:
        """Remove old entries, and record that.

        Needs the permission admin.
        """
        return await self._api.answer(ops.ENTRIES_PURGE, Arguments(query=query))

    async def get(self, id: str) -> models.Entry:
        """One entry.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.ENTRIES_GET, Arguments(path=[id]))

    async def diff(self, id: str) -> models.EntryDiff:
        """The fields that one entry changed, and a JSON Patch.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.ENTRIES_DIFF, Arguments(path=[id]))

    async def revert(self, id: str, **query: Unpack[requests.EntriesRevertQuery]) -> models.Revert:
        """The SQL that takes one entry back, for somebody to read and run; nothing is executed.

        Needs the permission read.
        """
        return await self._api.answer(ops.ENTRIES_REVERT, Arguments(path=[id], query=query))

    async def seal(self, id: str) -> models.EntrySeal:
        """The seal of one entry.

        Needs the permission read.
        """
        return await self._api.answer(ops.ENTRIES_SEAL, Arguments(path=[id]))

    async def proof(self, id: str) -> dict[str, Any]:
        """The proof that one entry was in the log when its seal was made, to check with the public key.

        Needs the permission write.
        """
        return await self._api.answer(ops.ENTRIES_PROOF, Arguments(path=[id]))

    async def certificate(self, id: str) -> models.Certificate:
        """One entry with what proves it, whatever its state, to verify with the public key.

        Needs the permission write.
        """
        return await self._api.answer(ops.ENTRIES_CERTIFICATE, Arguments(path=[id]))

    async def erasure(self, id: str) -> models.Certificate:
        """The entry that tells of an erasure, and what is left of the entries that it erased, proven.

        Needs the permission write.
        """
        return await self._api.answer(ops.ENTRIES_ERASURE, Arguments(path=[id]))

    async def stats(self, **query: Unpack[requests.EntriesStatsQuery]) -> models.AuditStats:
        """Counts of entries by time, table, actor, operation and severity.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.ENTRIES_STATS, Arguments(query=query))

    async def facets(self, **query: Unpack[requests.EntriesFacetsQuery]) -> models.Facets:
        """The values of each filter among the newest entries, with counts, and these by time.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.ENTRIES_FACETS, Arguments(query=query))

    async def values(self, **query: Unpack[requests.EntriesValuesQuery]) -> models.KnownValues:
        """Values of a filter that have some letters, for example of all actors of the log.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.ENTRIES_VALUES, Arguments(query=query))

    def export(self, **query: Unpack[requests.EntriesExportQuery]) -> AsyncStream[models.Entry]:
        """All entries as a file, oldest first.

        Needs the permission write.
        """
        return self._api.stream(ops.ENTRIES_EXPORT, lambda most: Lines(models.Entry, most), Arguments(query=query))

    def export_file(
        self, *, format: Literal["json", "ndjson", "csv"] = "ndjson", **query: Unpack[requests.EntriesExportQuery]
    ) -> AsyncStream[bytes]:
        """As ``export``, but the parts of a file, to be written one after the other."""
        return self._api.stream(ops.ENTRIES_EXPORT, lambda _: Parts(), Arguments(query={**query, "format": format}))


class AsyncRecords:
    """The operations ``records``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def entries(self, table: str, id: str, **query: Unpack[requests.RecordsEntriesPage]) -> Page[models.Entry]:
        """The entries of one record in the order of change, newest first.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.RECORDS_ENTRIES, Arguments(path=[table, id], query=query))

    def iterate_entries(
        self, table: str, id: str, *, page_size: int | None = None, **query: Unpack[requests.RecordsEntriesQuery]
    ) -> AsyncIterator[models.Entry]:
        """As ``entries``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.RECORDS_ENTRIES, Arguments(path=[table, id], query=query), page_size)

    async def states(
        self, table: str, id: str, **query: Unpack[requests.RecordsStatesPage]
    ) -> Page[models.RecordState]:
        """The states of one record with the times from which and to which each was there, newest first.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.RECORDS_STATES, Arguments(path=[table, id], query=query))

    def iterate_states(
        self, table: str, id: str, *, page_size: int | None = None, **query: Unpack[requests.RecordsStatesQuery]
    ) -> AsyncIterator[models.RecordState]:
        """As ``states``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.RECORDS_STATES, Arguments(path=[table, id], query=query), page_size)

    async def blame(self, table: str, id: str, **query: Unpack[requests.RecordsBlamePage]) -> Page[models.FieldOrigin]:
        """Each field of a record with the entry that last changed it.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.RECORDS_BLAME, Arguments(path=[table, id], query=query))

    def iterate_blame(self, table: str, id: str, *, page_size: int | None = None) -> AsyncIterator[models.FieldOrigin]:
        """As ``blame``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.RECORDS_BLAME, Arguments(path=[table, id]), page_size)

    async def as_of(self, table: str, id: str, **query: Unpack[requests.RecordsAsOfQuery]) -> models.PastRow:
        """A record as it was at a time.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.RECORDS_AS_OF, Arguments(path=[table, id], query=query))

    async def tracks(self, table: str, id: str, **query: Unpack[requests.RecordsTracksPage]) -> models.RecordTracks:
        """The newest changes of one record, with a track for each field that changed.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.RECORDS_TRACKS, Arguments(path=[table, id], query=query))

    async def related(self, table: str, id: str, **query: Unpack[requests.RecordsRelatedPage]) -> models.RelatedHistory:
        """The changes of a record and of the rows that referred to it by foreign keys, newest first.

        The entries of the log decide which rows referred to it when: a deleted one is there, and one that was moved to
        another record is there for its time. ``tables`` tells how far the entries of each table were looked at. Needs
        the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.RECORDS_RELATED, Arguments(path=[table, id], query=query))

    async def reads(self, table: str, id: str, **query: Unpack[requests.RecordsReadsPage]) -> Page[models.RecordRead]:
        """The reads of one record, the newest first, if those of its table are recorded.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.RECORDS_READS, Arguments(path=[table, id], query=query))

    def iterate_reads(
        self, table: str, id: str, *, page_size: int | None = None, **query: Unpack[requests.RecordsReadsQuery]
    ) -> AsyncIterator[models.RecordRead]:
        """As ``reads``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.RECORDS_READS, Arguments(path=[table, id], query=query), page_size)

    async def certificate(self, table: str, id: str) -> models.Certificate:
        """The newest entries of one record with what proves them, 20 at most.

        Needs the permission write.
        """
        return await self._api.answer(ops.RECORDS_CERTIFICATE, Arguments(path=[table, id]))


class AsyncTransactions:
    """The operations ``transactions``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(self, **query: Unpack[requests.TransactionsListPage]) -> Page[models.LoggedTransaction]:
        """Transactions with what they changed, newest first.

        Each with its first entries that the filters select. A page looks at 1,000 entries, so that it may be short, or
        empty, and have a ``next_cursor``. A transaction that ran beside others may have entries on several pages. Needs
        the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.TRANSACTIONS_LIST, Arguments(query=query))

    def iterate(
        self, *, page_size: int | None = None, **query: Unpack[requests.TransactionsListQuery]
    ) -> AsyncIterator[models.LoggedTransaction]:
        """As ``list``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.TRANSACTIONS_LIST, Arguments(query=query), page_size)

    async def revert(self, id: str, **query: Unpack[requests.TransactionsRevertQuery]) -> models.Revert:
        """The SQL that takes one transaction back, for somebody to read and run; nothing is executed.

        Needs the permission read.
        """
        return await self._api.answer(ops.TRANSACTIONS_REVERT, Arguments(path=[id], query=query))


class AsyncTables:
    """The operations ``tables``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def as_of(self, table: str, **query: Unpack[requests.TablesAsOfPage]) -> Page[models.PastRow]:
        """The rows of a table as they were at a time, in the order of their keys.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.TABLES_AS_OF, Arguments(path=[table], query=query))

    def iterate_as_of(
        self, table: str, *, page_size: int | None = None, **query: Unpack[requests.TablesAsOfQuery]
    ) -> AsyncIterator[models.PastRow]:
        """As ``as_of``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.TABLES_AS_OF, Arguments(path=[table], query=query), page_size)

    async def silences(self, table: str) -> Page[models.Silence]:
        """The newest 100 times in which capture of a table was not right, the newest first.

        Needs the permission read.
        """
        return await self._api.answer(ops.TABLES_SILENCES, Arguments(path=[table]))

    async def reads(self, table: str, **query: Unpack[requests.TablesReadsPage]) -> Page[models.RecordRead]:
        """The reads of records of a table, the newest first, if these are recorded.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.TABLES_READS, Arguments(path=[table], query=query))

    def iterate_reads(
        self, table: str, *, page_size: int | None = None, **query: Unpack[requests.TablesReadsQuery]
    ) -> AsyncIterator[models.RecordRead]:
        """As ``reads``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.TABLES_READS, Arguments(path=[table], query=query), page_size)

    async def list(self, **query: Unpack[requests.TablesListPage]) -> Page[models.CapturedTable]:
        """The audited tables by name, with their rules and the state of capture.

        Needs the permission read.
        """
        return await self._api.answer(ops.TABLES_LIST, Arguments(query=query))

    def iterate(self, *, page_size: int | None = None) -> AsyncIterator[models.CapturedTable]:
        """As ``list``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.TABLES_LIST, Arguments(), page_size)


class AsyncSeals:
    """The operations ``seals``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(self, **query: Unpack[requests.SealsListPage]) -> Page[models.AuditSeal]:
        """The seals of the log, newest first.

        Needs the permission read.
        """
        return await self._api.answer(ops.SEALS_LIST, Arguments(query=query))

    def iterate(self, *, page_size: int | None = None) -> AsyncIterator[models.AuditSeal]:
        """As ``list``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.SEALS_LIST, Arguments(), page_size)

    async def keys(self) -> models.SealPublicKeys:
        """The public keys of seals that the console knows, with their fingerprints.

        Needs the permission read.
        """
        return await self._api.answer(ops.SEALS_KEYS)


class AsyncHolds:
    """The operations ``holds``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(self, **query: Unpack[requests.HoldsListPage]) -> Page[models.Hold]:
        """Legal holds, newest first.

        Needs the permission read.
        """
        return await self._api.answer(ops.HOLDS_LIST, Arguments(query=query))

    def iterate(
        self, *, page_size: int | None = None, **query: Unpack[requests.HoldsListQuery]
    ) -> AsyncIterator[models.Hold]:
        """As ``list``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.HOLDS_LIST, Arguments(query=query), page_size)


class AsyncCoverage:
    """The operations ``coverage``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(self, **query: Unpack[requests.CoverageListPage]) -> Page[models.CoveredTable]:
        """Each table of the database by name: audited or not, why not, and its entries by day.

        Needs the permission read.
        """
        return await self._api.answer(ops.COVERAGE_LIST, Arguments(query=query))

    def iterate(
        self, *, page_size: int | None = None, **query: Unpack[requests.CoverageListQuery]
    ) -> AsyncIterator[models.CoveredTable]:
        """As ``list``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.COVERAGE_LIST, Arguments(query=query), page_size)

    async def counts(self, **query: Unpack[requests.CoverageCountsQuery]) -> models.CoverageCounts:
        """The number of tables in each state, and the schemas of the database.

        Needs the permission read.
        """
        return await self._api.answer(ops.COVERAGE_COUNTS, Arguments(query=query))


class AsyncEndpoints:
    """The operations ``endpoints``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(self, **query: Unpack[requests.EndpointsListPage]) -> Page[models.Endpoint]:
        """Endpoints, newest first.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.ENDPOINTS_LIST, Arguments(query=query))

    def iterate(
        self, *, page_size: int | None = None, **query: Unpack[requests.EndpointsListQuery]
    ) -> AsyncIterator[models.Endpoint]:
        """As ``list``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.ENDPOINTS_LIST, Arguments(query=query), page_size)

    async def create(
        self, *, idempotency_key: str | None = None, **body: Unpack[requests.CreateEndpointRequest]
    ) -> models.RegisteredEndpoint:
        """Register an endpoint; the answer holds its secret, this once.

        Needs the permission write. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.ENDPOINTS_CREATE, Arguments(idempotency_key=idempotency_key, body=body))

    async def list_health(self, **query: Unpack[requests.EndpointsListHealthPage]) -> Page[models.EndpointHealth]:
        """The health of endpoints, newest first.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.ENDPOINTS_LIST_HEALTH, Arguments(query=query))

    def iterate_health(
        self, *, page_size: int | None = None, **query: Unpack[requests.EndpointsListHealthQuery]
    ) -> AsyncIterator[models.EndpointHealth]:
        """As ``list_health``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.ENDPOINTS_LIST_HEALTH, Arguments(query=query), page_size)

    async def get(self, id: str) -> models.Endpoint:
        """One endpoint.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.ENDPOINTS_GET, Arguments(path=[id]))

    async def update(
        self, id: str, *, if_match: str | None = "*", **body: Unpack[requests.UpdateEndpointRequest]
    ) -> models.Endpoint:
        """Change an endpoint; with If-Match only if nobody else has changed it.

        Needs the permission write. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.ENDPOINTS_UPDATE, Arguments(path=[id], if_match=if_match, body=body or None))

    async def delete(self, id: str) -> None:
        """Delete an endpoint and cancel its pending deliveries.

        Needs the permission write. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.ENDPOINTS_DELETE, Arguments(path=[id]))

    async def stats(self, id: str, **query: Unpack[requests.EndpointsStatsQuery]) -> models.EndpointStats:
        """Its health, and the results of its latest deliveries, 10,000 at most.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.ENDPOINTS_STATS, Arguments(path=[id], query=query))

    async def outage(self, id: str) -> models.EndpointOutage:
        """Its last outage: since when, what it answers, and what waits; deliveries up to 1,000.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.ENDPOINTS_OUTAGE, Arguments(path=[id]))

    async def pause(self, id: str) -> models.Endpoint:
        """Send nothing for now; pending deliveries wait.

        Needs the permission write. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.ENDPOINTS_PAUSE, Arguments(path=[id]))

    async def resume(self, id: str) -> models.Endpoint:
        """Make it active again and forget its failures.

        Needs the permission write. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.ENDPOINTS_RESUME, Arguments(path=[id]))

    async def disable(self, id: str, **body: Unpack[requests.DisableEndpointRequest]) -> models.Endpoint:
        """Stop sending and cancel pending deliveries.

        Needs the permission write. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.ENDPOINTS_DISABLE, Arguments(path=[id], body=body or None))

    async def rotate_secret(
        self,
        id: str,
        *,
        if_match: str | None = "*",
        idempotency_key: str | None = None,
        **body: Unpack[requests.RotateSecretRequest],
    ) -> models.EndpointWithSecret:
        """Give it a new secret, shown this once, and key pair; the previous ones sign too for a while.

        Needs the permission write. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(
            ops.ENDPOINTS_ROTATE_SECRET,
            Arguments(path=[id], if_match=if_match, idempotency_key=idempotency_key, body=body or None),
        )

    async def ping(self, id: str, *, idempotency_key: str | None = None) -> models.Delivery:
        """Send the event webhook.ping to it, with one attempt.

        Needs the permission write. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.ENDPOINTS_PING, Arguments(path=[id], idempotency_key=idempotency_key))

    async def recover(self, id: str, **body: Unpack[requests.RecoverEndpointRequest]) -> models.BulkResult:
        """Try its failed and canceled deliveries again, 10,000 at a time.

        Needs the permission write. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.ENDPOINTS_RECOVER, Arguments(path=[id], body=body or None))

    async def replay(
        self, id: str, *, idempotency_key: str | None = None, **body: Unpack[requests.ReplayMessagesRequest]
    ) -> models.ReplayResult:
        """Deliver messages to it once more, or those that it never got, 10,000 at a time.

        Needs the permission write. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(
            ops.ENDPOINTS_REPLAY, Arguments(path=[id], idempotency_key=idempotency_key, body=body or None)
        )

    async def activity(self, **query: Unpack[requests.EndpointsActivityQuery]) -> Sequence[models.EndpointActivity]:
        """What was sent to each of some endpoints, hour by hour.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.ENDPOINTS_ACTIVITY, Arguments(query=query))


class AsyncDeliveries:
    """The operations ``deliveries``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(self, **query: Unpack[requests.DeliveriesListPage]) -> Page[models.Delivery]:
        """Deliveries, newest first.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.DELIVERIES_LIST, Arguments(query=query))

    def iterate(
        self, *, page_size: int | None = None, **query: Unpack[requests.DeliveriesListQuery]
    ) -> AsyncIterator[models.Delivery]:
        """As ``list``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.DELIVERIES_LIST, Arguments(query=query), page_size)

    async def get(self, id: str) -> models.DeliveryDetail:
        """One delivery, with its payload.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.DELIVERIES_GET, Arguments(path=[id]))

    async def attempts(self, id: str, **query: Unpack[requests.DeliveriesAttemptsPage]) -> Page[models.DeliveryAttempt]:
        """Its attempts, oldest first.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.DELIVERIES_ATTEMPTS, Arguments(path=[id], query=query))

    def iterate_attempts(self, id: str, *, page_size: int | None = None) -> AsyncIterator[models.DeliveryAttempt]:
        """As ``attempts``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.DELIVERIES_ATTEMPTS, Arguments(path=[id]), page_size)

    async def why(self, id: str) -> Sequence[models.DeliveryReason]:
        """The reasons for which it waits, or how it has ended.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.DELIVERIES_WHY, Arguments(path=[id]))

    async def retry(self, id: str) -> models.Delivery:
        """Make a failed or canceled delivery due now.

        Needs the permission write. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.DELIVERIES_RETRY, Arguments(path=[id]))

    async def cancel(self, id: str) -> models.Delivery:
        """Cancel a pending delivery.

        Needs the permission write. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.DELIVERIES_CANCEL, Arguments(path=[id]))

    async def counts(self, **query: Unpack[requests.DeliveriesCountsQuery]) -> Sequence[models.StatusCount]:
        """The number of deliveries in each state, counted up to 2,000, of one tenant to 500.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.DELIVERIES_COUNTS, Arguments(query=query))

    async def retry_many(self, **body: Unpack[requests.ChangeDeliveriesRequest]) -> models.BulkResult:
        """Try the matching failed and canceled deliveries again, 10,000 at a time.

        Needs the permission write. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.DELIVERIES_RETRY_MANY, Arguments(body=body or None))

    async def cancel_many(self, **body: Unpack[requests.ChangeDeliveriesRequest]) -> models.BulkResult:
        """Cancel the matching deliveries that wait, 10,000 at a time.

        Needs the permission write. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.DELIVERIES_CANCEL_MANY, Arguments(body=body or None))

    async def caused(self, **query: Unpack[requests.DeliveriesCausedQuery]) -> Sequence[models.CausedDeliveries]:
        """The deliveries of what transactions sent, for each of them.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.DELIVERIES_CAUSED, Arguments(query=query))

    async def request(self, id: str) -> models.DeliveryPost:
        """Its request as an attempt would make it now; with the permission write, signed.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.DELIVERIES_REQUEST, Arguments(path=[id]))

    async def values(self, **query: Unpack[requests.DeliveriesValuesQuery]) -> models.FilterValues:
        """Values of a filter that have some letters, for example endpoints by their description.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.DELIVERIES_VALUES, Arguments(query=query))


class AsyncMessages:
    """The operations ``messages``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(self, **query: Unpack[requests.MessagesListPage]) -> Page[models.Message]:
        """Messages, newest first.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.MESSAGES_LIST, Arguments(query=query))

    def iterate(
        self, *, page_size: int | None = None, **query: Unpack[requests.MessagesListQuery]
    ) -> AsyncIterator[models.Message]:
        """As ``list``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.MESSAGES_LIST, Arguments(query=query), page_size)

    async def search_keys(self) -> Page[models.SearchKey]:
        """The keys of payloads by which messages and deliveries are found.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.MESSAGES_SEARCH_KEYS)

    async def get(self, id: str) -> models.MessageWithDeliveries:
        """One message, with its payload and its deliveries.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.MESSAGES_GET, Arguments(path=[id]))

    async def try_filter(self, **query: Unpack[requests.MessagesTryFilterQuery]) -> Page[models.TriedMessage]:
        """The newest messages that an endpoint would get, and which of them a filter would let through.

        Needs the permission write. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.MESSAGES_TRY_FILTER, Arguments(query=query))


class AsyncEventTypes:
    """The operations ``event_types``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(self) -> Page[models.EventType]:
        """The events that endpoints can subscribe to.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.EVENT_TYPES_LIST)


class AsyncEvents:
    """The operations ``events``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def send(
        self, *, idempotency_key: str | None = None, **body: Unpack[requests.SendEventRequest]
    ) -> models.SentEvent:
        """Send an event.

        Needs the permission write.
        """
        return await self._api.answer(ops.EVENTS_SEND, Arguments(idempotency_key=idempotency_key, body=body))


class AsyncTraffic:
    """The operations ``traffic``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def get(self, **query: Unpack[requests.TrafficGetQuery]) -> models.Traffic:
        """What was sent, by minute, hour or day, and what became of it; exact, or with ``is_estimate``.

        Needs the permission read. A session of one tenant gets what is that tenant's.
        """
        return await self._api.answer(ops.TRAFFIC_GET, Arguments(query=query))


class AsyncBacklog:
    """The operations ``backlog``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def get(self) -> models.QueueState:
        """The pending deliveries, counted up to 10,000, and the age of the oldest that is due.

        Needs the permission read.
        """
        return await self._api.answer(ops.BACKLOG_GET)


class AsyncPortalSessions:
    """The operations ``portal_sessions``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(self) -> models.PendingPortalLinks:
        """Links to the portal that nobody has opened yet, newest first.

        Needs the permission admin.
        """
        return await self._api.answer(ops.PORTAL_SESSIONS_LIST)

    async def create(
        self, *, idempotency_key: str | None = None, **body: Unpack[requests.CreatePortalSessionRequest]
    ) -> models.CreatedPortalLink:
        """Make a link to the portal of a tenant, to be opened once within ten minutes.

        Needs the permission admin.
        """
        return await self._api.answer(ops.PORTAL_SESSIONS_CREATE, Arguments(idempotency_key=idempotency_key, body=body))

    async def get(self, id: str) -> models.PortalLink:
        """A link to the portal, whatever became of it.

        Needs the permission admin.
        """
        return await self._api.answer(ops.PORTAL_SESSIONS_GET, Arguments(path=[id]))

    async def revoke(self, id: str) -> None:
        """End a link to the portal, or the session that it became.

        Needs the permission admin.
        """
        return await self._api.answer(ops.PORTAL_SESSIONS_REVOKE, Arguments(path=[id]))


class AsyncTenants:
    """The operations ``tenants``."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def list(self, **query: Unpack[requests.TenantsListPage]) -> Page[models.Tenant]:
        """Tenants, by name.

        Needs the permission read.
        """
        return await self._api.answer(ops.TENANTS_LIST, Arguments(query=query))

    def iterate(
        self, *, page_size: int | None = None, **query: Unpack[requests.TenantsListQuery]
    ) -> AsyncIterator[models.Tenant]:
        """As ``list``, but all rows, page by page as they are asked for."""
        return self._api.iterate(ops.TENANTS_LIST, Arguments(query=query), page_size)

    async def create(
        self, *, idempotency_key: str | None = None, **body: Unpack[requests.CreateTenantRequest]
    ) -> models.Tenant:
        """Add a tenant.

        Needs the permission write.
        """
        return await self._api.answer(ops.TENANTS_CREATE, Arguments(idempotency_key=idempotency_key, body=body))

    async def get(self, id: str) -> models.Tenant:
        """One tenant.

        Needs the permission read.
        """
        return await self._api.answer(ops.TENANTS_GET, Arguments(path=[id]))

    async def update(
        self, id: str, *, if_match: str | None = "*", **body: Unpack[requests.UpdateTenantRequest]
    ) -> models.Tenant:
        """Rename a tenant; with If-Match only if nobody else has renamed it.

        Needs the permission write.
        """
        return await self._api.answer(ops.TENANTS_UPDATE, Arguments(path=[id], if_match=if_match, body=body))

    async def delete(self, id: str) -> None:
        """Remove a tenant, and end its sessions, tokens and links to the portal.

        Needs the permission admin.
        """
        return await self._api.answer(ops.TENANTS_DELETE, Arguments(path=[id]))

    async def use(self, **query: Unpack[requests.TenantsUseQuery]) -> models.TenantUses:
        """The number of endpoints, messages, sessions and tokens of tenants.

        Needs the permission read.
        """
        return await self._api.answer(ops.TENANTS_USE, Arguments(query=query))

    async def list_unlisted(self) -> models.UnlistedTenants:
        """Tenants of endpoints, messages, sessions and tokens that the table does not have.

        Needs the permission read.
        """
        return await self._api.answer(ops.TENANTS_LIST_UNLISTED)


class AsyncResources:
    """The operations of AsyncClient, by what they are about."""

    def __init__(self, api: AsyncApi) -> None:
        self.openapi = AsyncOpenapi(api)
        self.health = AsyncHealth(api)
        self.ready = AsyncReady(api)
        self.capabilities = AsyncCapabilities(api)
        self.portal = AsyncPortal(api)
        self.sign_in = AsyncSignIn(api)
        self.session = AsyncSession(api)
        self.own_sessions = AsyncOwnSessions(api)
        self.sessions = AsyncSessions(api)
        self.tokens = AsyncTokens(api)
        self.views = AsyncViews(api)
        self.own_views = AsyncOwnViews(api)
        self.console_events = AsyncConsoleEvents(api)
        self.data_changes = AsyncDataChanges(api)
        self.system = AsyncSystem(api)
        self.suggestions = AsyncSuggestions(api)
        self.changes = AsyncChanges(api)
        self.entries = AsyncEntries(api)
        self.records = AsyncRecords(api)
        self.transactions = AsyncTransactions(api)
        self.tables = AsyncTables(api)
        self.seals = AsyncSeals(api)
        self.holds = AsyncHolds(api)
        self.coverage = AsyncCoverage(api)
        self.endpoints = AsyncEndpoints(api)
        self.deliveries = AsyncDeliveries(api)
        self.messages = AsyncMessages(api)
        self.event_types = AsyncEventTypes(api)
        self.events = AsyncEvents(api)
        self.traffic = AsyncTraffic(api)
        self.backlog = AsyncBacklog(api)
        self.portal_sessions = AsyncPortalSessions(api)
        self.tenants = AsyncTenants(api)
