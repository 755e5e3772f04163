-- Tell that outages of endpoints have begun or ended. Not those of an endpoint that itself wants to be told: its own
-- failures could make events for it, and their failures further ones.
-- access: admin
create or replace function svc.webhook_tell_outages(p_endpoints uuid[], p_since timestamptz[], p_is_over boolean[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
begin
    perform svc.webhook_emit_internal(t.name, e.id, jsonb_build_object(
                'since', to_char(o.since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
            ) || case when o.is_over then '{}' else jsonb_build_object('failures', s.failure_streak) end)
       from unnest(p_endpoints, p_since, p_is_over) o(endpoint_id, since, is_over)
       join svc.webhook_endpoints e on e.id = o.endpoint_id
       join svc.webhook_endpoint_state s on s.endpoint_id = e.id
       join svc.webhook_event_types t
         on t.name = case when o.is_over then 'webhook.endpoint.recovered' else 'webhook.endpoint.failing' end
      where not e.events && t.patterns;
end
$svc$;
revoke all on function svc.webhook_tell_outages(uuid[], timestamptz[], boolean[]) from public;
