-- A delivery that has ended, or that the workers of another server deliver, lacks no worker
with why as materialized (
    select w.*, w.ordinality as turn from svc.webhook_why(%s) with ordinality w
)
select w.reason, w.since, w.until, w.other_id::text as other_delivery_id, w.number, w.detail
  from (
    select * from why
    union all
    select 'no_worker', null, null, null, null, null, null, null
     where not exists (select from why where reason in ('delivered', 'failed', 'canceled', 'subscription')) and not (
        {worker_seen}
     )
  ) w
 order by w.turn
