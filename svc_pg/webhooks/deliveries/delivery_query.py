"""A query of deliveries, whose conditions bound what it reads, with their bulk changes and their number."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, LiteralString, Self
from uuid import UUID

from svc_pg.database.effects import Effects
from svc_pg.database.pagination import ALL, Filter, Keyset, Listing, Page, PointInTime
from svc_pg.database.query import Query
from svc_pg.database.stretches import Lead, Stretched, stretched_page
from svc_pg.errors import QueryError
from svc_pg.webhooks.deliveries.deliveries_by_endpoint import BY_ENDPOINT, each_of_tenant
from svc_pg.webhooks.deliveries.delivery_conditions import (
    CANCEL_MANY,
    COUNT,
    COUNT_CHANGED,
    MESSAGE_IS_OF,
    OF_EACH_FOUND,
    OF_MESSAGE_OF_TENANT,
    OF_STATUS,
    OF_TRANSACTION,
    RETRY_MANY,
    TO_ENDPOINTS_OF,
)
from svc_pg.webhooks.deliveries.delivery_keysets import (
    COLUMNS,
    NEWEST,
    newest_found,
    newest_of_event,
    newest_of_tenant,
)
from svc_pg.webhooks.deliveries.delivery_rows import STATUSES, BulkResult, Delivery, DeliveryCount, Status
from svc_pg.webhooks.ids import filter_key
from svc_pg.webhooks.payload_search import SearchedValue

BULK: Final = 10_000  # as in the texts below

_COUNTED: Final = ("select count(*)::integer as count from (select", " limit %s) c")
_COUNTED_OF_EACH: Final = (
    " cross join lateral (select from svc.webhook_deliveries d",
    " limit %s) d",
)
_MATCHING: Final = "select id from svc.webhook_deliveries d"
_OF_ENDPOINT: Final = "endpoint_id = %s"
_AND_A_DAY: Final = " + interval '1 day')"


@dataclass(frozen=True, slots=True)
class DeliveryQuery(Listing[Delivery]):
    """A query of deliveries. Every method returns a new one; ``list`` or ``alist`` runs it.

    It ``is_by_end`` if it has a condition on the time of the end, which no index has, and ``is_narrow`` if another
    condition bounds what is read for it. ``own_of`` is the tenant of whose endpoints they are. If it is ``searched``
    for a value, the messages that have it are read in turn, unless it ``is_selective`` by a condition with an index of
    its own: then the planner chooses which comes first.
    """

    is_narrow: bool = False
    is_by_end: bool = False
    searched: SearchedValue | None = None
    of_tenant: str | None = None
    of_event: str | None = None
    is_selective: bool = False
    of_endpoint: UUID | None = None
    reach: Filter = ALL
    rest: Filter = ALL
    own_of: str | None = None

    def endpoint(self, endpoint_id: str) -> Self:
        """Deliveries to one endpoint."""
        key = filter_key(endpoint_id)
        reach = self.reach if self.of_endpoint is None else self.reach.where(_OF_ENDPOINT, self.of_endpoint)
        return replace(self._narrow(_OF_ENDPOINT, key), of_endpoint=key, reach=reach)

    def message(self, message_id: str) -> Self:
        """Deliveries of one message, by the id that ``send`` returned."""
        return self._select("message_id = %s", filter_key(message_id))

    def status(self, status: str) -> Self:
        """Deliveries in one state: pending, delivered, failed or canceled."""
        if status not in STATUSES:
            raise QueryError(f"{status!r} is not a status", hint=f"Write one of {', '.join(STATUSES)}.")
        if status == "delivered":  # as most are
            return self._look(OF_STATUS[status], status)
        return replace(self, is_selective=True)._where(OF_STATUS[status], status)

    def event(self, name: str) -> Self:
        """Deliveries of one event."""
        wanted = replace(self._list("event_name = %s", name, alone=newest_of_event(name)), of_event=name)
        return wanted if wanted.searched is None else wanted._with(wanted.filter)

    def to_endpoints_of(self, tenant: str) -> Self:
        """Deliveries of the messages of one tenant to its endpoints; ``tenant`` includes those to other endpoints."""
        own = replace(self, own_of=tenant)._with(self.filter.where(TO_ENDPOINTS_OF, tenant))
        return own._look(MESSAGE_IS_OF, tenant)._of_tenant(tenant)

    def tenant(self, tenant: str) -> Self:
        """Deliveries of the messages of one tenant."""
        return self._list(OF_MESSAGE_OF_TENANT, tenant, alone=newest_of_tenant(tenant))._of_tenant(tenant)

    def payload(self, wanted: str) -> Self:
        """Deliveries of the messages whose payload has a value at a key that is searched, for example ``number=1045``.

        They come in the order of their messages. Running it raises QueryError if no event is searched by the key,
        or not the event of which they are.
        """
        return replace(self, searched=SearchedValue.parse(wanted))._with(self.filter)

    def transaction(self, xact_id: int) -> Self:
        """Deliveries of the messages that one transaction sent, by the ``xact_id`` of its entries in the audit log."""
        return self._select(OF_TRANSACTION, xact_id)

    def ids(self, ids: Sequence[str]) -> Self:
        """These deliveries, 10,000 at most."""
        if len(ids) > BULK:
            raise QueryError(f"{len(ids)} ids are too many", hint=f"Name at most {BULK}.")
        return self._select("id = any(%s)", [filter_key(each) for each in ids])

    def since(self, point_in_time: PointInTime) -> Self:
        """Deliveries created from then on: an aware datetime, or a duration before now, for example ``1h``."""
        # ids grow with time, and are indexed
        since = ALL.compare("id >= svc.uuid7_at(", point_in_time, end=")").compare("created_at >=", point_in_time)
        return replace(self._reached(since), is_narrow=True)

    def until(self, point_in_time: PointInTime) -> Self:
        """Deliveries created before then, written as for ``since``, by transactions of at most a day."""
        # of the transaction's beginning; its ids are of later times
        until = ALL.compare("id < svc.uuid7_at(", point_in_time, end=_AND_A_DAY)
        return self._reached(until.compare("created_at <", point_in_time))

    def finished_since(self, point_in_time: PointInTime) -> Self:
        """Deliveries that were delivered, failed or canceled from then on, written as for ``since``.

        Running it raises QueryError without an endpoint, a message, ids, a transaction, or ``since``.
        """
        return replace(self._looked_at(ALL.compare("finished_at >=", point_in_time)), is_by_end=True)

    def finished_until(self, point_in_time: PointInTime) -> Self:
        """Deliveries that were delivered, failed or canceled before then; otherwise as ``finished_since``."""
        return replace(self._looked_at(ALL.compare("finished_at <", point_in_time)), is_by_end=True)

    def _select(self, condition: LiteralString, *params: object) -> Self:
        return replace(self, is_selective=True)._narrow(condition, *params)

    def _narrow(self, condition: LiteralString, *params: object) -> Self:
        return replace(self._where(condition, *params), is_narrow=True)

    def _query(self) -> Query[Delivery]:
        self._refuse_to_read_all()
        found = Listing._query(replace(self, filter=self._conditions))
        return replace(found, params=(*self._source[1], *found.params))

    @property
    def _source(self) -> tuple[LiteralString, tuple[object, ...]]:
        """The ``from`` of deliveries, with its parameters."""
        if self.searched is None or self.is_selective:
            return " from svc.webhook_deliveries d", ()
        return self.searched.messages + OF_EACH_FOUND, self.searched.params

    @property
    def _conditions(self) -> Filter:
        """The conditions, with that of a searched value if it is one among others."""
        if self.searched is None:
            return self.filter
        wanted = self.filter.where(*self.searched.condition)
        if not self.is_selective:
            return wanted
        return wanted.where("message_id in (select s.found" + self.searched.messages + ")", *self.searched.params)

    def _refuse_to_read_all(self) -> None:
        if self.is_by_end and not self.is_narrow:
            raise QueryError(
                "no index has the end of deliveries, so all of them would be read",
                hint="Name an endpoint too, or the time since which they were created.",
            )

    def page(self, *, max_bytes: int | None = None) -> Effects[Page[Delivery]]:
        """The effects of ``list`` and ``alist``: by conditions without an index, of the next 10,000 deliveries.

        A page may then be short, or empty, and have a next one all the same.
        """
        is_by_messages = self.searched is not None or self.keyset is not NEWEST
        if is_by_messages or not self.rest.conditions:
            return (yield from Listing.page(self, max_bytes=max_bytes))
        self._refuse_to_read_all()
        return (yield from stretched_page(self, self._stretch, max_bytes=max_bytes))

    @property
    def _stretch(self) -> Stretched:
        stretch = Stretched(COLUMNS, "svc.webhook_deliveries", "d", self.reach, self.rest, not self.is_selective)
        if self.own_of is not None:
            return replace(
                stretch, reach=self._own_reach, each=each_of_tenant(self.own_of, in_order=not self.is_selective)
            )
        if self.of_endpoint is None:
            return stretch
        if self.is_selective:
            return replace(stretch, reach=self.reach.where(_OF_ENDPOINT, self.of_endpoint))
        return replace(stretch, by=Lead("d.endpoint_id", self.of_endpoint, *BY_ENDPOINT))

    @property
    def _own_reach(self) -> Filter:
        return self.reach if self.of_endpoint is None else self.reach.where(_OF_ENDPOINT, self.of_endpoint)

    def _where(self, condition: LiteralString, *params: object) -> Self:
        return self._reached(ALL.where(condition, *params))

    def _look(self, condition: LiteralString, *params: object) -> Self:
        return self._looked_at(ALL.where(condition, *params))

    def _reached(self, wanted: Filter) -> Self:
        """The list with conditions that an index serves."""
        return replace(self._with(self.filter.joined(wanted)), reach=self.reach.joined(wanted))

    def _looked_at(self, wanted: Filter) -> Self:
        """The list with conditions that no index serves."""
        return replace(self._with(self.filter.joined(wanted)), rest=self.rest.joined(wanted))

    def _list(self, condition: LiteralString, value: str, *, alone: Keyset[Delivery]) -> Self:
        """The list with a condition, in an order of its own if there is no other."""
        wanted = self._look(condition, value)
        return replace(wanted, keyset=alone) if self.filter == ALL and self.searched is None else wanted

    def _with(self, wanted: Filter) -> Self:
        if self.searched is None:
            return replace(self, keyset=NEWEST, filter=wanted)
        searched = replace(self.searched, tenant=self.of_tenant, event=self.of_event)
        keyset = NEWEST if self.is_selective else newest_found(searched.messages + OF_EACH_FOUND)
        return replace(self, keyset=keyset, filter=wanted, searched=searched)

    def _of_tenant(self, tenant: str) -> Self:
        """Look up a searched value among this tenant's messages; the first tenant stays."""
        wanted = replace(self, of_tenant=tenant) if self.of_tenant is None else self
        return wanted if wanted.searched is None else wanted._with(wanted.filter)

    def retry(self, *, dry_run: bool = False) -> Query[BulkResult]:
        """Try the failed or canceled ones again, 10,000 at most; with ``dry_run`` only count them.

        Deliveries that wait for another attempt after a failed one become due too. Skips deliveries to endpoints that
        are disabled or deleted. The page's size and cursor are ignored. Raises QueryError if there is no condition.
        """
        return Query(*self._change(*RETRY_MANY, dry_run=dry_run), BulkResult)

    def cancel(self, *, dry_run: bool = False) -> Query[BulkResult]:
        """Cancel the pending ones, 10,000 at most; with ``dry_run`` only count them.

        Skips those with an attempt under way. Otherwise as ``retry``.
        """
        return Query(*self._change(*CANCEL_MANY, dry_run=dry_run), BulkResult)

    def count(self, *, status: Status | None = None, most: int = BULK) -> Query[DeliveryCount]:
        """The number of deliveries, or of those in one state, counted up to ``most``.

        The page's size and cursor are ignored.
        """
        self._refuse_to_read_all()
        if status == "delivered":  # as most are: in the order of the list, so that the plan is the list's
            return self._look("status = %s", status).count(most=most)
        if status is not None:
            return self.status(status).count(most=most)
        if self.own_of is not None and self.searched is None:
            return self._own_count(self.own_of, most)
        wanted = self._conditions
        if self.keyset.start is not None:
            wanted = wanted.where(self.keyset.beyond, *self.keyset.start)
        source, params = self._source
        text = _COUNTED[0] + source + wanted.clause + self.keyset.order + _COUNTED[1]
        return Query(text, (*params, *wanted.params, most + 1), partial(_counted, most))

    def _own_count(self, tenant: str, most: int) -> Query[DeliveryCount]:
        """Count one endpoint after the other, in no order, for which each might look at all before the limit."""
        each = each_of_tenant(tenant, in_order=False)
        wanted = self._own_reach.joined(each.condition).joined(self.rest)
        deliveries = _COUNTED_OF_EACH[0] + wanted.clause + _COUNTED_OF_EACH[1]
        text = _COUNTED[0] + " from " + each.text + deliveries + _COUNTED[1]
        return Query(text, (*each.params, *wanted.params, most + 1, most + 1), partial(_counted, most))

    def _change(
        self, states: Sequence[LiteralString], change: LiteralString, *, dry_run: bool
    ) -> tuple[LiteralString, tuple[object, ...]]:
        if self.filter == ALL and self.searched is None:
            raise QueryError("nothing says which deliveries", hint="Name ids, an endpoint, an event or a time.")
        self._refuse_to_read_all()
        conditions = replace(self, is_selective=True)._conditions  # by its state
        wanted = [conditions.where(state) for state in states]
        matching = " union all ".join([_MATCHING + each.clause for each in wanted])
        text = "with matching as (" + matching + " order by id limit %s),\n" + (COUNT if dry_run else change)
        return text + COUNT_CHANGED, (*[param for each in wanted for param in each.params], BULK + 1)


def _counted(most: int, *, count: int) -> DeliveryCount:
    return DeliveryCount(min(count, most), count <= most)
