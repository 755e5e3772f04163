-- The smallest UUID version 7 of a time's millisecond: those made before that are smaller. There are none before 1970.
-- A timestamp is a float on 13, hence the half of a microsecond.
-- access: reader, admin
create or replace function svc.uuid7_at(point_in_time timestamptz) returns uuid
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select (
        lpad(to_hex(floor(greatest(extract(epoch from point_in_time) * 1000 + 0.0005, 0))::bigint), 12, '0')
            || '70008000000000000000'
    )::uuid
$svc$;
revoke all on function svc.uuid7_at(timestamptz) from public;
comment on function svc.uuid7_at(timestamptz) is
    'The least UUID version 7 of a time''s millisecond: ids of messages and deliveries made before that are smaller.';
