"""The stretches of lists of deliveries in whose order no index has them: of a tenant's endpoints, and waiting ones."""

from dataclasses import dataclass
from typing import Final, LiteralString

from svc_pg.database.pagination import ALL, Filter
from svc_pg.database.query import Query
from svc_pg.database.stretches import Expression, Ids, Lead, OfIndex, Rows, Span, beyond, filled

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
    select greatest({most} / greatest(count(*), 1), 1) from svc.webhook_endpoints e where e.tenant = %s
)"""
_WAITING: Final[LiteralString] = """
    select d.*
      from (
        select q.delivery_id from svc.webhook_queue q union all select l.delivery_id from svc.webhook_leases l
      ) w
     cross join lateral (select * from svc.webhook_deliveries each where each.id = w.delivery_id offset 0) d
    {reach}{order} limit {most}"""
_ARE_FEW: Final[LiteralString] = """
select (select count(*) from (select from svc.webhook_queue limit {more}) q)
       + (select count(*) from (select from svc.webhook_leases limit {more}) l) <= {most} as are_few
"""


def of_endpoint(ids: Ids, endpoint: Expression, *, is_failure: bool) -> OfIndex:
    """The deliveries to an endpoint, or those that are failed or canceled, which have an index of their own."""
    lead: Lead = ("d.endpoint_id", *endpoint)
    if is_failure:
        return OfIndex("svc.webhook_deliveries", "d", Span("d.id", ids, (lead,)), ALL.where("d.failure is not null"))
    return OfIndex("svc.webhook_deliveries", "d", Span("d.id", ids, (lead,), is_mixed=True))


@dataclass(frozen=True, slots=True)
class OfEndpoints:
    """The deliveries to all endpoints of a tenant, merged: each endpoint has an equal share of what is looked at.

    The stretch ends with the first delivery that is the last of a share.
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
    """The deliveries that wait or are under way and are ``wanted``, if all are few: all are read for each page."""

    ids: Ids
    wanted: Filter

    def rows(self, position: tuple[object, ...] | None, *, is_backward: bool, most: LiteralString) -> Rows:
        """The next deliveries after a position, which is an id."""
        span = Span("d.id", self.ids)
        reach = self.wanted.joined(span.reach)
        if position is not None:
            reach = reach.joined(beyond(("d.id",), position, is_backward=is_backward))
        order = span.order(is_backward=is_backward)
        return Rows(filled(_WAITING, reach=reach.clause, order=order, most=most), reach.params, order)


@dataclass(frozen=True, slots=True)
class Few:
    """True if the deliveries that wait are at most so many as a page looks at."""

    are_few: bool


def few_waiting(most: int) -> Query[Few]:
    """If at most so many deliveries wait or are under way."""
    numbers: dict[str, LiteralString] = {"most": str(most), "more": str(most + 1)}
    return Query(filled(_ARE_FEW, **numbers), (), Few)
