"""The stretches of lists of deliveries in whose order no index has them: of a tenant's endpoints, and waiting ones."""

from dataclasses import dataclass
from typing import Final, LiteralString
from uuid import UUID

from svc_pg.database.effects import Effects
from svc_pg.database.pagination import ALL, Filter
from svc_pg.database.performing import ByIndexes
from svc_pg.database.query import Query
from svc_pg.database.stretches import (
    ANY,
    Expression,
    Ids,
    Lead,
    OfIndex,
    Rows,
    Span,
    Stretch,
    beyond,
    filled,
)
from svc_pg.webhooks.deliveries.delivery_conditions import TO_ENDPOINTS_OF
from svc_pg.webhooks.found_messages import ByMessages

TABLE: Final = "svc.webhook_deliveries"

_IF_OWN: Final = "(select e.id from svc.webhook_endpoints e where e.id = %s and e.tenant = %s)"

_OF_ENDPOINTS: Final[LiteralString] = """
    select *
      from (
        select each.*, count(*) filter (where each."svc is last") over ({order} rows between unbounded preceding
                                                                          and 1 preceding) = 0 as "svc is within"
          from svc.webhook_endpoints e
         cross join lateral (
            select d.*, row_number() over ({each_order}) = {share} as "svc is last"
              from ({each}) d
         ) each
         where e.tenant = %s
      ) d
     where "svc is within"{order} limit {most}"""
_SHARE: Final[LiteralString] = """(
    select greatest({most} / (2 * greatest(count(*), 1)), 1) from svc.webhook_endpoints e where e.tenant = %s
)"""
# sorted before they are looked up, so that a page looks up its own alone
_WAITING: Final[LiteralString] = """
    select w.delivery_id as found, d.*
      from (
        select w.delivery_id
          from ({waiting}) w{reach}{order} limit {most}
      ) w
     cross join lateral (select * from svc.webhook_deliveries each where each.id = w.delivery_id offset 0) d
    {order} limit {most}"""
_ALL_WAITING: Final[LiteralString] = """
    select q.endpoint_id, q.delivery_id from svc.webhook_queue q
    union all select l.endpoint_id, l.delivery_id from svc.webhook_leases l"""
# looked up by the keys of both, endpoint by endpoint, so that what waits for others is not read
_WAITING_OF: Final[LiteralString] = """
    select w.endpoint_id, w.delivery_id
      from svc.webhook_endpoints e
     cross join pg_catalog.unnest(pg_catalog.enum_range(null::svc.webhook_lane)) r(lane)
     cross join lateral (
        select q.endpoint_id, q.delivery_id from svc.webhook_queue q
         where q.lane = r.lane and q.endpoint_id = e.id{end}
     ) w{of}
    union all
    select w.endpoint_id, w.delivery_id
      from svc.webhook_endpoints e
     cross join lateral (
        select l.endpoint_id, l.delivery_id from svc.webhook_leases l where l.endpoint_id = e.id{end}
     ) w{of}"""
_ARE_FEW_OF: Final[LiteralString] = """
select count(*) <= {most} as are_few from (select from ({waiting}) w limit {more}) w
"""
_ARE_FEW: Final[LiteralString] = """
select (select count(*) from (select from svc.webhook_queue limit {more}) q)
       + (select count(*) from (select from svc.webhook_leases limit {more}) l) <= {most} as are_few
"""


def of_endpoint(ids: Ids, endpoint: Expression, *, is_failure: bool) -> OfIndex:
    """The deliveries to an endpoint, or those that are failed or canceled, which have an index of their own."""
    lead: Lead = ("d.endpoint_id", *endpoint)
    if is_failure:
        return OfIndex(TABLE, "d", Span("d.id", ids, (lead,)), ALL.where("d.failure is not null"))
    return OfIndex(TABLE, "d", Span("d.id", ids, (lead,), is_mixed=True))


def of_messages(*, tenant: str | None, event: str | None) -> ByMessages:
    """The deliveries of the messages of an event, or of a tenant."""
    column: LiteralString = "m.tenant" if event is None else "m.event_name"
    span = Span("m.id", ANY, ((column, "%s", (tenant if event is None else event,)),))
    is_indexed = ALL.where(column + " is not null")  # which the index of tenants has
    return ByMessages("svc.webhook_messages m", span, TABLE, "message_id", "d", is_indexed)


def by_id(ids: Ids, *, status: str | None, endpoint: UUID | None, own: str | None) -> Stretch:
    """Deliveries in the order of their ids: of an endpoint, of those of a tenant, of a state with an index, or all."""
    is_failure = status in ("failed", "canceled")
    if endpoint is not None:
        key: Expression = ("%s", (endpoint,)) if own is None else (_IF_OWN, (endpoint, own))
        return of_endpoint(ids, key, is_failure=is_failure)
    if own is not None:
        return OfEndpoints(own, ids, is_failure)
    leads: tuple[Lead, ...] = (("d.failure", "%s", (status,)),) if is_failure else ()
    return OfIndex(TABLE, "d", Span("d.id", ids, leads))


@dataclass(frozen=True, slots=True)
class OfEndpoints:
    """The deliveries to all endpoints of a tenant, merged: each has an equal share of half of what is looked at.

    All shares are read before the first delivery is shown. The stretch ends with the first that is the last of a share.
    """

    tenant: str
    ids: Ids
    is_failure: bool

    def rows(self, position: tuple[object, ...] | None, *, is_backward: bool, most: LiteralString) -> Rows:
        """The next deliveries after a position, which is an id."""
        share = filled(_SHARE, most=most)
        each = of_endpoint(self.ids, ("e.id", ()), is_failure=self.is_failure).rows(
            position, is_backward=is_backward, most=share
        )
        order = Span("each.id").order(is_backward=is_backward)
        text = filled(_OF_ENDPOINTS, each=each.text, each_order=each.order, share=share, most=most)
        by_id = Span("d.id").order(is_backward=is_backward)
        text = text.replace("({order} rows", "(" + order + " rows").replace("{order}", by_id)
        return Rows(text, (self.tenant, *each.params, self.tenant, self.tenant), by_id, has_last=True)


@dataclass(frozen=True, slots=True)
class Waiting:
    """The deliveries that wait or are under way, if all are few: of an endpoint, of those of a tenant, or of all.

    If they are ``is_apart``, because those of all are not few, those of each endpoint are looked up.
    """

    ids: Ids
    endpoint: UUID | None
    own: str | None
    is_apart: bool = False

    def rows(self, position: tuple[object, ...] | None, *, is_backward: bool, most: LiteralString) -> Rows:
        """The next deliveries after a position, which is an id."""
        span = Span("w.delivery_id", self.ids)
        reach, source = span.reach, ALL
        waiting = _ALL_WAITING
        if self.is_apart:
            source = _endpoints(self.endpoint, self.own)
            waiting = filled(_WAITING_OF, of=source.clause, end=" offset 0")
        elif self.endpoint is not None:
            reach = reach.where("w.endpoint_id = %s", self.endpoint)
        if self.own is not None and not self.is_apart:
            reach = reach.where("w." + TO_ENDPOINTS_OF, self.own)
        if position is not None:
            reach = reach.joined(beyond(("w.delivery_id",), position, is_backward=is_backward))
        order = span.order(is_backward=is_backward)
        text = filled(_WAITING, waiting=waiting, reach=reach.clause, order=order, most=most)
        return Rows(
            text, (*source.params, *source.params, *reach.params), Span("d.found").order(is_backward=is_backward)
        )


@dataclass(frozen=True, slots=True)
class Few:
    """True if the deliveries that wait are at most so many as a page looks at."""

    are_few: bool


def few_waiting(ids: Ids, *, endpoint: UUID | None, own: str | None, most: int) -> Effects[Waiting | None]:
    """The deliveries that wait or are under way, if they are at most so many; else None.

    How many wait for others changes nothing: a tenant could learn it.
    """
    few: Few
    [few] = yield Query(_filled(_ARE_FEW, most), (), Few)
    is_apart = not few.are_few and (endpoint, own) != (None, None)
    if is_apart:
        of = _endpoints(endpoint, own)
        waiting = filled(_WAITING_OF, of=of.clause, end=" limit {more}")
        text = _filled(filled(_ARE_FEW_OF, waiting=waiting), most)
        [few] = yield ByIndexes(Query(text, (*of.params, *of.params), Few))
    return Waiting(ids, endpoint, own, is_apart) if few.are_few else None


def _filled(text: LiteralString, most: int) -> LiteralString:
    return filled(text, most=str(most), more=str(most + 1))


def _endpoints(endpoint: UUID | None, own: str | None) -> Filter:
    wanted = ALL if endpoint is None else ALL.where("e.id = %s", endpoint)
    return wanted if own is None else wanted.where("e.tenant = %s", own)
