-- The part of an address that limits count by: a host has one of IPv4, and 2^64 of IPv6, whose owners have 2^16 hosts
-- and more. Unknown ones share a count.
-- access: admin
create or replace function svc.console_network(p_ip inet, p_ipv6_bits integer default 64) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select coalesce(
        case family(p_ip) when 4 then host(p_ip) else text(set_masklen(p_ip, p_ipv6_bits)::cidr) end, 'unknown'
    )
$svc$;
revoke all on function svc.console_network(inet, integer) from public;
