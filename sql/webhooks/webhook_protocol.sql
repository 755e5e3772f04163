-- The numbers of the protocol between workers and these functions, from the oldest to the newest that they speak. A
-- worker asks at its start and whenever it connects again, and claims nothing if it speaks none of them. 2 brought the
-- disposition throttled, 3 webhook_follow_clock.
-- access: admin
create or replace function svc.webhook_protocol(out oldest integer, out newest integer)
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select 1, 3
$svc$;
revoke all on function svc.webhook_protocol() from public;
