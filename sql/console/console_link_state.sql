-- The state of a link at a time: as it is stored, or expired if its time to verify or to claim is over.
-- access: admin
create or replace function svc.console_link_state(p_link svc.console_magic_links, p_at timestamptz) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select case when p_link.status in ('pending', 'verified') and p_at >= p_link.expires_at then 'expired'
                else p_link.status end
$svc$;
revoke all on function svc.console_link_state(svc.console_magic_links, timestamptz) from public;
