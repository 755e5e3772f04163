-- A UUID version 7 (RFC 9562): sorts by the millisecond of its creation. Written out even for 18, which has its own,
-- so that a dump restores on every version. Has no SET, so that it can be inlined; hence the qualified names.
-- access: admin
create or replace function svc.webhook_uuid7() returns uuid
language sql volatile parallel safe
as $svc$
    select pg_catalog.overlay(
        pg_catalog.gen_random_uuid()::pg_catalog.text,
        pg_catalog.overlay(
            pg_catalog.lpad(
                pg_catalog.to_hex(
                    (extract(epoch from pg_catalog.clock_timestamp()) operator(pg_catalog.*) 1000)::pg_catalog.int8
                ), 12, '0'
            ),
            '-', 9, 0
        ) || '-7',
        1, 15
    )::pg_catalog.uuid
$svc$;
