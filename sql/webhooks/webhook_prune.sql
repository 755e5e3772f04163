-- Delete a batch of deliveries that finished longer ago than they are kept, with their attempts, and messages that
-- have no deliveries any more or never had. Returns how many rows of messages and deliveries are gone: if that is
-- p_batch or more, there may be more to do.
create or replace function svc.webhook_prune(p_delivered interval, p_failed interval, p_batch integer default 5000)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $svc$
declare
    v_deliveries uuid[];
    v_messages integer;
begin
    -- by key: ids grow with time, so the oldest come first
    select array_agg(q.id) into v_deliveries
      from (
        select d.id
          from svc.webhook_deliveries d
         where d.id < svc.uuid7_at(now() - least(p_delivered, p_failed))
           and (d.status = 'delivered' and d.finished_at < now() - p_delivered
                or d.status in ('failed', 'canceled') and d.finished_at < now() - p_failed)
         order by d.id limit p_batch
           for update skip locked
      ) q;
    delete from svc.webhook_delivery_attempts a where a.delivery_id = any (v_deliveries);
    delete from svc.webhook_deliveries d where d.id = any (v_deliveries);
    delete from svc.webhook_messages m
     where m.id = any (array(
        select o.id
          from svc.webhook_messages o
         where o.id < svc.uuid7_at(now() - p_delivered)
           and not exists (select from svc.webhook_deliveries d where d.message_id = o.id)
         order by o.id limit p_batch
     ));
    get diagnostics v_messages = row_count;
    return v_messages + coalesce(cardinality(v_deliveries), 0);
end
$svc$;
revoke all on function svc.webhook_prune(interval, interval, integer) from public;
