-- The state of this device's link and the seconds until it ends. retry_after is not null if the device asks
-- again within two seconds, less a little for a timer that is early. The state is null if it has no such link.
-- access: admin
create or replace function svc.console_poll(
    p_session_id uuid, p_device_hash bytea, out state text, out expires_in integer, out retry_after integer
)
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_link svc.console_magic_links;
begin
    select * into v_link from svc.console_magic_links l
     where l.session_id = p_session_id and l.device_hash = p_device_hash for update;
    if not found then
        return;
    end if;
    state := svc.console_link_state(v_link, clock_timestamp());
    if v_link.polled_at > clock_timestamp() - interval '1.5 s' then
        retry_after := 2;
        return;
    end if;
    expires_in := case when state in ('pending', 'verified')
                       then ceil(extract(epoch from v_link.expires_at - clock_timestamp()))::integer else 0 end;
    update svc.console_magic_links l set polled_at = clock_timestamp() where l.session_id = p_session_id;
end
$svc$;
revoke all on function svc.console_poll(uuid, bytea) from public;
