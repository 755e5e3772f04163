"""A query of deliveries, whose conditions bound what it reads, with their bulk changes and their number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, LiteralString, Self
from uuid import UUID

from svc_pg.database import stretches
from svc_pg.database.effects import Effects
from svc_pg.database.pagination import ALL, Filter, Listing, Page, PointInTime
from svc_pg.database.stretches import (
    ANY,
    Ids,
    OfIndex,
    Span,
    Stretched,
    stretched_count,
    stretched_counts,
    stretched_page,
)
from svc_pg.errors import QueryError
from svc_pg.webhooks.deliveries import bulk_changes
from svc_pg.webhooks.deliveries.bulk_changes import Candidates, Endpoints
from svc_pg.webhooks.deliveries.delivery_conditions import (
    MESSAGE_IS_OF,
    OF_MESSAGE_OF_TENANT,
    OF_STATUS,
    OF_TRANSACTION,
    TO_ENDPOINTS_OF,
)
from svc_pg.webhooks.deliveries.delivery_keysets import COLUMNS, COLUMNS_OF_FOUND, NEWEST, NEWEST_FOUND
from svc_pg.webhooks.deliveries.delivery_rows import STATUSES, BulkResult, Delivery, DeliveryCount, Status
from svc_pg.webhooks.deliveries.delivery_stretches import TABLE, by_id, few_waiting, of_messages
from svc_pg.webhooks.found_messages import ByMessages
from svc_pg.webhooks.ids import filter_key, least_id
from svc_pg.webhooks.payload_search import SearchedValue

BULK: Final = 10_000  # as in the texts below


@dataclass(frozen=True, slots=True)
class DeliveryQuery(Listing[Delivery]):
    """A query of deliveries. Every method returns a new one; ``list`` or ``alist`` runs it.

    It ``is_by_end`` if it has a condition on the time of the end, which no index has, and ``is_narrow`` if another
    condition bounds what is read for it. ``few`` are conditions that name a few deliveries, ``times`` the ids between
    its times, ``rest`` the other conditions; ``filter`` has all. If it is ``searched`` for a value, the messages that
    have it are read in turn, unless it names a few deliveries.
    """

    is_narrow: bool = False
    is_by_end: bool = False
    searched: SearchedValue | None = None
    of_tenant: str | None = None
    of_event: str | None = None
    of_endpoint: UUID | None = None
    of_status: str | None = None
    of_own_endpoints: str | None = None
    """The tenant whose endpoints alone are meant."""
    few: Filter = ALL
    times: Ids = ANY
    rest: Filter = ALL

    def endpoint(self, endpoint_id: str) -> Self:
        """Deliveries to one endpoint."""
        key = filter_key(endpoint_id)
        of_endpoint = key if self.of_endpoint is None else self.of_endpoint
        return replace(self._where("endpoint_id = %s", key), of_endpoint=of_endpoint, is_narrow=True)

    def message(self, message_id: str) -> Self:
        """Deliveries of one message, by the id that ``send`` returned."""
        return self._few("message_id = %s", filter_key(message_id))

    def status(self, status: str) -> Self:
        """Deliveries in one state: pending, delivered, failed or canceled."""
        if status not in STATUSES:
            raise QueryError(f"{status!r} is not a status", hint=f"Write one of {', '.join(STATUSES)}.")
        wanted = self._with(self.filter.where(OF_STATUS[status], status))
        of_status = status if self.of_status is None else self.of_status
        return replace(wanted, rest=ALL.where("status = %s", status).joined(self.rest), of_status=of_status)

    def event(self, name: str) -> Self:
        """Deliveries of one event."""
        of_event = replace(self._where("event_name = %s", name), of_event=name)
        wanted = self._alone(of_event)
        return wanted if wanted.searched is None else wanted._with(wanted.filter)

    def to_endpoints_of(self, tenant: str) -> Self:
        """Deliveries of the messages of one tenant to its endpoints; ``tenant`` includes those to other endpoints."""
        own = replace(self, rest=self._wanted, of_own_endpoints=tenant, of_tenant=tenant)
        return own._where(MESSAGE_IS_OF, tenant)._where(TO_ENDPOINTS_OF, tenant)

    def tenant(self, tenant: str) -> Self:
        """Deliveries of the messages of one tenant."""
        added = self._with(self.filter.where(OF_MESSAGE_OF_TENANT, tenant))
        if self.of_tenant is not None:  # the first tenant is a condition by itself
            added = replace(added, rest=self.rest.where(MESSAGE_IS_OF, tenant))
        return self._alone(added)._of_tenant(tenant)

    def payload(self, wanted: str) -> Self:
        """Deliveries of the messages whose payload has a value at a key that is searched, for example ``number=1045``.

        They come in the order of their messages. Running it raises QueryError if no event is searched by the key,
        or not the event of which they are.
        """
        return replace(self, searched=SearchedValue.parse(wanted))._with(self.filter)

    def transaction(self, xact_id: int) -> Self:
        """Deliveries of the messages that one transaction sent, by the ``xact_id`` of its entries in the audit log."""
        return self._few(OF_TRANSACTION, xact_id)

    def ids(self, ids: Sequence[str]) -> Self:
        """These deliveries, 10,000 at most."""
        if len(ids) > BULK:
            raise QueryError(f"{len(ids)} ids are too many", hint=f"Name at most {BULK}.")
        return self._few("id = any(%s)", [filter_key(each) for each in ids])

    def since(self, point_in_time: PointInTime) -> Self:
        """Deliveries created from then on: an aware datetime, or a duration before now, for example ``1h``."""
        return replace(self._timed(self.times.since(least_id(point_in_time))), is_narrow=True)

    def until(self, point_in_time: PointInTime) -> Self:
        """Deliveries created before then, written as for ``since``."""
        return self._timed(self.times.until(least_id(point_in_time)))

    def finished_since(self, point_in_time: PointInTime) -> Self:
        """Deliveries that were delivered, failed or canceled from then on, written as for ``since``.

        Running it raises QueryError without an endpoint, a message, ids, a transaction, or ``since``.
        """
        return replace(self._looked_at(ALL.compare("finished_at >=", point_in_time)), is_by_end=True)

    def finished_until(self, point_in_time: PointInTime) -> Self:
        """Deliveries that were delivered, failed or canceled before then; otherwise as ``finished_since``."""
        return replace(self._looked_at(ALL.compare("finished_at <", point_in_time)), is_by_end=True)

    @property
    def is_led(self) -> bool:
        """True if messages, ids or a transaction lead to the deliveries, whatever the state."""
        return bool(self.few.conditions) or self.searched is not None or self.keyset is not NEWEST

    def _refuse_to_read_all(self) -> None:
        if self.is_by_end and not self.is_narrow:
            raise QueryError(
                "no index has the end of deliveries, so all of them would be read",
                hint="Name an endpoint too, or the time since which they were created.",
            )

    def page(self, *, max_bytes: int | None = None) -> Effects[Page[Delivery]]:
        """The effects of ``list`` and ``alist``: of the next 10,000 deliveries of the list by one of its conditions.

        A page may then be short, or empty, and have a next one all the same.
        """
        self._refuse_to_read_all()
        return (yield from stretched_page(self, (yield from self._stretched()), max_bytes=max_bytes))

    def _stretched(self) -> Effects[Stretched]:
        """The stretches by the condition that leads to fewest deliveries."""
        if self.few.conditions:
            wanted = self._wanted
            if self.searched is not None:
                wanted = wanted.where(*self.searched.condition).where(*self.searched.of("d.message_id"))
            named = OfIndex(TABLE, "d", Span("d.id", self.times), wanted, few=self.few)
            return Stretched(COLUMNS, "d", named, is_in_order=False)
        if self.searched is not None:
            # of any time: a message may have a delivery of later, and of before, if the clock was set back
            found = self.searched.stretch(ANY, table=TABLE, key="message_id", name="d")
            if self.of_own_endpoints is not None:  # another's delivery must not end a page: its cursor would tell it
                found = replace(found, each=ALL.where(TO_ENDPOINTS_OF, self.of_own_endpoints))
            return self._by_messages(found, self._wanted)
        if self.keyset is not NEWEST:  # of an event or a tenant alone
            return self._by_messages(of_messages(tenant=self.of_tenant, event=self.of_event), self.rest)
        endpoint, own = self.of_endpoint, self.of_own_endpoints
        if self.of_status == "pending":
            waiting = yield from few_waiting(self.times, endpoint=endpoint, own=own, most=stretches.MOST_ROWS)
            if waiting is not None:
                return Stretched(COLUMNS, "d", waiting, self._wanted)
        stretch = by_id(self.times, status=self.of_status, endpoint=endpoint, own=own)
        return Stretched(COLUMNS, "d", stretch, self._wanted)

    @property
    def _wanted(self) -> Filter:
        """The conditions that are looked at row by row; that of a tenant last, because it looks a message up."""
        is_there = self.of_tenant is None or self.of_own_endpoints is not None
        return self.rest if is_there else self.rest.where(MESSAGE_IS_OF, self.of_tenant)

    def _by_messages(self, stretch: ByMessages, wanted: Filter) -> Stretched:
        rest = wanted.joined(self.times.condition("d.id")).where("d.id is not null")
        return Stretched(COLUMNS_OF_FOUND, "d", stretch, rest)

    def _few(self, condition: LiteralString, *params: object) -> Self:
        few = self.few.where(condition, *params)
        return replace(self, few=few, is_narrow=True)._with(self.filter.where(condition, *params))

    def _timed(self, times: Ids) -> Self:
        added = times.condition("id")
        return replace(self, times=times)._with(self.filter.joined(added))

    def _where(self, condition: LiteralString, *params: object) -> Self:
        return self._looked_at(ALL.where(condition, *params))

    def _looked_at(self, wanted: Filter) -> Self:
        # first, since they are looked at in this order, and that of a session, which comes before, looks a message up
        return replace(self._with(self.filter.joined(wanted)), rest=wanted.joined(self.rest))

    def _alone(self, wanted: Self) -> Self:
        """The list with another condition, in the order of messages if it has no other."""
        return replace(wanted, keyset=NEWEST_FOUND) if self.filter == ALL and self.searched is None else wanted

    def _with(self, wanted: Filter) -> Self:
        if self.searched is None:
            return replace(self, keyset=NEWEST, filter=wanted)
        searched = replace(self.searched, tenant=self.of_tenant, event=self.of_event)
        keyset = NEWEST if self.few.conditions else NEWEST_FOUND
        return replace(self, keyset=keyset, filter=wanted, searched=searched)

    def _of_tenant(self, tenant: str) -> Self:
        """Look up a searched value among this tenant's messages; the first tenant stays."""
        wanted = replace(self, of_tenant=tenant) if self.of_tenant is None else self
        return wanted if wanted.searched is None else wanted._with(wanted.filter)

    def retry(self, *, dry_run: bool = False) -> Effects[BulkResult]:
        """Try the failed or canceled ones again, 10,000 at most; with ``dry_run`` only count them.

        Deliveries that wait for another attempt after a failed one become due too. Skips deliveries to endpoints that
        are disabled or deleted. The page's size and cursor are ignored. Raises QueryError if there is no condition.
        """
        return (yield from self._change(self._retried(), bulk_changes.COUNT if dry_run else bulk_changes.RETRY_MANY))

    def cancel(self, *, dry_run: bool = False) -> Effects[BulkResult]:
        """Cancel the pending ones, 10,000 at most; with ``dry_run`` only count them.

        Skips those with an attempt under way. Otherwise as ``retry``.
        """
        return (yield from self._change(self._canceled(), bulk_changes.COUNT if dry_run else bulk_changes.CANCEL_MANY))

    def count(
        self, *, status: Status | None = None, most: int = BULK, looked_at: int = 2 * BULK
    ) -> Effects[DeliveryCount]:
        """The number of deliveries, or of those in one state, up to ``most``, among the first that are ``looked_at``.

        The page's size and cursor are ignored.
        """
        self._refuse_to_read_all()
        wanted = self if status is None else self.status(status)
        if status == "delivered":  # as most are: in the order of the list
            wanted = replace(wanted, keyset=self.keyset)
        counted = yield from stretched_count((yield from wanted._stretched()), most=most, looked_at=looked_at)
        return DeliveryCount(counted.count, not counted.is_cut)

    def counts(self, *, looked_at: int) -> Effects[Mapping[Status, DeliveryCount]]:
        """The number of deliveries in each state, among the first that are ``looked_at``."""
        self._refuse_to_read_all()
        found = yield from stretched_counts((yield from self._stretched()), "d.status", looked_at=looked_at)
        return {each: DeliveryCount(found.counts.get(each, 0), not found.is_cut) for each in STATUSES}

    def _retried(self) -> Sequence[Candidates]:
        if named := self._named(bulk_changes.IS_RETRIED):
            return named
        found: list[Candidates] = []
        if self.of_status in (None, "failed", "canceled"):
            found.append(bulk_changes.failed(self._endpoints, self.times))
        if self.of_status in (None, "pending"):
            found.append(bulk_changes.waiting_for_retry(self._endpoints))
        return found

    def _canceled(self) -> Sequence[Candidates]:
        if named := self._named(bulk_changes.IS_CANCELED):
            return named
        return [bulk_changes.waiting(self._endpoints)] if self.of_status in (None, "pending") else []

    @property
    def _endpoints(self) -> Endpoints:
        return Endpoints(self.of_endpoint, self.of_own_endpoints)

    def _named(self, condition: LiteralString) -> Sequence[Candidates]:
        """The deliveries that it names, or whose messages have a value, if they meet the condition of a change."""
        few = self.few
        if self.searched is not None:
            found: LiteralString = "message_id in (select s.found" + self.searched.messages + ")"
            few = few.where(*self.searched.condition).where(found, *self.searched.params)
        return [bulk_changes.named(few.where(condition))] if few.conditions else []

    def _change(self, candidates: Sequence[Candidates], change: LiteralString) -> Effects[BulkResult]:
        if self.filter == ALL and self.searched is None:
            raise QueryError("nothing says which deliveries", hint="Name ids, an endpoint, an event or a time.")
        self._refuse_to_read_all()
        rest = self._wanted.joined(self.times.condition("d.id"))
        return (yield from bulk_changes.changed(candidates, rest, change, most=BULK))
