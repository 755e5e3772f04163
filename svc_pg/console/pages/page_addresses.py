"""The addresses of pages by their subject, so that every page leads to a thing in the same way."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from svc_pg.formats.json_writer import timestamp


class Url(Protocol):
    """Makes the address of a page, each segment quoted."""

    def __call__(self, *segments: object, query: Mapping[str, str | Sequence[str]] | None = None) -> str:
        """The address."""


class Addresses:
    """For example ``request.to.record("public.orders", "7")``. Filters are those of the API."""

    def __init__(self, url: Url) -> None:
        self._url = url

    def entries(self, **filters: str | Sequence[str]) -> str:
        """The audit log."""
        return self._url("audit", query=filters)

    def coverage(self, **filters: str | Sequence[str]) -> str:
        """The tables of the database, audited or not."""
        return self._url("coverage", query=filters)

    def entry(self, entry_id: str) -> str:
        """One entry of the audit log."""
        return self._url("audit", "entries", entry_id)

    def proof(self, entry_id: str) -> str:
        """The proof of one entry, which is its certificate too."""
        return self._url("audit", "entries", entry_id, "proof")

    def erasure(self, entry_id: str) -> str:
        """The certificate of the erasure of which this entry tells."""
        return self._url("audit", "entries", entry_id, "erasure")

    def record_certificate(self, table: str, record_id: str) -> str:
        """The certificate of the newest entries of one record."""
        return self._url("audit", "records", table, record_id, "certificate")

    def record(self, table: str, record_id: str) -> str:
        """The life of one record; ``table`` is written as in the audit log."""
        return self._url("audit", "records", table, record_id)

    def record_at(
        self, table: str, record_id: str, time: datetime | None = None, beside: datetime | None = None
    ) -> str:
        """Two states of one record side by side: at ``time`` and at ``beside``, each now if it is None."""
        query = {name: "" if at is None else timestamp(at) for name, at in (("time", time), ("with", beside))}
        return self._url("audit", "records", table, record_id, "as-of", query=query)

    def tracks(self, table: str, record_id: str) -> str:
        """One record through time, field by field."""
        return self._url("audit", "records", table, record_id, "tracks")

    def related(self, table: str, record_id: str, time: datetime | None = None, beside: datetime | None = None) -> str:
        """One record with the rows that refer to it, and their states at two times."""
        query = {name: "" if at is None else timestamp(at) for name, at in (("time", time), ("with", beside))}
        return self._url("audit", "records", table, record_id, "related", query=query)

    def transaction(self, xact_id: str) -> str:
        """All that one transaction changed."""
        return self._url("audit", "transactions", xact_id)

    def tail(self, **filters: str | Sequence[str]) -> str:
        """The audit log as it grows."""
        return self._url("tail", query=filters)

    def deliveries(self, **filters: str | Sequence[str]) -> str:
        """The deliveries of webhooks."""
        return self._url("deliveries", query=filters)

    def delivery(self, delivery_id: str) -> str:
        """One delivery."""
        return self._url("deliveries", delivery_id)

    def messages(self, **filters: str | Sequence[str]) -> str:
        """The messages of webhooks."""
        return self._url("messages", query=filters)

    def endpoints(self, **filters: str | Sequence[str]) -> str:
        """The endpoints of webhooks."""
        return self._url("endpoints", query=filters)

    def endpoint(self, endpoint_id: str) -> str:
        """One endpoint."""
        return self._url("endpoints", endpoint_id)

    def outage(self, endpoint_id: str) -> str:
        """The last outage of one endpoint."""
        return self._url("endpoints", endpoint_id, "outage")

    def events(self) -> str:
        """The types of events."""
        return self._url("events")

    def event(self, event_type: str) -> str:
        """One type of events."""
        return self._url("events", event_type)

    def tenant(self, tenant_id: str) -> str:
        """One tenant."""
        return self._url("tenants", tenant_id)
