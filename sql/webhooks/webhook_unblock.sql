-- Let the failed deliveries of an endpoint block their keys no longer.
-- access: admin
create or replace function svc.webhook_unblock(p_endpoint uuid) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
begin
    with gone as (
        delete from svc.webhook_blocks b where b.endpoint_id = p_endpoint returning b.endpoint_id, b.key_id
    )
    insert into svc.webhook_freed (endpoint_id, key_id) select g.endpoint_id, g.key_id from gone g;
    if found then
        perform svc.webhook_notify();
    end if;
end
$svc$;
revoke all on function svc.webhook_unblock(uuid) from public;
