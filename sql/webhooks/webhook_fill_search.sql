-- Store the searched values of messages of these events that were sent before their keys were named: of messages with
-- ids after p_after, up to p_until if it is not null, and of p_batch messages at most. Returns how many are new.
-- access: admin
create or replace function svc.webhook_fill_search(p_events text[], p_batch integer, p_after uuid, p_until uuid)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '5 s'
as $svc$
declare
    v_filled integer;
begin
    -- the lock keeps a message that is being deleted from leaving its values behind
    insert into svc.webhook_search_values (message_id, digest, tenant)
    select m.id, d.digest, m.tenant
      from (
        select o.id, o.tenant, o.payload, t.search
          from svc.webhook_messages o join svc.webhook_event_types t on t.name = o.event_name
         where o.id > p_after and o.id <= coalesce(p_until, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
           and t.name = any (p_events) and t.search is not null
         order by o.id limit p_batch for key share of o
      ) m
     cross join unnest(svc.webhook_search_digests(m.search, m.payload)) d(digest)
    on conflict do nothing;
    get diagnostics v_filled = row_count;
    return v_filled;
end
$svc$;
revoke all on function svc.webhook_fill_search(text[], integer, uuid, uuid) from public;
