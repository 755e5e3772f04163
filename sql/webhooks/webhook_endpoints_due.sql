-- The endpoints after p_after that have pending deliveries, at most p_limit in the order of their ids, and the time at
-- which the first delivery of each is due. A loose index scan: one probe for each endpoint, however many deliveries it
-- has. Has no SET, so that it is inlined and planned with its caller's switches; hence the qualified names.
create or replace function svc.webhook_endpoints_due(p_after uuid, p_limit integer)
returns table (endpoint_id uuid, next_attempt_at timestamptz, ordinality integer)
language sql stable
as $svc$
    with recursive endpoints_due as (
        (select d.endpoint_id, d.next_attempt_at, 1 as ordinality
           from svc.webhook_deliveries d
          where d.status operator(pg_catalog.=) 'pending' and d.endpoint_id operator(pg_catalog.>) p_after
          order by d.endpoint_id, d.next_attempt_at limit 1)
        union all
        select n.endpoint_id, n.next_attempt_at, p.ordinality operator(pg_catalog.+) 1
          from endpoints_due p cross join lateral (
            select d.endpoint_id, d.next_attempt_at
              from svc.webhook_deliveries d
             where d.status operator(pg_catalog.=) 'pending' and d.endpoint_id operator(pg_catalog.>) p.endpoint_id
             order by d.endpoint_id, d.next_attempt_at limit 1
          ) n
         where p.ordinality operator(pg_catalog.<) p_limit
    )
    select p.endpoint_id, p.next_attempt_at, p.ordinality from endpoints_due p
$svc$;
revoke all on function svc.webhook_endpoints_due(uuid, integer) from public;
