"""The candidates of a change of many deliveries: those that failed and those that wait, each found by an index.

They are read endpoint by endpoint, and in the order of an index, until as many match as are changed at a time. All
other conditions are looked at row by row, so a plan depends on no statistics.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, LiteralString
from uuid import UUID

from svc_pg.database.effects import Effects
from svc_pg.database.pagination import ALL, Filter
from svc_pg.database.performing import ByIndexes
from svc_pg.database.query import Query
from svc_pg.database.stretches import Ids, filled
from svc_pg.webhooks.deliveries.delivery_rows import BulkResult
from svc_pg.webhooks.deliveries.delivery_stretches import of_endpoint

_OF_EACH: Final[LiteralString] = "select d.* from {endpoints} cross join lateral ({each}) d"
_WAITING: Final[LiteralString] = """
    select d.*
      from {endpoints}
     cross join pg_catalog.unnest({lanes}) r(lane)
     cross join lateral (
        select q.delivery_id from svc.webhook_queue q
         where (q.lane, q.endpoint_id) >= (r.lane, e.id) and (q.lane, q.endpoint_id) <= (r.lane, e.id)
         order by q.lane, q.endpoint_id, q.next_attempt_at, q.delivery_id limit all
     ) w
     cross join lateral (select * from svc.webhook_deliveries each where each.id = w.delivery_id offset 0) d"""
_ALL_WAITING: Final[LiteralString] = """
    select d.*
      from (
        select q.delivery_id from svc.webhook_queue q
         order by q.lane, q.endpoint_id, q.next_attempt_at, q.delivery_id limit all
      ) w
     cross join lateral (select * from svc.webhook_deliveries each where each.id = w.delivery_id offset 0) d"""
_EACH_LANE: Final[LiteralString] = "pg_catalog.enum_range(null::svc.webhook_lane)"
_LATER: Final[LiteralString] = "array['later'::svc.webhook_lane]"

_IS_OPEN: Final[LiteralString] = (
    "(select e.status from svc.webhook_endpoints e where e.id = d.endpoint_id) <> 'disabled'"
)
_IS_LATER: Final[LiteralString] = """(
    select q.lane from svc.webhook_queue q
     where q.lane = 'later' and q.endpoint_id = d.endpoint_id and q.next_attempt_at = d.next_attempt_at
       and q.delivery_id = d.id
) is not null"""
_IS_LEASED: Final[LiteralString] = """(
    select l.lease_id from svc.webhook_leases l where l.endpoint_id = d.endpoint_id and l.delivery_id = d.id
) is not null"""
IS_RETRIED: Final[LiteralString] = (
    "(d.failure is not null or d.attempts > 0 and d.status = 'pending' and " + _IS_LATER + ") and " + _IS_OPEN
)
"""The condition on a delivery of few that are retried."""
IS_CANCELED: Final[LiteralString] = "d.status = 'pending' and not " + _IS_LEASED
"""The condition on a delivery of few that are canceled: it waits, and no attempt is under way."""


COUNT: Final[LiteralString] = "changed as (select id from matching limit 10000)"
RETRY_MANY: Final[LiteralString] = (
    "changed as (select id from svc.webhook_retry(array(select id from matching limit 10000)))"
)
CANCEL_MANY: Final[LiteralString] = """changed as (
    select id from svc.webhook_cancel_many(array(select id from matching limit 10000), 'canceled by hand')
)"""
_COUNT_CHANGED: Final[LiteralString] = """
select (select count(*) from changed)::integer as count, (select count(*) from matching) <= 10000 as is_complete
"""

_ROWS: Final[LiteralString] = "select d.id from ({found}) d{rest}"
_MATCHING: Final[LiteralString] = "with matching as ({rows} limit %s),\n{change}"
_NAMED: Final[LiteralString] = "select * from svc.webhook_deliveries d"
_NONE: Final[LiteralString] = "select id from svc.webhook_deliveries where false"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The endpoints whose deliveries are meant: one, those of a tenant, or all."""

    one: UUID | None
    owner: str | None

    @property
    def conditions(self) -> Filter:
        """The conditions on an endpoint ``e``."""
        wanted = ALL
        if self.one is not None:
            wanted = wanted.where("e.id = %s", self.one)
        if self.owner is not None:
            wanted = wanted.where("e.tenant = %s", self.owner)
        return wanted


Candidates = tuple[LiteralString, Sequence[object]]
"""A ``select`` of deliveries, and its parameters."""


def failed(of: Endpoints, times: Ids) -> Candidates:
    """Those that failed or were canceled, of endpoints that are not disabled, the oldest of each first."""
    endpoints = of.conditions.where("e.status <> 'disabled'")
    each = of_endpoint(times, ("e.id", ()), is_failure=True).rows(None, is_backward=True, most="all")
    text = filled(_OF_EACH, endpoints="svc.webhook_endpoints e", each=each.text)
    return text + endpoints.clause, (*each.params, *endpoints.params)


def waiting_for_retry(of: Endpoints) -> Candidates:
    """Those that wait for another attempt, of endpoints that are not disabled."""
    endpoints = of.conditions.where("e.status <> 'disabled'")
    retried = endpoints.where("d.attempts > 0")
    return filled(_WAITING, endpoints="svc.webhook_endpoints e", lanes=_LATER) + retried.clause, retried.params


def waiting(of: Endpoints) -> Candidates:
    """Those that wait, also for an endpoint that is disabled or gone."""
    endpoints = of.conditions
    if endpoints == ALL:
        return _ALL_WAITING, ()
    if of.one is not None and len(endpoints.conditions) == 1:
        return filled(_WAITING, endpoints="(select %s::uuid) e(id)", lanes=_EACH_LANE), endpoints.params
    return filled(_WAITING, endpoints="svc.webhook_endpoints e", lanes=_EACH_LANE) + endpoints.clause, endpoints.params


def named(condition: Filter) -> Candidates:
    """Those that meet a condition which few do."""
    return _NAMED + condition.clause, condition.params


def changed(candidates: Sequence[Candidates], rest: Filter, change: LiteralString, *, most: int) -> Effects[BulkResult]:
    """Change, or count, the first ``most`` candidates that meet the other conditions."""
    each = [filled(_ROWS, found=text, rest=rest.clause) for text, _ in candidates] or [_NONE]
    params = [param for _, own in candidates for param in (*own, *rest.params)]
    text = filled(_MATCHING, rows=" union all ".join(each), change=change + _COUNT_CHANGED)
    result: BulkResult
    [result] = yield ByIndexes(Query(text, (*params, most + 1), BulkResult))
    return result
