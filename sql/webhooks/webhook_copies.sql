-- Copy the messages of deliveries to an endpoint, and return the ids of the copies. The id of a copy follows from
-- p_series, so a call that is repeated copies nothing twice.
-- access: admin
create or replace function svc.webhook_copies(p_endpoint uuid, p_deliveries uuid[], p_series uuid) returns uuid[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_copies uuid[];
begin
    with copied as (
        insert into svc.webhook_messages
            (id, event_name, payload, tenant, key, sequence, trace_context, created_at, copy_of, xact_id)
        select (left(p_series::text, 13) || '-7' || left(h.hash, 3) || '-8' || substr(h.hash, 4, 15))::uuid,
               m.event_name, m.payload, m.tenant, m.key, m.sequence, m.trace_context, m.created_at, m.id, m.xact_id
          from svc.webhook_deliveries d
          join svc.webhook_messages m on m.id = d.message_id
          cross join lateral (select md5(concat(p_series, m.id, p_endpoint))) h(hash)
         where d.id = any (p_deliveries)
        on conflict (id) do nothing
        returning id, event_name, payload, tenant
    ),
    searched as (
        insert into svc.webhook_search_values (message_id, digest, tenant)
        -- not those of the original, to which maintenance may be adding some
        select c.id, d.digest, c.tenant
          from copied c join svc.webhook_event_types t on t.name = c.event_name and t.search is not null
         cross join unnest(svc.webhook_search_digests(t.search, c.payload)) d(digest)
    )
    select array_agg(c.id) into v_copies from copied c;
    return v_copies;
end
$svc$;
revoke all on function svc.webhook_copies(uuid, uuid[], uuid) from public;
