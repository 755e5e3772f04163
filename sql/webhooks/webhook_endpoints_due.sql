-- The endpoints after p_after that have due deliveries, at most p_limit in the order of their ids, and the time at
-- which the first delivery of each came due. A loose index scan: one probe for each endpoint, however many deliveries
-- it has. Has no SET, so that it is inlined and planned with its caller's switches; hence the qualified names.
-- access: reader, admin
create or replace function svc.webhook_endpoints_due(p_after uuid, p_limit integer)
returns table (endpoint_id uuid, next_attempt_at timestamptz, ordinality integer)
language sql stable
as $svc$
    with recursive endpoints_due as (
        (select q.endpoint_id, q.next_attempt_at, 1 as ordinality
           from svc.webhook_queue q
          where q.lane operator(pg_catalog.=) 'due' and q.endpoint_id operator(pg_catalog.>) p_after
          order by q.endpoint_id, q.next_attempt_at limit 1)
        union all
        select n.endpoint_id, n.next_attempt_at, p.ordinality operator(pg_catalog.+) 1
          from endpoints_due p cross join lateral (
            select q.endpoint_id, q.next_attempt_at
              from svc.webhook_queue q
             where q.lane operator(pg_catalog.=) 'due' and q.endpoint_id operator(pg_catalog.>) p.endpoint_id
             order by q.endpoint_id, q.next_attempt_at limit 1
          ) n
         where p.ordinality operator(pg_catalog.<) p_limit
    )
    select p.endpoint_id, p.next_attempt_at, p.ordinality from endpoints_due p
$svc$;
revoke all on function svc.webhook_endpoints_due(uuid, integer) from public;
