-- Tell that deliveries have failed with no attempt left: at most once a minute for an endpoint, so that 50,000 of them
-- make as many events as minutes pass. Each has the number since the one before, and the first 20 ids of this call.
-- Those that a minute leaves untold are told with the next result of the endpoint: p_untold. Events of svc-pg itself,
-- pings among them, make none. A state that somebody has locked is not waited for.
-- access: admin
create or replace function svc.webhook_tell_exhausted(p_deliveries uuid[], p_untold uuid[] default null) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_due jsonb;
begin
    with exhausted as materialized (
        select d.endpoint_id, count(*)::integer as number, (array_agg(d.id order by d.id))[1:20] as ids,
               (array_agg(d.last_error order by d.id desc))[1] as error
          from svc.webhook_deliveries d
         where d.id = any (p_deliveries) and not d.event_name ^@ 'webhook.'
         group by d.endpoint_id
    ),
    state as materialized (
        select s.endpoint_id, s.untold_exhausted + coalesce(x.number, 0) as number,
               to_char(s.exhausted_told_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as since,
               coalesce(x.ids, '{}') as ids, x.error,
               coalesce(s.exhausted_told_at <= now() - interval '1 min', true) as is_due
          from svc.webhook_endpoint_state s left join exhausted x on x.endpoint_id = s.endpoint_id
         where s.endpoint_id = any (array(select e.endpoint_id from exhausted e) || p_untold)
           for no key update of s skip locked
    ),
    noted as (
        update svc.webhook_endpoint_state s
           set untold_exhausted = case when u.is_due then 0 else u.number end,
               exhausted_told_at = case when u.is_due then now() else s.exhausted_told_at end
          from state u
         where s.endpoint_id = u.endpoint_id
        returning u.*
    )
    select jsonb_agg(to_jsonb(n)) filter (where n.is_due) into v_due from noted n;
    perform svc.webhook_emit_internal('webhook.delivery.exhausted', x.endpoint_id, jsonb_build_object(
                'count', x.number, 'since', x.since, 'deliveryIds', x.ids, 'error', x.error))
       from jsonb_to_recordset(v_due) x(endpoint_id uuid, number integer, since text, ids jsonb, error text);
end
$svc$;
revoke all on function svc.webhook_tell_exhausted(uuid[], uuid[]) from public;
